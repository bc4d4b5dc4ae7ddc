/**
 * The receivers of proofs/storm.ts in a process of their own: all behind one port, each at /N. A tenth hangs and a
 * tenth answers 500 until they are told to answer well. Arrivals are verified and returned on request; arrivals at
 * /lean/N are only counted. They run apart from the sender, because a busy event loop accepts one connection in each
 * pass.
 */
import { fork } from 'node:child_process'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { verify } from '@assay/model/signature'
import { within } from '../servers/service.ts'

export type Kind = 'good' | 'hangs' | 'fails'

export function kindOf(nth: number): Kind {
  return nth % 10 === 3 ? 'hangs' : nth % 10 === 7 ? 'fails' : 'good'
}

export interface StormArrival {
  nth: number
  /** The `webhook-id`. */
  id: string
  assignment_id: string
  presence_name: string
  /** Milliseconds since 1970, with fractions. */
  at: number
  /** The reason why the signature is not valid; null if it is. */
  fault: string | null
}

export interface StormReceivers {
  port: number
  /** Sets the keys, in the order of the receivers. */
  know(secrets: string[]): void
  recover(): void
  /** Resolves with the arrivals since the last call. */
  take(): Promise<StormArrival[]>
  /** Resolves with the number of arrivals at /lean/N so far. */
  counted(): Promise<number>
  close(): Promise<void>
}

type Order = { know: string[] } | 'recover' | 'take' | 'count'

export function wallClock(): number {
  return performance.timeOrigin + performance.now()
}

export async function startStormReceivers(): Promise<StormReceivers> {
  const child = fork(import.meta.filename, ['receivers'])
  const ended = new Promise<never>((_, reject) => {
    child.once('exit', (code) => reject(new Error(`The receivers ended with ${code}.`)))
  })
  const answer = <T>(): Promise<T> =>
    within(
      Promise.race([
        new Promise<T>((resolve) => child.once('message', (message) => resolve(message as T))),
        ended,
      ]),
      'the receivers answer',
    )
  const { port } = await answer<{ port: number }>()
  const tell = (order: Order): void => void child.send(order)
  return {
    port,
    know: (secrets) => tell({ know: secrets }),
    recover: () => tell('recover'),
    take() {
      const taken = answer<StormArrival[]>()
      tell('take')
      return taken
    },
    counted() {
      const count = answer<number>()
      tell('count')
      return count
    },
    async close() {
      child.kill()
      await ended.catch(() => undefined)
    },
  }
}

function arrivalOf(nth: number, secret: string, headers: IncomingHttpHeaders, body: Buffer): StormArrival {
  const at = wallClock()
  const id = String(headers['webhook-id'])
  try {
    verify({ headers, body, secret })
    const { data } = JSON.parse(body.toString()) as { data: { assignment_id: string; presence_name: string } }
    return { nth, id, at, fault: null, assignment_id: data.assignment_id, presence_name: data.presence_name }
  } catch (error) {
    return { nth, id, at, fault: String(error), assignment_id: '', presence_name: '' }
  }
}

function serve(): void {
  const held: (() => void)[] = []
  let arrivals: StormArrival[] = []
  let secrets: string[] = []
  let bad = true
  let counted = 0
  const server = createServer((request, response) => {
    if (request.url!.startsWith('/lean/')) {
      counted += 1
      request.resume().on('end', () => response.writeHead(204).end())
      return
    }
    const nth = Number(request.url!.slice(1))
    const kind = bad ? kindOf(nth) : 'good'
    const chunks: Buffer[] = []
    const take = (): void => {
      response.writeHead(204).end()
      arrivals.push(arrivalOf(nth, secrets[nth]!, request.headers, Buffer.concat(chunks)))
    }
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      if (kind === 'good') take()
      else if (kind === 'fails') response.writeHead(500).end()
      else held.push(() => (request.socket.destroyed ? undefined : take()))
    })
  })
  process.on('message', (order: Order) => {
    if (order === 'count') process.send!(counted)
    else if (order === 'take') {
      process.send!(arrivals)
      arrivals = []
    } else if (order === 'recover') {
      bad = false
      for (const answer of held.splice(0)) answer()
    } else secrets = order.know
  })
  process.on('disconnect', () => process.exit())
  server.listen(0, '127.0.0.1', () => process.send!({ port: (server.address() as AddressInfo).port }))
}

if (process.argv[2] === 'receivers' && process.send) serve()
