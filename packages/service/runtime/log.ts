/** The log: one line for each finished request, job, delivery. JSON for machines, short text for a terminal. */

import { iso } from '@assay/model/clock'
import { AppError } from '@assay/model/errors'
import { type LogFn, type Logger, pino, stdSerializers } from 'pino'

export type { Logger }

export interface LogOptions {
  level: string
  format: 'json' | 'text'
  stream?: { write(line: string): unknown }
  /** Returns milliseconds that only rise. */
  now?: () => number
}

/** Writes these levels in capitals, so that errors stand out in a terminal. */
const LOUD: Record<string, string> = { error: 'ERROR', fatal: 'FATAL' }

/** Formats a line: "12:00:01 info  a job ended assignment_id=... status=completed". */
function textLine(line: string): string {
  const { level, time, msg, err, ...fields } = JSON.parse(line) as Record<string, unknown>
  // A text that could forge a line or control the terminal is quoted.
  const pairs = Object.entries(fields).map(
    ([key, value]) =>
      ` ${key}=${typeof value === 'string' && /^[\x20-\x7e\xa1-\uffff]*$/.test(value) ? value : JSON.stringify(value)}`,
  )
  const stack = err ? `\n${(err as { stack?: string }).stack ?? JSON.stringify(err)}` : ''
  return `${String(time).slice(11, 19)} ${(LOUD[level as string] ?? String(level)).padEnd(5)} ${typeof msg === 'string' ? msg : ''}${pairs.join('')}${stack}\n`
}

/** Writes the lines of one pass of the event loop together, because a write for each costs as much as answering a request. */
function batched(stream: { write(text: string): unknown }): { write(line: string): void } {
  let lines = ''
  const flush = (): void => {
    const text = lines
    lines = ''
    if (text !== '') stream.write(text)
  }
  process.on('exit', flush)
  return {
    write(line) {
      if (lines === '') setImmediate(flush)
      lines += line
    },
  }
}

const REPEAT_MS = 30_000

/**
 * Limits messages about a store that cannot be reached, which every loop would log several times a second. A message is written
 * at once, and then every half minute with the number of times that it was omitted (`unsaid`).
 */
function sparing(now: () => number) {
  const said = new Map<string, { at: number; unsaid: number }>()
  return function spare(this: Logger, args: Parameters<LogFn>, method: LogFn): void {
    const [fields, message] = args as unknown as [{ err?: unknown }, string]
    if (!(fields?.err instanceof AppError) || fields.err.code !== 'store_unavailable')
      return method.apply(this, args)
    const known = said.get(message)
    if (known && now() - known.at < REPEAT_MS) {
      known.unsaid += 1
      return undefined
    }
    said.set(message, { at: now(), unsaid: 0 })
    const told = known && known.unsaid > 0 ? { ...fields, unsaid: known.unsaid } : fields
    return method.call(this, told, message)
  }
}

export function createLog({
  level,
  format,
  stream = batched(process.stderr),
  now = () => performance.now(),
}: LogOptions): Logger {
  return pino(
    {
      level,
      base: null,
      timestamp: () => `,"time":"${iso(Date.now())}"`,
      // The level is a name, because collectors of logs do not know pino's numbers.
      formatters: { level: (name) => ({ level: name }) },
      serializers: { err: stdSerializers.err },
      hooks: { logMethod: sparing(now) },
      redact: {
        paths: ['authorization', '*.authorization', 'headers', 'token', 'password', '*.password'],
        censor: '••••',
      },
    },
    { write: (line: string) => stream.write(format === 'text' ? textLine(line) : line) },
  )
}

export const silentLog: Logger = pino({ level: 'silent' })
