/** The page of the schedules of the workspace: template, rhythm, next run and last run of each. */

import type { ScheduleView } from '@assay/model/schedule'
import { Link } from '@tanstack/react-router'
import { api, useMay } from '../../api.ts'
import { useTemplateTitle } from '../../parts/jobs/template-title.ts'
import { ListTable } from '../../parts/lists/list-table.tsx'
import { Paged, usePaged } from '../../parts/lists/paged.tsx'
import { Empty, Page } from '../../parts/page.tsx'
import { DueTime, LastRun, Rhythm, ScheduleState } from '../../parts/schedules/schedule-show.tsx'
import { Time } from '../../parts/show.tsx'
import { Curl } from '../../parts/text/curl.tsx'

const REFRESH_MS = 15_000
const EXAMPLE = {
  name: 'Delays, every working morning',
  template_id: 'flight-delays',
  template_vars: { origin: 'ORD' },
  cron: '30 6 * * MON-FRI',
  time_zone: 'America/Chicago',
}

function ScheduleRow({ schedule }: { schedule: ScheduleView }) {
  const { schedule_id, name, template_id, time_zone, next_runs } = schedule
  const [next, ...later] = next_runs
  return (
    <tr>
      <td>
        <Link to="/schedules/$schedule_id" params={{ schedule_id }}>
          {name}
        </Link>
        <div className="small">{useTemplateTitle(template_id)}</div>
      </td>
      <td>
        <Rhythm schedule={schedule} />
      </td>
      <td>
        {next === undefined ? (
          'no more due times'
        ) : (
          <>
            <Time at={next} />
            <div className="small">
              <DueTime at={next} time_zone={time_zone} />
              {later.slice(0, 1).map((at) => (
                <div key={at}>
                  then <DueTime at={at} time_zone={time_zone} />
                </div>
              ))}
            </div>
          </>
        )}
      </td>
      <td>
        <LastRun schedule={schedule} />
      </td>
      <td>
        <ScheduleState schedule={schedule} />
      </td>
    </tr>
  )
}

export function SchedulesPage() {
  const analyst = useMay('analyst')
  const query = usePaged(['schedules'], (cursor) => api().schedules.list({ cursor, limit: 50 }), REFRESH_MS)
  const create = (
    <Link className="button" to="/schedules/new" search={{}}>
      New schedule
    </Link>
  )
  return (
    <Page
      title="Schedules"
      wide
      lead={<p>Reports that run by themselves, each in its own time zone.</p>}
      actions={analyst && create}
    >
      <Paged
        query={query}
        empty={
          <Empty title="No schedule yet">
            <p>A schedule creates an ordinary job from a template at each due time.</p>
            {analyst && (
              <>
                {create}
                <Curl path="/schedules" body={EXAMPLE} />
              </>
            )}
          </Empty>
        }
      >
        {(schedules) => (
          <ListTable columns={['Name', 'When', 'Next', 'Last run', 'State']}>
            {schedules.map((schedule) => (
              <ScheduleRow key={schedule.schedule_id} schedule={schedule} />
            ))}
          </ListTable>
        )}
      </Paged>
    </Page>
  )
}
