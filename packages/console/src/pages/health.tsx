/** The page of present failures, each with the one action that mends it. */
import { useMutation } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useMay } from '../api.ts'
import { Fault } from '../parts/fault.tsx'
import { Empty, Loaded, Page } from '../parts/page.tsx'
import { type Trouble, tryConnections, useTroubles } from '../troubles.ts'

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

function TroubleList({ troubles }: { troubles: readonly Trouble[] }) {
  return (
    <ul className="troubles">
      {troubles.map((trouble) => (
        <TroubleRow key={trouble.id} trouble={trouble} />
      ))}
    </ul>
  )
}

/**
 * Shows the connections. The service keeps no state of a connection, so each is tried to find whether it can be used.
 */
function Connections() {
  const trying = useMutation({ mutationFn: tryConnections })
  const { data } = trying
  return (
    <section>
      <h2>Connections</h2>
      <p>
        <button type="button" className="button" disabled={trying.isPending} onClick={() => trying.mutate()}>
          {trying.isPending ? 'Trying…' : 'Test all connections'}
        </button>
      </p>
      <p role="status">{data && triedWords(data.tried, data.troubles.length)}</p>
      {data && data.troubles.length > 0 && <TroubleList troubles={data.troubles} />}
      {trying.isError && <Fault error={trying.error} />}
    </section>
  )
}

function triedWords(tried: number, failed: number): string {
  if (tried === 0) return 'There is no connection.'
  if (failed > 0) return `${failed} of ${tried} cannot be used.`
  return tried === 1 ? 'It can be used.' : `All ${tried} can be used.`
}

export function HealthPage() {
  const query = useTroubles()
  const admin = useMay('admin')
  return (
    <Page title="Health" lead={<p>What fails at present. The page looks again every minute.</p>}>
      <Loaded query={query}>
        {(troubles) =>
          troubles.length === 0 ? (
            <Empty title="No schedule, webhook or subscription fails, and no data are late">
              <p>
                The last run or delivery of each went well and found its data in order.{' '}
                <Link to="/jobs" search={{ ending: 'failed' }}>
                  Jobs that failed
                </Link>
              </p>
            </Empty>
          ) : (
            <>
              <TroubleList troubles={troubles} />
              <p>
                <Link to="/jobs" search={{ ending: 'failed' }}>
                  All jobs that failed
                </Link>
              </p>
            </>
          )
        }
      </Loaded>
      {admin && <Connections />}
    </Page>
  )
}
