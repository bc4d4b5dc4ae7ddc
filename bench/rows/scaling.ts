/**
 * How latency grows with load: trivial jobs at a constant rate of arrival, whatever the service does (an open loop). A
 * latency counts from the time at which the job was meant to arrive, so that a stall is paid by all who come meanwhile.
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

export const scalingRow = {
  name: 'scaling',
  run: (form: Form): Promise<Figure[]> => withService({}, (service) => measure(form, service)),
}

/** Jobs a second where as many are always waiting, with the requests that create and run them. */
async function saturation(service: Running, count: number): Promise<number> {
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

/** Milliseconds from the meant arrival to the end of each job, in the order of arrival. */
async function openLoop(service: Running, rate: number, seconds: number): Promise<number[]> {
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
  const latencies: number[] = []
  for (const [index, { meant }] of arrivals.entries()) {
    const { finished_at, job_status } = await jobs.status(ids[index]!)
    if (job_status !== 'completed') throw new Error(`A job ended as ${job_status}.`)
    latencies.push(Date.parse(finished_at!) - meant)
  }
  return latencies
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
  await saturation(service, 100)
  const rates: number[] = []
  for (let turn = 0; turn < WINDOWS; turn += 1) rates.push(await saturation(service, short ? 150 : 500))
  const figures: Figure[] = [
    {
      work: 'saturation: trivial jobs created, run and completed a second',
      beside: '',
      aim: null,
      compare: 'value',
      unit: 'jobs/s',
      turns: rates.map((ours) => ({ ours, theirs: 0 })),
    },
  ]
  for (const share of SHARES) {
    const rate = share * median(rates)
    figures.push(figureOf(share, rate, await openLoop(service, rate, short ? 10 : 30)))
  }
  return figures
}
