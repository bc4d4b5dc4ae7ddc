/** The page of the library of insights, newest first. It is the first page of every user. */
import type { InsightCard } from '@assay/client'
import { GRADES, type Grade } from '@assay/model/insight'
import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { Suspense, useState } from 'react'
import { api, useIsLimited, useMay } from '../api.ts'
import { GRADE_WORDS } from '../names.ts'
import { SelectField, TextField } from '../parts/field.tsx'
import { CardRow } from '../parts/library/card-row.tsx'
import { PinButton, useCollections, usePinned } from '../parts/library/pins.tsx'
import { Paged, usePaged } from '../parts/lists/paged.tsx'
import { Empty, Page } from '../parts/page.tsx'
import { useSettled } from '../settled.ts'
import { lazyPart } from './load-part.ts'

/** The part is loaded on demand, because few users open a collection. */
const CollectionHead = lazyPart(() => import('../parts/library/collections.tsx'), 'CollectionHead')

const PAGE = 25
const TYPED_MS = 250
const METRICS_MOST = 200

const any = { value: '', label: 'Any' }
const PINNED = 'pinned'

const asOptions = (values: readonly string[]) => [any, ...values.map((value) => ({ value, label: value }))]

/** Filters by metric and by collection. A token that is limited to templates sees neither. */
function KeptFilters({ set }: { set(name: 'metric' | 'collection', value: string): void }) {
  const search = useSearch({ from: '/shell/insights' })
  const collections = useCollections() ?? []
  const metrics = useQuery({
    queryKey: ['metrics', 'names'],
    queryFn: () => api().metrics.list({ limit: METRICS_MOST }),
  }).data?.items
  return (
    <>
      <SelectField
        label="Metric"
        value={search.metric ?? ''}
        onChange={({ target }) => set('metric', target.value)}
        options={[any, ...(metrics ?? []).map(({ metric_id, label }) => ({ value: metric_id, label }))]}
      />
      <SelectField
        label="Collection"
        value={search.collection ?? ''}
        onChange={({ target }) => set('collection', target.value)}
        options={[
          any,
          { value: PINNED, label: 'Pinned by me' },
          ...collections.map(({ collection_id, name }) => ({ value: collection_id, label: name })),
        ]}
      />
    </>
  )
}

function Filters() {
  const search = useSearch({ from: '/shell/insights' })
  const navigate = useNavigate({ from: '/insights' })
  const [words, setWords] = useState(search.q ?? '')
  const limited = useIsLimited()
  const { q: _words, ...chosen } = search
  // The filters are folded on a phone, unless one of them narrows the list.
  const [folded, setFolded] = useState(Object.values(chosen).every((value) => value === undefined))
  const templates = useQuery({ queryKey: ['templates'], queryFn: () => api().templates.list() }).data ?? []
  const set = (name: keyof typeof search, value: string): void => {
    void navigate({ search: (old) => ({ ...old, [name]: value || undefined }), replace: true })
  }
  const known = templates.map(({ template_id, title }) => ({ value: template_id, label: title }))
  const gone = search.template !== undefined && !known.some(({ value }) => value === search.template)
  const tags = [...new Set(templates.flatMap((view) => view.tags))].toSorted()
  return (
    <div className={folded ? 'filters library-filters is-folded' : 'filters library-filters'} role="search">
      <TextField
        label="Search"
        type="search"
        maxLength={200}
        placeholder="late flights"
        value={words}
        onChange={({ target }) => {
          setWords(target.value)
          set('q', target.value.trim())
        }}
      />
      <button
        type="button"
        className="button fold-filters"
        aria-expanded={!folded}
        onClick={() => setFolded(!folded)}
      >
        Filters
      </button>
      <SelectField
        label="Template"
        value={search.template ?? ''}
        onChange={({ target }) => set('template', target.value)}
        options={[any, ...known, ...(gone ? asOptions([search.template!]).slice(1) : [])]}
      />
      <SelectField
        label="Tag"
        value={search.tag ?? ''}
        onChange={({ target }) => set('tag', target.value)}
        options={asOptions([...new Set([...tags, ...(search.tag ? [search.tag] : [])])])}
      />
      {!limited && <KeptFilters set={set} />}
      <SelectField
        label="How sure"
        value={search.grade ?? ''}
        onChange={({ target }) => set('grade', target.value)}
        options={[any, ...GRADES.map((value: Grade) => ({ value, label: GRADE_WORDS[value] }))]}
      />
    </div>
  )
}

/** Shows the next step if the list is empty: towards the first insight, or all insights. */
function Nothing() {
  const search = useSearch({ from: '/shell/insights' })
  const analyst = useMay('analyst')
  if (Object.values(search).some((value) => value !== undefined))
    return (
      <Empty title="No insight fits these filters">
        <p>
          Try fewer words, or{' '}
          <Link to="/insights" search={{}}>
            show all insights
          </Link>
          .
        </p>
      </Empty>
    )
  return (
    <Empty title="Nothing has been found yet">
      {analyst ? (
        <p className="actions">
          <Link className="button primary" to="/templates" search={{}}>
            Run a report
          </Link>
          <Link className="button" to="/files" search={{}}>
            Make a report from a table
          </Link>
        </p>
      ) : (
        <p>Once somebody has run a report, its insight is here.</p>
      )}
    </Empty>
  )
}

function Cards({ cards }: { cards: readonly InsightCard[] }) {
  return (
    <ul className="library">
      {cards.map((card) => (
        <CardRow
          key={card.insight_id}
          card={card}
          pin={<PinButton insight_id={card.insight_id} title={card.title} />}
        />
      ))}
    </ul>
  )
}

/** Shows the pinned insights above the newest ones, if no filter is set. */
function Pinned({ cards }: { cards: readonly InsightCard[] }) {
  if (cards.length === 0) return null
  return (
    <section aria-label="Pinned">
      <h2 className="library-part">Pinned</h2>
      <Cards cards={cards} />
      <h2 className="library-part">Newest</h2>
    </section>
  )
}

export function InsightsPage() {
  const search = useSearch({ from: '/shell/insights' })
  const { q, template, tag, metric, grade, collection } = search
  const words = useSettled(q ?? '', TYPED_MS)
  const analyst = useMay('analyst')
  const known = usePinned() ?? []
  const narrowed = Object.values(search).some((value) => value !== undefined)
  const pinned = narrowed ? [] : known
  const filter = {
    q: words === '' ? undefined : words,
    template_id: template,
    tag,
    metric_id: metric,
    grade,
    collection_id: collection === PINNED ? undefined : collection,
    pinned_by: collection === PINNED ? ('me' as const) : undefined,
  }
  const query = usePaged<InsightCard>(['insights', filter], (cursor) =>
    api().insights.list({ ...filter, cursor, limit: PAGE }),
  )
  const above = new Set(pinned.map(({ insight_id }) => insight_id))
  return (
    <Page
      title="Insights"
      lead={<p>What the reports found, newest first.</p>}
      actions={
        analyst && (
          <Link className="button" to="/templates" search={{}}>
            Run a report
          </Link>
        )
      }
    >
      <Filters />
      {collection !== undefined && collection !== PINNED && (
        <Suspense fallback={null}>
          <CollectionHead collection_id={collection} />
        </Suspense>
      )}
      <Pinned cards={pinned} />
      <Paged query={query} empty={<Nothing />}>
        {(cards) => <Cards cards={cards.filter(({ insight_id }) => !above.has(insight_id))} />}
      </Paged>
    </Page>
  )
}
