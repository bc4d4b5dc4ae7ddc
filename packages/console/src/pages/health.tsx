/** What fails at present, each with the one action that mends it. */
import { Link } from '@tanstack/react-router'
import { Empty, Loaded, Page } from '../parts/page.tsx'
import { type Trouble, useTroubles } from '../troubles.ts'

function TroubleRow({ trouble: { kind, name, says, action, at } }: { trouble: Trouble }) {
  return (
    <li className="trouble">
      <div>
        <h2>
          <span className="small">{kind}</span> {name}
        </h2>
        <p>{says}</p>
      </div>
      <Link className="button" {...at} aria-label={`${action}: ${name}`}>
        {action}
      </Link>
    </li>
  )
}

export function HealthPage() {
  const query = useTroubles()
  return (
    <Page title="Health" lead={<p>What fails at present. The page looks again every minute.</p>}>
      <Loaded query={query}>
        {(troubles) =>
          troubles.length === 0 ? (
            <Empty title="Nothing fails">
              <p>
                The last run of every schedule, every webhook and every subscription went well.{' '}
                <Link to="/jobs" search={{ ending: 'failed' }}>
                  Jobs that failed
                </Link>
              </p>
            </Empty>
          ) : (
            <>
              <ul className="troubles">
                {troubles.map((trouble) => (
                  <TroubleRow key={trouble.id} trouble={trouble} />
                ))}
              </ul>
              <p>
                <Link to="/jobs" search={{ ending: 'failed' }}>
                  All jobs that failed
                </Link>
              </p>
            </>
          )
        }
      </Loaded>
    </Page>
  )
}
