/** Measures the time from an event's commit to its webhook's arrival in an idle service, beside one loopback POST. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Pool } from 'undici'
import { type Figure, median, percentile } from '../figure.ts'
import {
  type Form,
  inTurns,
  milliseconds,
  pause,
  putTrivial,
  type Running,
  TRIVIAL_ID,
  withService,
} from '../measure.ts'

export const latencyRow = {
  name: 'latency',
  run: (form: Form): Promise<Figure[]> =>
    withService({ ASSAY_WEBHOOK_TARGETS: 'loopback' }, (service) => measure(form, service)),
}

interface Listener {
  url: string
  /** Resolves with the next arrival: its time in milliseconds since 1970, and the body. */
  next(): Promise<{ at: number; body: string }>
  close(): void
}

async function listen(): Promise<Listener> {
  let give: (arrival: { at: number; body: string }) => void = () => undefined
  const server = createServer((request, response) => {
    const at = Date.now()
    let body = ''
    request.setEncoding('utf8').on('data', (text: string) => {
      body += text
    })
    request.on('end', () => {
      response.writeHead(204).end()
      give({ at, body })
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    next: () =>
      new Promise((resolve) => {
        give = resolve
      }),
    close: () => {
      server.close()
      server.closeAllConnections()
    },
  }
}

/**
 * Runs one job. Resolves with the milliseconds from its event, whose time is taken in the transaction that completes
 * the job, before its fsync.
 */
async function oneEvent({ client }: Running, listener: Listener): Promise<number> {
  await pause(30)
  const id = await client.jobs.create({ template_id: TRIVIAL_ID })
  const arrival = listener.next()
  await client.jobs.run(id)
  const { at, body } = await arrival
  return at - Date.parse((JSON.parse(body) as { timestamp: string }).timestamp)
}

async function measure({ turns, short }: Form, service: Running): Promise<Figure[]> {
  const events = short ? 20 : 100
  await putTrivial(service)
  const listener = await listen()
  const pool = new Pool(new URL(listener.url).origin)
  const webhook = {
    url: listener.url,
    user_id: 'bench',
    presence_name: 'bench',
    events: ['job.completed' as const],
  }
  await service.client.webhooks.create(webhook)
  const all: number[] = []
  const ours = async (): Promise<number> => {
    const times: number[] = []
    for (let event = 0; event < events; event += 1) times.push(await oneEvent(service, listener))
    all.push(...times)
    return median(times)
  }
  const body = JSON.stringify({
    type: 'job.completed',
    timestamp: new Date().toISOString(),
    data: { x: 'x'.repeat(300) },
  })
  const post = async (): Promise<void> => {
    const answer = await pool.request({ method: 'POST', path: '/', body })
    await answer.body.dump()
  }
  const theirs = async (): Promise<number> => {
    const times: number[] = []
    for (let event = 0; event < events; event += 1) {
      await pause(30)
      times.push(await milliseconds(post))
    }
    return median(times)
  }
  try {
    const done = await inTurns(turns, ours, theirs)
    const high = percentile(all, 0.99)
    return [
      {
        work: 'event committed to webhook received, idle, SQLite',
        beside: 'one loopback POST',
        aim: {
          text: 'median under 10 ms, 99th percentile under 30 ms',
          holds: (middle) => middle < 10 && high < 30,
        },
        compare: 'value',
        unit: 'ms',
        turns: done,
        note: `99th percentile of ${all.length} events ${high.toFixed(0)} ms; a bare loopback POST takes ${median(done.map((turn) => turn.theirs)).toFixed(1)} ms; with the commit's fsync, to the millisecond`,
      },
    ]
  } finally {
    listener.close()
    await pool.destroy()
  }
}
