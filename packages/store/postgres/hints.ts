/**
 * Sends hints between processes. This process gets its own at once, the others get them by NOTIFY. NOTIFY takes a
 * lock that all commits share, so it is sent outside the transactions, for all hints within 50 ms. A broken
 * connection or a pooler may lose a hint, so polling must suffice.
 */
import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { Client, ClientConfig } from 'pg'
import type { Hint } from '../store.ts'

const CHANNEL = 'assay_hints'
const COALESCE_MS = 50
/** The most bytes of one NOTIFY. PostgreSQL accepts less than 8,000. */
const PAYLOAD_BYTES = 7000
const RETRY_MS_FIRST = 250
const RETRY_MS_MOST = 15_000
/** The milliseconds between two statements that find a connection which was cut silently. */
const CHECK_MS = 20_000

/** Sends the hints. Its commit does not wait for the disk, because the changes are already durable. */
const NOTIFY = `
  SELECT pg_notify($1, text), set_config('synchronous_commit', 'off', true) FROM unnest($2::text[]) AS text`

type Listener = (hint: Hint) => void

export interface Hints {
  subscribe(listener: Listener): () => void
  /** Tells the hints of a transaction after its commit. */
  tell(hints: Hint[]): void
  close(): Promise<void>
}

export interface HintsOptions {
  /** Makes the client that listens for hints. */
  open(more: ClientConfig): Client
  /** Runs one statement outside any transaction. */
  send(sql: string, values: unknown[]): Promise<unknown>
}

export function hintKey(hint: Hint): string {
  const of = 'assignment_id' in hint ? hint.assignment_id : 'delivery_id' in hint ? hint.delivery_id : ''
  return `${hint.topic} ${of}`
}

function parseHint(line: string): Hint | null {
  const [topic, id = ''] = line.split(' ')
  if (topic === 'jobs' || topic === 'deliveries') return { topic }
  if (topic === 'job') return { topic, assignment_id: id }
  return topic === 'delivery' ? { topic, delivery_id: id } : null
}

/** Yields texts of lines below the name of this process, each small enough for one NOTIFY. */
function payloads(source: string, keys: Iterable<string>): string[] {
  const texts: string[] = []
  let text = source
  for (const key of keys) {
    if (Buffer.byteLength(text) + Buffer.byteLength(key) + 1 > PAYLOAD_BYTES) {
      texts.push(text)
      text = source
    }
    text += `\n${key}`
  }
  return [...texts, text]
}

/** Listens until the signal is aborted. It calls `lost` when it listens again after hints may have been lost. */
async function listen(
  open: HintsOptions['open'],
  heard: (payload: string) => void,
  lost: () => void,
  signal: AbortSignal,
): Promise<void> {
  let wait = RETRY_MS_FIRST
  while (!signal.aborted) {
    const client = open({ query_timeout: CHECK_MS })
    const ended = new AbortController()
    client.on('error', () => ended.abort())
    client.on('end', () => ended.abort())
    client.on('notification', ({ payload }) => heard(payload ?? ''))
    const either = AbortSignal.any([signal, ended.signal])
    try {
      await client.connect()
      await client.query(`LISTEN ${CHANNEL}`)
      wait = RETRY_MS_FIRST
      lost()
      while (!either.aborted) {
        await delay(CHECK_MS, undefined, { signal: either }).catch(() => undefined)
        if (!either.aborted) await client.query('SELECT 1')
      }
    } catch {
      // Other work of the store reports the fault. Here the connection is only tried again.
    }
    client.end().catch(() => undefined)
    if (signal.aborted) return
    await delay(wait * (0.5 + Math.random()), undefined, { signal }).catch(() => undefined)
    wait = Math.min(wait * 2, RETRY_MS_MOST)
  }
}

export function createHints({ open, send }: HintsOptions): Hints {
  const source = randomUUID()
  const listeners = new Set<Listener>()
  const waiting = new Set<string>()
  const closing = new AbortController()
  let listening: Promise<void> | null = null
  let timer: NodeJS.Timeout | null = null
  let sent: Promise<unknown> = Promise.resolve()

  const emit = (hint: Hint): void => {
    for (const listener of listeners) listener(hint)
  }

  function flush(): void {
    timer = null
    const texts = payloads(source, waiting)
    waiting.clear()
    sent = send(NOTIFY, [CHANNEL, texts]).catch(() => undefined)
  }

  function heard(payload: string): void {
    const [from, ...lines] = payload.split('\n')
    if (from === source) return
    for (const line of lines) {
      const hint = parseHint(line)
      if (hint) emit(hint)
    }
  }

  return {
    subscribe(listener) {
      listeners.add(listener)
      listening ??= listen(
        open,
        heard,
        () => {
          emit({ topic: 'jobs' })
          emit({ topic: 'deliveries' })
        },
        closing.signal,
      )
      return () => listeners.delete(listener)
    },
    tell(hints) {
      for (const hint of hints) {
        waiting.add(hintKey(hint))
        emit(hint)
      }
      if (waiting.size > 0 && !closing.signal.aborted) timer ??= setTimeout(flush, COALESCE_MS)
    },
    async close() {
      closing.abort()
      if (timer) {
        clearTimeout(timer)
        flush()
      }
      await Promise.all([sent, listening])
    },
  }
}
