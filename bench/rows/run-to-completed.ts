/**
 * Measures one trivial job at a time, from the request to run it until its client knows that it is completed, beside
 * DuckDB alone.
 */
import { atMost, type Figure, median, percentile } from '../figure.ts'
import {
  type Form,
  inTurns,
  milliseconds,
  putTrivial,
  type Running,
  startPeer,
  TRIVIAL_ID,
  TRIVIAL_SQL,
  withService,
} from '../measure.ts'
import type { DuckDbAnswer } from '../peers/duckdb.ts'

export const runToCompletedRow = {
  name: 'run-to-completed',
  run: (form: Form): Promise<Figure[]> => withService({}, (service) => measure(form, service)),
}

export async function oneJob({ client }: Running): Promise<number> {
  const id = await client.jobs.create({ template_id: TRIVIAL_ID })
  return milliseconds(async () => {
    await client.jobs.run(id)
    const { job_status } = await client.jobs.status(id, { wait: 60 })
    if (job_status !== 'completed') throw new Error(`A trivial job ended as ${job_status}.`)
  })
}

async function measure({ turns, short }: Form, service: Running): Promise<Figure[]> {
  const jobs = short ? 20 : 100
  await putTrivial(service)
  const duckdb = await startPeer('duckdb.ts')
  const all: number[] = []
  const ours = async (): Promise<number> => {
    const times: number[] = []
    for (let job = 0; job < jobs; job += 1) times.push(await oneJob(service))
    all.push(...times)
    return median(times)
  }
  const theirs = async (): Promise<number> => {
    const times: number[] = []
    const ask = { sql: [TRIVIAL_SQL], threads: 1, memory: '512MB', times: 1 }
    for (let job = 0; job < jobs; job += 1)
      times.push(await milliseconds(() => duckdb.ask<DuckDbAnswer>(ask)))
    return median(times)
  }
  try {
    const done = await inTurns(turns, ours, theirs)
    return [
      {
        work: 'run to completed, trivial template, one at a time',
        beside: 'DuckDB alone in a warm process (open, query, close)',
        aim: atMost(15, 'ms more'),
        compare: 'difference',
        unit: 'ms',
        turns: done,
        note: `medians of ${jobs} jobs; over all of ours the 99th percentile is ${percentile(all, 0.99).toFixed(0)} ms`,
      },
    ]
  } finally {
    await duckdb.stop()
  }
}
