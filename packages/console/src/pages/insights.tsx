/** The library: what was found, newest first. It is the first page of everybody. */
import type { InsightCard } from '@assay/client'
import { GRADES, type Grade } from '@assay/model/insight'
import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import { api, useMay } from '../api.ts'
import { GRADE_WORDS } from '../names.ts'
import { SelectField, TextField } from '../parts/field.tsx'
import { CardRow } from '../parts/library/card-row.tsx'
import { Paged, usePaged } from '../parts/lists/paged.tsx'
import { Empty, Page } from '../parts/page.tsx'
import { useSettled } from '../settled.ts'

const PAGE = 25
const TYPED_MS = 250

const any = { value: '', label: 'Any' }
const asOptions = (values: readonly string[]) => [any, ...values.map((value) => ({ value, label: value }))]

function Filters() {
  const search = useSearch({ from: '/shell/insights' })
  const navigate = useNavigate({ from: '/insights' })
  const [words, setWords] = useState(search.q ?? '')
  const templates = useQuery({ queryKey: ['templates'], queryFn: () => api().templates.list() }).data ?? []
  const set = (name: keyof typeof search, value: string): void => {
    void navigate({ search: (old) => ({ ...old, [name]: value || undefined }), replace: true })
  }
  const ids = templates.map(({ template_id }) => template_id)
  const tags = [...new Set(templates.flatMap((view) => view.tags))].toSorted()
  return (
    <div className="filters library-filters" role="search">
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
      <SelectField
        label="Template"
        value={search.template ?? ''}
        onChange={({ target }) => set('template', target.value)}
        options={asOptions([...new Set([...ids, ...(search.template ? [search.template] : [])])])}
      />
      <SelectField
        label="Tag"
        value={search.tag ?? ''}
        onChange={({ target }) => set('tag', target.value)}
        options={asOptions([...new Set([...tags, ...(search.tag ? [search.tag] : [])])])}
      />
      <SelectField
        label="How sure"
        value={search.grade ?? ''}
        onChange={({ target }) => set('grade', target.value)}
        options={[any, ...GRADES.map((value: Grade) => ({ value, label: GRADE_WORDS[value] }))]}
      />
    </div>
  )
}

/** Leads on to the first insight. */
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

export function InsightsPage() {
  const { q, template, tag, grade } = useSearch({ from: '/shell/insights' })
  const words = useSettled(q ?? '', TYPED_MS)
  const analyst = useMay('analyst')
  const filter = { q: words === '' ? undefined : words, template_id: template, tag, grade }
  const query = usePaged<InsightCard>(['insights', filter], (cursor) =>
    api().insights.list({ ...filter, cursor, limit: PAGE }),
  )
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
      <Paged query={query} empty={<Nothing />}>
        {(cards) => (
          <ul className="library">
            {cards.map((card) => (
              <CardRow key={card.insight_id} card={card} />
            ))}
          </ul>
        )}
      </Paged>
    </Page>
  )
}
