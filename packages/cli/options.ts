/** Options of commands: how they are declared, and how their values are read. Each reader throws UsageError. */
import { EVENT_TYPES, type EventType } from '@assay/model/event'
import { type Reader, readerFault } from '@assay/model/reader'
import type { ScheduleReaders } from '@assay/model/schedule'
import { parseDuration } from '@assay/service/config/config'
import type { Call, Option } from './command.ts'
import { UsageError } from './exit.ts'

/** Declares an option with a value. `value` stands for it in the help. */
export const text = (value: string, doc: string): Option => ({ type: 'string', value, doc })
/** Declares an option that may be repeated. */
export const texts = (value: string, doc: string): Option => ({ type: 'string', value, doc, multiple: true })
export const flag = (doc: string, short?: string): Option => ({
  type: 'boolean',
  doc,
  ...(short ? { short } : {}),
})

export const JSON_OPTION = flag('Print JSON for programs')
export const LIMIT = text('N', 'Most rows, up to 200 (default 20)')
export const WORKSPACE = text('ID', "The workspace (default: the token's own)")

/** Reads a whole number. */
export function numberOption(call: Call, name: string, least: number, most: number): number | undefined {
  const given = call.text(name)
  if (given === undefined) return undefined
  const number = Number(given)
  if (/^-?\d+$/.test(given) && number >= least && number <= most) return number
  throw new UsageError(
    `--${name} takes a whole number from ${least} to ${most}, not ${JSON.stringify(given)}.`,
  )
}

export const limitOption = (call: Call): number => numberOption(call, 'limit', 1, 200) ?? 20

/** Reads "name=value" options as an object. */
export function pairsOption(call: Call, name: string): Record<string, string> {
  return Object.fromEntries(
    call.all(name).map((pair) => {
      const at = pair.indexOf('=')
      if (at < 1) throw new UsageError(`--${name} takes NAME=VALUE, not ${JSON.stringify(pair)}.`)
      return [pair.slice(0, at), pair.slice(at + 1)]
    }),
  )
}

/**
 * Reads the reader of "--reader name=value" options; null without any. Commas divide the values of a list, `\\,` is a
 * comma, a comma at the end makes a list of one value or of none, and a repeated name adds values.
 */
export function readerOption(call: Call): Reader | null {
  if (call.all('reader').length === 0) return null
  const reader = { id: 'command line', ...attributesOption(call, 'reader') }
  const fault = readerFault(reader)
  if (fault !== null) throw new UsageError(`--reader: ${fault}`)
  return reader
}

/** Reads "name=value" options whose values may be lists. */
function attributesOption(call: Call, option: string): Record<string, string | string[]> {
  const given = new Map<string, string | string[]>()
  for (const pair of call.all(option)) {
    const at = pair.indexOf('=')
    if (at < 1) throw new UsageError(`--${option} takes NAME=VALUE, not ${JSON.stringify(pair)}.`)
    const name = pair.slice(0, at)
    const values = valuesOf(pair.slice(at + 1))
    const before = given.get(name)
    given.set(name, before === undefined ? values : [before, values].flat())
  }
  return Object.fromEntries(given)
}

/**
 * Reads the readers of a schedule: "all", ids with commas between them, or the attributes that they have. Undefined
 * if none is given.
 */
export function readersOption(call: Call): ScheduleReaders | undefined {
  const given = call.all('readers')
  if (given.length === 0) return undefined
  if (given.length === 1 && given[0] === 'all') return 'all'
  const pairs = given.filter((one) => one.includes('='))
  if (given.includes('all') || (pairs.length > 0 && pairs.length < given.length))
    throw new UsageError(
      '--readers takes "all", or ids (ada,bob), or attributes (region=north), and only one of these.',
    )
  if (pairs.length > 0) return { where: attributesOption(call, 'readers') }
  const ids = given.flatMap((one) => one.split(',')).filter((id) => id !== '')
  if (ids.length === 0)
    throw new UsageError('--readers takes "all", ids (ada,bob), or attributes (region=north).')
  return [...new Set(ids)]
}

function valuesOf(text: string): string | string[] {
  const parts = text.split(/(?<!\\),/).map((part) => part.replaceAll('\\,', ','))
  if (parts.length === 1) return parts[0]!
  return parts.at(-1) === '' ? parts.slice(0, -1).filter((part, index) => index > 0 || part !== '') : parts
}

/** Reads one word of a closed list. */
export function choiceOption<T extends string>(
  call: Call,
  name: string,
  allowed: readonly T[],
): T | undefined {
  const value = call.text(name)
  if (value === undefined || allowed.includes(value as T)) return value as T | undefined
  throw new UsageError(`--${name} takes ${allowed.join(', ')}, not ${JSON.stringify(value)}.`)
}

/** Reads words of a closed list; undefined if none is given. */
export function choicesOption<T extends string>(
  call: Call,
  name: string,
  allowed: readonly T[],
): T[] | undefined {
  const given = call.all(name)
  const other = given.find((value) => !allowed.includes(value as T))
  if (other !== undefined)
    throw new UsageError(`--${name} takes ${allowed.join(', ')}, not ${JSON.stringify(other)}.`)
  return given.length > 0 ? (given as T[]) : undefined
}

/** Reads event types and `*`. */
export const eventsOption = (call: Call): (EventType | '*')[] | undefined =>
  choicesOption(call, 'event', ['*', ...EVENT_TYPES])

/** Reads a duration such as 30d, in milliseconds. */
export function durationOption(call: Call, name: string): number | undefined {
  const given = call.text(name)
  try {
    return given === undefined ? undefined : parseDuration(given)
  } catch (error) {
    throw new UsageError(`--${name} ${(error as Error).message}.`)
  }
}

/** Reads a duration in whole seconds. */
export function secondsOption(call: Call, name: string): number | undefined {
  const duration = durationOption(call, name)
  return duration === undefined ? undefined : Math.floor(duration / 1000)
}

/** Reads a time: "2h" for two hours ago, or an RFC 3339 time. */
export function timeOption(call: Call, name: string, otherwise?: string): string | undefined {
  const given = call.text(name) ?? otherwise
  if (given === undefined) return undefined
  if (/^\d{4}-/.test(given) && !Number.isNaN(Date.parse(given))) return new Date(given).toISOString()
  try {
    return new Date(Date.now() - parseDuration(given)).toISOString()
  } catch {
    throw new UsageError(`--${name} takes a time (2026-01-31T12:00:00Z) or how long ago (2h), not ${given}.`)
  }
}
