/**
 * Measures how latency grows with load. Trivial jobs arrive at a constant rate, whatever the service does (an open
 * loop). A latency counts from the intended arrival of the job, so that a stall counts for all jobs that arrive
 * during it.
 */
import { type Figure, median, percentile } from '../figure.ts'
import {
  type Form,
  pause,
  putTrivial,
  type Running,
  TRIVIAL_ID,
  untilDrained,
  withService,
} from '../measure.ts'

const SHARES = [0.1, 0.5, 0.8, 0.95]
const WINDOWS = 5
/** The multiple of the rate of a burst that the service cannot sustain. */
const OVERLOAD = 1.3

export const scalingRow = {
  name: 'scaling',
  run: (form: Form): Promise<Figure[]> => withService({}, (service) => measure(form, service)),
}

/**
 * Returns the jobs a second of a burst: jobs are created by sixteen clients at full speed, then worked off while no
 * more arrive. The service cannot sustain this rate, since requests and jobs share the cores only at the beginning of a
 * burst.
 */
async function burst(service: Running, count: number): Promise<number> {
  const { jobs } = service.client
  const began = performance.now()
  let left = count
  const one = async (): Promise<void> => {
    while (left > 0) {
      left -= 1
      await jobs.run(await jobs.create({ template_id: TRIVIAL_ID }))
    }
  }
  await Promise.all(Array.from({ length: 16 }, one))
  await untilDrained(service)
  return (count * 1000) / (performance.now() - began)
}

interface Arrival {
  meant: number
  id: Promise<string>
}

interface Ended {
  meant: number
  ended: number
}

/** Returns the intended arrival and the end of each job, in milliseconds since 1970, in the order of arrival. */
async function openLoop(service: Running, rate: number, seconds: number): Promise<Ended[]> {
  const { jobs } = service.client
  const start = Date.now()
  const arrivals: Arrival[] = []
  const total = Math.max(WINDOWS * 4, Math.round(rate * seconds))
  const create = async (): Promise<string> => {
    const id = await jobs.create({ template_id: TRIVIAL_ID })
    await jobs.run(id)
    return id
  }
  while (arrivals.length < total) {
    const due = start + (arrivals.length * 1000) / rate
    const wait = due - Date.now()
    if (wait > 0) await pause(wait)
    arrivals.push({ meant: due, id: create() })
  }
  const ids = await Promise.all(arrivals.map(({ id }) => id))
  await untilDrained(service)
  const all: Ended[] = []
  for (const [index, { meant }] of arrivals.entries()) {
    const { finished_at, job_status } = await jobs.status(ids[index]!)
    if (job_status !== 'completed') throw new Error(`A job ended as ${job_status}.`)
    all.push({ meant, ended: Date.parse(finished_at!) })
  }
  return all
}

/**
 * Resolves with the jobs that end a second, in each of `WINDOWS` stretches, while more arrive than can be worked off.
 */
async function saturation(service: Running, rate: number, seconds: number): Promise<number[]> {
  const jobs = await openLoop(service, rate, seconds)
  const [start, stretch] = [jobs[0]!.meant, (seconds * 1000) / WINDOWS]
  return Array.from({ length: WINDOWS }, (_, index) => {
    const from = start + index * stretch
    const ended = jobs.filter((job) => job.ended >= from && job.ended < from + stretch)
    return (ended.length * 1000) / stretch
  })
}

function figureOf(share: number, rate: number, latencies: number[]): Figure {
  const size = Math.ceil(latencies.length / WINDOWS)
  const windows = Array.from({ length: WINDOWS }, (_, index) =>
    latencies.slice(index * size, (index + 1) * size),
  )
  const [high, higher] = [percentile(latencies, 0.95), percentile(latencies, 0.99)]
  const text = `${latencies.length} jobs; 50 % within ${median(latencies).toFixed(0)} ms, 95 % within ${high.toFixed(0)} ms, 99 % within ${higher.toFixed(0)} ms`
  return {
    work: `created to completed at ${Math.round(share * 100)} % of saturation (${rate.toFixed(1)} jobs/s), open loop`,
    beside: '',
    aim: null,
    compare: 'value',
    unit: 'ms',
    turns: windows.filter((one) => one.length > 0).map((window) => ({ ours: median(window), theirs: 0 })),
    note: `medians of ${WINDOWS} stretches; ${text}`,
  }
}

async function measure({ short }: Form, service: Running): Promise<Figure[]> {
  await putTrivial(service)
  const seconds = short ? 10 : 30
  await burst(service, 100)
  const bursts: number[] = []
  for (let turn = 0; turn < WINDOWS; turn += 1) bursts.push(await burst(service, short ? 150 : 500))
  const rates = await saturation(service, OVERLOAD * median(bursts), seconds)
  const figures: Figure[] = [
    {
      work: 'saturation: trivial jobs completed a second while more arrive',
      beside: '',
      aim: null,
      compare: 'value',
      unit: 'jobs/s',
      turns: rates.map((ours) => ({ ours, theirs: 0 })),
      note: `a burst that nobody adds to is worked off at ${median(bursts).toFixed(0)} jobs/s`,
    },
  ]
  for (const share of SHARES) {
    const rate = share * median(rates)
    const jobs = await openLoop(service, rate, seconds)
    const latencies = jobs.map(({ meant, ended }) => ended - meant)
    figures.push(figureOf(share, rate, latencies))
  }
  return figures
}
