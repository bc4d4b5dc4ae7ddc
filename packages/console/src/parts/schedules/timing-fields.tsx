/** Shows the timing of a schedule: expression, time zone, start and end, with a preview of the due times. */
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useId, useState } from 'react'
import { api, faultsOf } from '../../api.ts'
import type { ScheduleDraft } from '../../drafts/schedule-draft.ts'
import { useSettled } from '../../settled.ts'
import { cronAt, cronWords, timeOf } from '../../words/cron.ts'
import { instantOf, knownZones, ownZone } from '../../words/zones.ts'
import { Fault } from '../fault.tsx'
import { TextField } from '../field.tsx'
import { DueTime } from './schedule-show.tsx'

const ASK_AFTER_MS = 300
const FIELDS = ['cron', 'time_zone', 'starts_at', 'ends_at'] as const

/** Common choices of days, with their fields of an expression; null for each hour. */
const COMMON = [
  ['Every day', '* * *'],
  ['Monday to Friday', '* * MON-FRI'],
  ['Mondays', '* * MON'],
  ['Fridays', '* * FRI'],
  ['First of the month', '1 * *'],
  ['Last of the month', 'L * *'],
  ['Every hour', null],
] as const
const FIRST_TIME = '06:00'

/** Chooses days and a time. Each choice writes the expression. */
function CommonTimes({ cron, onChange }: { cron: string; onChange(cron: string): void }) {
  const known = timeOf(cron)
  const [typed, setTyped] = useState(FIRST_TIME)
  const time = known?.time ?? typed
  return (
    <div className="days-at">
      <div className="tags" role="group" aria-label="Common times">
        {COMMON.map(([name, days]) => (
          <button
            key={name}
            type="button"
            className="tag"
            aria-pressed={cron !== '' && cron === cronAt(days, time)}
            onClick={() => onChange(cronAt(days, time))}
          >
            {name}
          </button>
        ))}
      </div>
      <TextField
        label="At"
        type="time"
        value={time}
        onChange={({ target }) => {
          if (target.value === '') return
          setTyped(target.value)
          if (known) onChange(cronAt(known.days, target.value))
        }}
      />
    </div>
  )
}

const ZONES = knownZones()

export type Timing = Pick<ScheduleDraft, (typeof FIELDS)[number]>

/** Returns the due times as the service computes them, once typing has paused. */
function useDueTimes({ cron, time_zone, starts_at, ends_at }: Timing) {
  const timing = {
    cron: cron.trim(),
    time_zone: time_zone.trim(),
    starts_at: instantOf(starts_at) ?? undefined,
    ends_at: instantOf(ends_at) ?? undefined,
  }
  const asked = useSettled(timing, ASK_AFTER_MS)
  return useQuery({
    queryKey: ['due times', asked],
    queryFn: () => api().schedules.preview(asked),
    enabled: asked.cron !== '' && asked.time_zone !== '',
    placeholderData: keepPreviousData,
    staleTime: 30_000,
  })
}

function DueTimes({ query, timing }: { query: ReturnType<typeof useDueTimes>; timing: Timing }) {
  const words = cronWords(timing.cron)
  const faulty = query.isError && FIELDS.some((name) => name in faultsOf(query.error))
  return (
    <section className="due-times" role="status" aria-label="The next due times">
      <p>
        <strong>Next due</strong>
        {words !== null && !query.isError && `: ${words}`}
      </p>
      {timing.cron.trim() === '' && (
        <p className="small">Choose days and a time, or write an expression, to see its due times.</p>
      )}
      {faulty && <p className="small">The next five due times appear here when the expression is valid.</p>}
      {query.isError && !faulty && <Fault error={query.error} onRetry={() => void query.refetch()} />}
      {!query.isError && query.data && timing.cron.trim() !== '' && (
        <ol className="due">
          {query.data.next_runs.map((at) => (
            <li key={at}>
              <DueTime at={at} time_zone={timing.time_zone.trim()} />
            </li>
          ))}
        </ol>
      )}
    </section>
  )
}

interface TimingFieldsProps {
  timing: Timing
  /** The faults of a refused submit. */
  faults: Record<string, string>
  onChange(changed: Partial<Timing>): void
}

function BoundFields({ timing, faults, onChange }: TimingFieldsProps) {
  return (
    <details
      open={
        timing.starts_at !== '' ||
        timing.ends_at !== '' ||
        'starts_at' in faults ||
        'ends_at' in faults ||
        undefined
      }
    >
      <summary>Start and end</summary>
      <TextField
        label="Starts at"
        hint={`In your own time zone (${ownZone()}).`}
        type="datetime-local"
        fault={faults.starts_at}
        value={timing.starts_at}
        onChange={({ target }) => onChange({ starts_at: target.value })}
      />
      <TextField
        label="Ends at"
        hint={`In your own time zone (${ownZone()}).`}
        type="datetime-local"
        fault={faults.ends_at}
        value={timing.ends_at}
        onChange={({ target }) => onChange({ ends_at: target.value })}
      />
    </details>
  )
}

export function TimingFields({ timing, faults: refused, onChange }: TimingFieldsProps) {
  const zones = useId()
  const query = useDueTimes(timing)
  // The preview is newer than a refusal; for an empty expression there is no preview.
  const faults = query.isFetched ? faultsOf(query.error) : refused
  return (
    <>
      <CommonTimes cron={timing.cron} onChange={(cron) => onChange({ cron })} />
      <TextField
        label="Cron expression"
        hint="Choose days and a time above, or write: minute, hour, day of month, month, day of week; or @hourly, @daily, @weekly, @monthly, @yearly."
        required
        autoComplete="off"
        spellCheck={false}
        placeholder="30 6 * * MON-FRI"
        fault={timing.cron.trim() === '' ? refused.cron : faults.cron}
        value={timing.cron}
        onChange={({ target }) => onChange({ cron: target.value })}
      />
      <TextField
        label="Time zone"
        hint="The expression is read in this zone, also when its clocks change."
        required
        list={zones}
        autoComplete="off"
        fault={timing.time_zone.trim() === '' ? refused.time_zone : faults.time_zone}
        value={timing.time_zone}
        onChange={({ target }) => onChange({ time_zone: target.value })}
      />
      <datalist id={zones}>
        {ZONES.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      <DueTimes query={query} timing={timing} />
      <BoundFields timing={timing} faults={faults} onChange={onChange} />
    </>
  )
}
