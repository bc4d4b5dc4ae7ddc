/**
 * A TCP proxy for tests that fails as networks do: it resets, it refuses, or it accepts and forwards nothing more, so that
 * neither side learns that the other is gone (a half-open connection).
 */
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export interface Target {
  host: string
  port: number
}

export interface Proxy {
  port: number
  /** Returns the number of open connections, including the frozen ones. */
  open(): number
  /** Freezes the present connections: they stay open and forward nothing more. New ones are forwarded. */
  freeze(): void
  /** Freezes the next connection that sends this text, after the text. */
  freezeAfter(text: string): void
  /** Freezes the present connections, and new ones until `mend`: they are accepted and never answered. */
  silence(): void
  /** Resets all connections, and new ones until `mend`. */
  cut(): void
  /** Forwards new connections again. Frozen ones stay frozen. */
  mend(): void
  /** Forwards new connections to another server. */
  redirect(target: Target): void
  close(): Promise<void>
}

/** Milliseconds after which the far side of a frozen connection is closed. */
const UNHEARD_MS = 20_000

interface Pair {
  near: Socket
  far: Socket | null
  silent: boolean
}

function carry(pair: Pair, from: Socket, to: Socket, passed: (chunk: Buffer) => void): void {
  from.on('data', (chunk: Buffer) => {
    if (pair.silent || to.destroyed) return
    passed(chunk)
    if (to.write(chunk)) return
    from.pause()
    to.once('drain', () => from.resume())
  })
  from.on('error', () => undefined)
}

function join(pair: Pair, near: Socket, far: Socket, asked: (chunk: Buffer) => void): void {
  carry(pair, near, far, asked)
  carry(pair, far, near, () => undefined)
  far.on('close', () => {
    if (!pair.silent) near.destroy()
  })
  near.on('close', () => {
    if (pair.silent) setTimeout(() => far.destroy(), UNHEARD_MS).unref()
    else far.destroy()
  })
}

export async function startProxy(first: Target, port = 0, host = '127.0.0.1'): Promise<Proxy> {
  const pairs = new Set<Pair>()
  let mode: 'open' | 'silent' | 'cut' = 'open'
  let last: string | null = null
  let target = first
  const listen = (pair: Pair, chunk: Buffer): void => {
    if (last === null || !chunk.includes(last)) return
    last = null
    setImmediate(() => (pair.silent = true))
  }
  const server = createServer({ noDelay: true }, (near) => {
    near.on('error', () => undefined)
    if (mode === 'cut') {
      near.resetAndDestroy()
      return
    }
    const pair: Pair = { near, far: null, silent: mode === 'silent' }
    pairs.add(pair)
    near.on('close', () => pairs.delete(pair))
    if (pair.silent) near.resume()
    else {
      pair.far = connect({ ...target, noDelay: true })
      join(pair, near, pair.far, (chunk) => listen(pair, chunk))
    }
  })
  await new Promise<void>((resolve) => server.listen(port, host, resolve))
  const freeze = (): void => {
    for (const pair of pairs) pair.silent = true
  }
  return {
    port: (server.address() as AddressInfo).port,
    open: () => pairs.size,
    freeze,
    freezeAfter(text) {
      last = text
    },
    silence() {
      mode = 'silent'
      freeze()
    },
    cut() {
      mode = 'cut'
      for (const { near, far } of pairs) {
        near.resetAndDestroy()
        far?.destroy()
      }
    },
    mend() {
      mode = 'open'
    },
    redirect(to) {
      target = to
    },
    async close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      for (const { near, far } of pairs) {
        near.destroy()
        far?.destroy()
      }
      await closed
    },
  }
}
