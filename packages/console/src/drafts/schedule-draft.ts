/**
 * Converts a schedule between its form, where every value is text, and the service. Pure except for the reader's time
 * zone.
 */
import type { ScheduleInput } from '@assay/client'
import type { ScheduleView } from '@assay/model/schedule'
import type { VariableView } from '@assay/model/template'
import { firstValues, sentValues, textOf, type Values } from '../values.ts'
import { instantOf, localInput, ownZone } from '../words/zones.ts'
import { type MetadataRow, metadataOf, metadataRows } from './metadata.ts'
import { attributeLines, attributesOf } from './readers.ts'

export interface ScheduleDraft {
  name: string
  template_id: string
  /** The changed values only. Another template keeps the values of variables that it shares. */
  values: Values
  cron: string
  time_zone: string
  starts_at: string
  ends_at: string
  missed: NonNullable<ScheduleInput['missed']>
  missed_limit: string
  overlap: NonNullable<ScheduleInput['overlap']>
  paused: boolean
  /** The readers for whom a personal template is run. */
  readers_for: 'nobody' | 'all' | 'chosen' | 'where'
  /** The ids of readers, one a line. */
  readers_ids: string
  /** The attributes of readers, one a line. */
  readers_where: string
  notify: string[]
  presence_name: string
  priority: string
  metadata: MetadataRow[]
}

const FIRST_MISSED = 10

type Readers = Exclude<ScheduleView['readers'], { count: number }>
type ReadersDraft = Pick<ScheduleDraft, 'readers_for' | 'readers_ids' | 'readers_where'>

function readersDraft(readers: ScheduleView['readers']): ReadersDraft {
  const empty = { readers_ids: '', readers_where: '' }
  if (readers === null) return { ...empty, readers_for: 'nobody' }
  if (readers === 'all') return { ...empty, readers_for: 'all' }
  if (Array.isArray(readers)) return { ...empty, readers_for: 'chosen', readers_ids: readers.join('\n') }
  // Only admins change a schedule over readers, and only they are shown the ids.
  if ('count' in readers) return { ...empty, readers_for: 'nobody' }
  return { ...empty, readers_for: 'where', readers_where: attributeLines(readers.where) }
}

const idsOf = (lines: string): string[] => [...new Set(lines.split(/\s+/).filter(Boolean))]

function readersOf({ readers_for, readers_ids, readers_where }: ReadersDraft): Readers {
  if (readers_for === 'nobody') return null
  if (readers_for === 'all') return 'all'
  return readers_for === 'chosen' ? idsOf(readers_ids) : { where: attributesOf(readers_where).attributes }
}

/** Returns the fault of the readers that can be found without the service. */
export function readersFault({ readers_for, readers_ids, readers_where }: ReadersDraft): string | undefined {
  if (readers_for === 'chosen' && idsOf(readers_ids).length === 0)
    return 'must name a reader or more: write their ids, one a line'
  if (readers_for !== 'where') return undefined
  const { attributes, fault } = attributesOf(readers_where)
  return Object.keys(attributes).length === 0
    ? (fault ?? 'must name an attribute or more, as in region: north')
    : fault
}

export function firstDraft(template_id: string, schedule?: ScheduleView): ScheduleDraft {
  return {
    name: schedule?.name ?? '',
    template_id: schedule?.template_id ?? template_id,
    values: {},
    cron: schedule?.cron ?? '',
    time_zone: schedule?.time_zone ?? ownZone(),
    starts_at: localInput(schedule?.starts_at ?? null),
    ends_at: localInput(schedule?.ends_at ?? null),
    missed: schedule?.missed ?? 'skip',
    missed_limit: String(schedule?.missed_limit ?? FIRST_MISSED),
    overlap: schedule?.overlap ?? 'queue',
    paused: schedule?.paused ?? false,
    ...readersDraft(schedule?.readers ?? null),
    notify: schedule?.notify ?? [],
    presence_name: schedule?.presence_name ?? '',
    priority: String(schedule?.priority ?? 0),
    metadata: metadataRows(schedule?.metadata),
  }
}

/** Returns the values in the form: the changed ones, else the schedule's, else the template's. */
export function shownValues(
  draft: ScheduleDraft,
  variables: readonly VariableView[],
  schedule?: ScheduleView,
): Values {
  return { ...firstValues(variables, schedule?.template_vars), ...draft.values }
}

/**
 * Returns the values without those equal to the template's default, so that the schedule follows a changed default.
 */
function givenValues(
  draft: ScheduleDraft,
  variables: readonly VariableView[],
  schedule?: ScheduleView,
): Record<string, unknown> {
  const shown = shownValues(draft, variables, schedule)
  const own = variables.filter(
    ({ name, default: fallback }) =>
      shown[name] !== textOf(fallback) || Object.hasOwn(schedule?.template_vars ?? {}, name),
  )
  return sentValues(own, shown)
}

/** Returns a bound. A minutes field shows less than a schedule may hold, so an untouched value is kept unchanged. */
function boundOf(value: string, before: string | null): string | null {
  return value === localInput(before) ? before : instantOf(value)
}

export function scheduleInput(
  draft: ScheduleDraft,
  variables: readonly VariableView[],
  schedule?: ScheduleView,
): ScheduleInput {
  const { template_id, cron, missed, overlap, paused } = draft
  return {
    name: draft.name.trim(),
    template_id,
    template_vars: givenValues(draft, variables, schedule),
    cron: cron.trim(),
    time_zone: draft.time_zone.trim(),
    starts_at: boundOf(draft.starts_at, schedule?.starts_at ?? null),
    ends_at: boundOf(draft.ends_at, schedule?.ends_at ?? null),
    missed,
    // The form has this field only for the value "all".
    ...(missed === 'all' ? { missed_limit: Number(draft.missed_limit) } : {}),
    overlap,
    paused,
    readers: readersOf(draft),
    notify: draft.notify,
    presence_name: draft.presence_name.trim() || null,
    priority: Number(draft.priority),
    metadata: metadataOf(draft.metadata),
  }
}
