/** Measures trivial jobs a second on all cores, beside the same DuckDB work in a plain loop over as many processes. */
import { availableParallelism } from 'node:os'
import { atLeast, type Figure } from '../figure.ts'
import { sendAll } from '../load.ts'
import {
  type Form,
  inTurns,
  putTrivial,
  type Running,
  startPeer,
  TOKEN,
  TRIVIAL_ID,
  TRIVIAL_SQL,
  untilDrained,
  withService,
} from '../measure.ts'

export const jobsPerSecondRow = {
  name: 'jobs-per-second',
  run: (form: Form): Promise<Figure[]> => withService({}, (service) => measure(form, service)),
}

/** Runs `count` jobs that were created before. The time runs from the first run until no job is queued or running. */
async function runAll(service: Running, count: number): Promise<number> {
  const drafts: string[] = []
  while (drafts.length < count) {
    const some = Array.from({ length: 50 }, () => service.client.jobs.create({ template_id: TRIVIAL_ID }))
    drafts.push(...(await Promise.all(some)))
  }
  const runs = drafts.map((assignment_id) => ({
    method: 'POST' as const,
    path: '/v1alpha/jobs/run',
    body: JSON.stringify({ payload: { type: 'assignment', assignment_id } }),
  }))
  const began = performance.now()
  const headers = { authorization: `Bearer ${TOKEN}` }
  const { requests } = await sendAll({
    url: service.url,
    connections: 20,
    headers,
    next: () => runs.pop() ?? null,
  })
  await untilDrained(service)
  return (requests * 1000) / (performance.now() - began)
}

async function measure({ turns, short }: Form, service: Running): Promise<Figure[]> {
  const count = short ? 200 : 1000
  await putTrivial(service)
  const cores = availableParallelism()
  const peers = await Promise.all(Array.from({ length: cores }, () => startPeer('duckdb.ts')))
  const times = Math.ceil(count / cores)
  const theirs = async (): Promise<number> => {
    const began = performance.now()
    const ask = { sql: [TRIVIAL_SQL], threads: 1, memory: '512MB', times }
    await Promise.all(peers.map((peer) => peer.ask(ask)))
    return (times * cores * 1000) / (performance.now() - began)
  }
  try {
    return [
      {
        work: 'jobs a second, trivial template, all cores',
        beside: `the same DuckDB work in a plain loop, ${cores} processes`,
        aim: atLeast(0.8),
        compare: 'ratio',
        unit: 'jobs/s',
        turns: await inTurns(turns, () => runAll(service, count), theirs),
        note: 'ours with the HTTP requests that run them, and all commits',
      },
    ]
  } finally {
    await Promise.all(peers.map((peer) => peer.stop()))
  }
}
