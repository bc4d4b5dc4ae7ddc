/** The page of the gallery of templates, filtered by words and tags in the address. */

import type { TemplateView } from '@assay/model/template'
import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { useDeferredValue, useState } from 'react'
import { api, useMay } from '../api.ts'
import { KeptDrafts } from '../parts/drafts/kept-drafts.tsx'
import { TextField } from '../parts/field.tsx'
import { Empty, Loaded, Page } from '../parts/page.tsx'
import { RepositoryNote } from '../parts/repository-note.tsx'

/** The template to begin with, which takes any metrics and no SQL. */
const FIRST = 'brief'

function speaksOf(view: TemplateView, words: string): boolean {
  const text = [view.template_id, view.title, view.description ?? '', ...view.tags].join(' ').toLowerCase()
  return words
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word))
}

function Tags({ tags, chosen }: { tags: string[]; chosen: string | undefined }) {
  return (
    <nav className="tags" aria-label="Tags">
      {tags.map((tag) => (
        <Link
          key={tag}
          to="/templates"
          search={(search) => ({ ...search, tag: tag === chosen ? undefined : tag })}
          className="tag"
          aria-current={tag === chosen ? 'true' : undefined}
          activeProps={{ className: '' }}
        >
          {tag}
        </Link>
      ))}
    </nav>
  )
}

function Card({ view }: { view: TemplateView }) {
  const analyst = useMay('analyst')
  return (
    <li className="card">
      <h2>
        <Link to="/templates/$template_id" params={{ template_id: view.template_id }} search={{}}>
          {view.title}
        </Link>
      </h2>
      <p>{view.description}</p>
      <p className="card-foot">
        {analyst && <code>{view.template_id}</code>}
        <span>{view.tags.join(' · ')}</span>
        {view.origin !== 'shipped' && <span className="origin">{view.origin}</span>}
      </p>
    </li>
  )
}

function foundWords(found: number, all: number): string {
  if (found < all) return `${found} of ${all} templates`
  return all === 1 ? '1 template' : `${all} templates`
}

function Gallery({ views }: { views: TemplateView[] }) {
  const { q = '', tag } = useSearch({ from: '/shell/templates' })
  const navigate = useNavigate({ from: '/templates' })
  const [words, setWords] = useState(q)
  const shown = useDeferredValue(words)
  const tags = [...new Set(views.flatMap((view) => view.tags))].toSorted()
  const found = views
    .filter((view) => speaksOf(view, shown) && (tag === undefined || view.tags.includes(tag)))
    .toSorted((a, b) => Number(b.template_id === FIRST) - Number(a.template_id === FIRST))
  const search = (text: string): void => {
    setWords(text)
    void navigate({ search: (old) => ({ ...old, q: text || undefined }), replace: true })
  }
  return (
    <>
      <div className="filters" role="search">
        <TextField
          label="Search"
          type="search"
          value={words}
          onChange={({ target }) => search(target.value)}
          placeholder="delays, forecast, funnel"
        />
        <Tags tags={tags} chosen={tag} />
      </div>
      <p className="small" role="status">
        {foundWords(found.length, views.length)}
      </p>
      {found.length === 0 ? (
        <Empty title="No template fits these filters">
          <p>Try fewer words, or remove the tag.</p>
        </Empty>
      ) : (
        <ul className="gallery">
          {found.map((view) => (
            <Card key={view.template_id} view={view} />
          ))}
        </ul>
      )}
    </>
  )
}

export function TemplatesPage() {
  const query = useQuery({ queryKey: ['templates'], queryFn: () => api().templates.list() })
  const analyst = useMay('analyst')
  return (
    <Page
      title="Templates"
      wide
      lead={
        <p>
          Each template asks a question of data. Choose one, fill in its variables, run it, and read the
          insight.
        </p>
      }
      actions={
        analyst && (
          <Link className="button" to="/templates/new" search={{}}>
            New template
          </Link>
        )
      }
    >
      <RepositoryNote />
      <KeptDrafts kind="template" />
      <Loaded query={query}>{(views) => <Gallery views={views} />}</Loaded>
    </Page>
  )
}
