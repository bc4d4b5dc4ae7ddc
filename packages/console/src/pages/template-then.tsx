/** The page of a template as it was when a job was created, with what has changed since. */
import { useQuery } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import { api, orNull } from '../api.ts'
import { Loaded, Page } from '../parts/page.tsx'
import { AsItWas, CreatedWith } from '../parts/text/as-it-was.tsx'

async function compare(template_id: string, assignment_id: string) {
  const [earlier, now] = await Promise.all([
    api().jobs.template(assignment_id),
    orNull(api().templates.get(template_id)),
  ])
  return { earlier, now: now?.source ?? null }
}

export function TemplateThenPage() {
  const { template_id, assignment_id } = useParams({
    from: '/shell/templates/$template_id/then/$assignment_id',
  })
  const query = useQuery({
    queryKey: ['template', 'then', template_id, assignment_id],
    queryFn: () => compare(template_id, assignment_id),
  })
  return (
    <Page
      title={`${template_id} as it was`}
      trail={
        <Link to="/templates/$template_id" params={{ template_id }} search={{}}>
          {template_id}
        </Link>
      }
      lead={<CreatedWith noun="template" assignment_id={assignment_id} />}
    >
      <Loaded query={query}>
        {({ earlier: { source, version, metrics }, now }) => (
          <>
            <p className="small">
              Version <code>{version}</code>
              {metrics.map(({ metric_id }) => (
                <span key={metric_id}>
                  {' '}
                  · metric{' '}
                  <Link
                    to="/metric/$metric_id/then/$assignment_id"
                    params={{ metric_id, assignment_id }}
                    aria-label={`${metric_id} as it was`}
                  >
                    {metric_id}
                  </Link>
                </span>
              ))}
            </p>
            <AsItWas
              noun="template"
              earlier={source}
              now={now}
              label={`Source of ${template_id} at that time`}
            />
          </>
        )}
      </Loaded>
    </Page>
  )
}
