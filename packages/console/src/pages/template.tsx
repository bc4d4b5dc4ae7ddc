/** The page of one template: what it does, its variables as a form that runs it, and its source. */

import type { TemplateView } from '@assay/model/template'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { Suspense } from 'react'
import { api, useMay } from '../api.ts'
import { AskFirst } from '../parts/ask-first.tsx'
import { RunForm } from '../parts/jobs/run-form.tsx'
import { Loaded, Page } from '../parts/page.tsx'
import { FollowTemplate } from '../parts/receivers/follow.tsx'
import { ORIGINS } from '../words/origins.ts'
import { lazyPart } from './load-part.ts'

const SourceView = lazyPart(() => import('../parts/text/editor.tsx'), 'SourceView')
const BulkForm = lazyPart(() => import('../parts/jobs/bulk-form.tsx'), 'BulkForm')
type Whole = TemplateView & { source: string }

function Delete({ template_id }: { template_id: string }) {
  const navigate = useNavigate()
  const cache = useQueryClient()
  return (
    <AskFirst
      look="quiet"
      label="Delete"
      title={`Delete ${template_id}?`}
      description="Jobs that were created from it stay. No new job can be created."
      action="Delete the template"
      act={() => api().templates.delete(template_id)}
      onDone={async () => {
        await cache.invalidateQueries({ queryKey: ['templates'] })
        await navigate({ to: '/templates', search: {} })
      }}
    />
  )
}

function Actions({ template }: { template: TemplateView }) {
  const analyst = useMay('analyst')
  return (
    <>
      <FollowTemplate template_id={template.template_id} />
      {analyst && (
        <Link className="button" to="/schedules/new" search={{ template: template.template_id }}>
          Schedule
        </Link>
      )}
      {analyst && <Care template={template} />}
    </>
  )
}

function Care({ template: { template_id, origin } }: { template: TemplateView }) {
  const publisher = useMay('publisher')
  if (origin !== 'workspace' && origin !== 'git')
    return (
      <Link className="button" to="/templates/new" search={{ from: template_id }}>
        Copy and edit
      </Link>
    )
  return (
    <>
      <Link className="button" to="/templates/$template_id/edit" params={{ template_id }} search={{}}>
        Edit
      </Link>
      {origin === 'workspace' && publisher && <Delete template_id={template_id} />}
    </>
  )
}

const TAB_WORDS = { run: 'Run', many: 'Many at once', source: 'Source' } as const
type Tab = keyof typeof TAB_WORDS

function Tabs({ template_id, tab, tabs }: { template_id: string; tab: Tab; tabs: readonly Tab[] }) {
  return (
    <nav className="tabs" aria-label="Parts of the template">
      {tabs.map((name) => (
        <Link
          key={name}
          to="/templates/$template_id"
          params={{ template_id }}
          search={(old) => ({ ...old, tab: name })}
          aria-current={tab === name ? 'page' : undefined}
          activeProps={{ 'aria-current': undefined }}
          className={tab === name ? 'chosen' : ''}
        >
          {TAB_WORDS[name]}
        </Link>
      ))}
    </nav>
  )
}

/** Shows the parts for programs and authors. */
function Machinery({ template: { template_id, version, commit_id, origin } }: { template: Whole }) {
  return (
    <>
      <code>{template_id}</code> · version <code>{version}</code>
      {commit_id !== null && (
        <>
          {' '}
          · commit <code>{commit_id.slice(0, 12)}</code>
        </>
      )}{' '}
      · {ORIGINS[origin]} ·{' '}
    </>
  )
}

function Facts({ template }: { template: Whole }) {
  const analyst = useMay('analyst')
  return (
    <p className="small">
      {analyst && <Machinery template={template} />}
      {template.tags.length > 0 && (
        <>
          {template.tags.map((tag) => (
            <Link key={tag} className="tag" to="/templates" search={{ tag }}>
              {tag}
            </Link>
          ))}{' '}
          ·{' '}
        </>
      )}
      {analyst ? (
        <Link to="/jobs" search={{ template: template.template_id }}>
          its jobs
        </Link>
      ) : (
        <Link to="/insights" search={{ template: template.template_id }}>
          its insights
        </Link>
      )}
    </p>
  )
}

/** Returns the values of the earlier job that the address names, to run it again. */
function useEarlier(assignment_id: string | undefined) {
  return useQuery({
    queryKey: ['job', assignment_id],
    queryFn: () => api().jobs.status(assignment_id!),
    enabled: assignment_id !== undefined,
  })
}

export function TemplatePage() {
  const { template_id } = useParams({ from: '/shell/templates/$template_id' })
  const { tab: asked = 'run', job, metric } = useSearch({ from: '/shell/templates/$template_id' })
  const tabs: readonly Tab[] = useMay('analyst') ? ['run', 'many', 'source'] : ['run', 'source']
  const tab = tabs.includes(asked) ? asked : 'run'
  const query = useQuery({
    queryKey: ['template', template_id],
    queryFn: () => api().templates.get(template_id),
  })
  const earlier = useEarlier(job)
  const waits = job !== undefined && earlier.isPending
  return (
    <Page
      title={query.data?.title ?? template_id}
      trail={<Link to="/templates">Templates</Link>}
      lead={<p>{query.data?.description}</p>}
      actions={query.data && <Actions template={query.data} />}
    >
      <Loaded query={query}>
        {(template) => (
          <>
            <Facts template={template} />
            <Tabs template_id={template_id} tab={tab} tabs={tabs} />
            {tab === 'many' ? (
              <Suspense fallback={<p className="waiting">Loading…</p>}>
                <BulkForm key={template.version} template={template} />
              </Suspense>
            ) : tab === 'source' ? (
              <Suspense fallback={<p className="waiting">Loading…</p>}>
                <SourceView source={template.source} label={`Source of ${template_id}`} />
              </Suspense>
            ) : (
              !waits && (
                <RunForm
                  key={`${template.version}${job}${metric}`}
                  template={template}
                  earlier={earlier.data}
                  metric={metric}
                />
              )
            )}
          </>
        )}
      </Loaded>
    </Page>
  )
}
