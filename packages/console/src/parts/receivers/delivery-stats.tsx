/** Shows the attempts of a webhook or subscription in the last day: counts, latency, and a chart by hour. */

import type { WebhookStats } from '@assay/model/delivery'
import { useQuery } from '@tanstack/react-query'
import { callsOf, type Receiver } from '../../receivers.ts'
import { duration } from '../../words/durations.ts'
import { Loaded } from '../page.tsx'

const HOUR_MS = 3_600_000
const HOURS = 24
const HEIGHT = 100

interface Hour {
  hour: string
  sent: number
  failed: number
}

/** Returns the last 24 hours, including those without attempts. */
function lastHours(stats: WebhookStats, now = Date.now()): Hour[] {
  const known = new Map(stats.hours.map((hour) => [Date.parse(hour.hour), hour]))
  const last = Math.floor(now / HOUR_MS) * HOUR_MS
  return Array.from({ length: HOURS }, (_, index) => {
    const at = last - (HOURS - 1 - index) * HOUR_MS
    return known.get(at) ?? { hour: new Date(at).toISOString(), sent: 0, failed: 0 }
  })
}

function Bars({ hours }: { hours: Hour[] }) {
  const most = Math.max(1, ...hours.map(({ sent, failed }) => sent + failed))
  const step = 480 / hours.length
  const busiest = hours.reduce((best, hour) =>
    hour.sent + hour.failed > best.sent + best.failed ? hour : best,
  )
  const label = `Attempts by hour: at most ${busiest.sent + busiest.failed} an hour, at ${busiest.hour.slice(11, 16)} UTC`
  return (
    <svg
      className="bars"
      viewBox={`0 0 480 ${HEIGHT}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={label}
    >
      {hours.map(({ hour, sent, failed }, index) => {
        const [good, bad] = [(sent / most) * HEIGHT, (failed / most) * HEIGHT]
        const place = { x: index * step + 1, width: step - 2 }
        return (
          <g key={hour}>
            <title>{`${hour.slice(0, 16).replace('T', ' ')} UTC: ${sent} arrived, ${failed} failed`}</title>
            <rect className="sent" {...place} y={HEIGHT - good} height={good} />
            <rect className="failed" {...place} y={HEIGHT - good - bad} height={bad} />
          </g>
        )
      })}
    </svg>
  )
}

const time = (ms: number | null): string => (ms === null ? '–' : duration(ms))

export function Stats({ receiver }: { receiver: Receiver }) {
  const query = useQuery({
    queryKey: ['deliveries', receiver.id, 'stats'],
    queryFn: () => callsOf(receiver).stats(receiver.id),
  })
  return (
    <Loaded query={query}>
      {(stats) => (
        <section>
          <h2>The last 24 hours</h2>
          <dl className="numbers-row">
            {(
              [
                ['attempts arrived', String(stats.sent)],
                ['attempts failed', String(stats.failed)],
                ['half were faster than', time(stats.p50_ms)],
                ['95 of 100 faster than', time(stats.p95_ms)],
                ['99 of 100 faster than', time(stats.p99_ms)],
              ] as const
            ).map(([name, value]) => (
              <div key={name}>
                <dt>{name}</dt>
                <dd>{value}</dd>
              </div>
            ))}
          </dl>
          <Bars hours={lastHours(stats)} />
          <p className="bars-axis small" aria-hidden="true">
            <span>24 hours ago</span>
            <span>now</span>
          </p>
        </section>
      )}
    </Loaded>
  )
}
