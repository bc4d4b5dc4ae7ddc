/**
 * Measures the resident memory of the service: idle after its start, three seconds after the last of many trivial
 * jobs, and after a rest, in which it returns unused memory.
 */
import { atMost, type Figure } from '../figure.ts'
import { sendAll } from '../load.ts'
import {
  type Form,
  memoryOf,
  pause,
  putTrivial,
  type Running,
  TOKEN,
  TRIVIAL_ID,
  untilDrained,
  withService,
} from '../measure.ts'
import { held } from '../process-tree.ts'

const MB = 1_000_000
const AT_ONCE_MS = 3000
const REST_MS = 10_000
const READINGS = 5

export const memoryRow = {
  name: 'memory',
  async run(form: Form): Promise<Figure[]> {
    // The first start after a change of the program compiles it, which leaves 20 MB more.
    await withService({}, () => pause(REST_MS))
    return withService({}, (service) => measure(form, service))
  },
}

interface Reading {
  service: number
  children: number
}

/** Reads the memory of the service's own process and, apart, of the analysis processes that it keeps warm. */
async function readings({ pid }: Running, after: number): Promise<Reading[]> {
  await pause(after)
  const taken: Reading[] = []
  for (let reading = 0; reading < READINGS; reading += 1) {
    const [whole, own] = [held(pid), held(pid, false)]
    taken.push({ service: memoryOf(pid, 'VmRSS') / MB, children: (whole - own) / MB })
    await pause(500)
  }
  return taken
}

async function runJobs(service: Running, count: number): Promise<void> {
  const body = JSON.stringify({ payload: { type: 'template', template_id: TRIVIAL_ID } })
  const options = { url: service.url, connections: 8, headers: { authorization: `Bearer ${TOKEN}` } }
  for (let done = 0; done < count; done += 1000) {
    const ids: string[] = []
    let left = Math.min(1000, count - done)
    await sendAll({
      ...options,
      next: () => (left-- > 0 ? { method: 'POST', path: '/v1alpha/jobs/', body } : null),
      onBody: (text) => ids.push(JSON.parse(text) as string),
    })
    const runs = ids.map((assignment_id) => ({
      method: 'POST' as const,
      path: '/v1alpha/jobs/run',
      body: JSON.stringify({ payload: { type: 'assignment', assignment_id } }),
    }))
    await sendAll({ ...options, next: () => runs.pop() ?? null })
    await untilDrained(service, 100)
  }
}

function figureOf(work: string, taken: Reading[], note: string): Figure {
  return {
    work,
    beside: '',
    aim: atMost(150, 'MB'),
    compare: 'value',
    unit: 'MB',
    turns: taken.map((one) => ({ ours: one.service, theirs: one.children })),
    note,
  }
}

async function measure({ short }: Form, service: Running): Promise<Figure[]> {
  const counts = short ? [1000, 10_000] : [10_000, 25_000, 50_000, 75_000, 100_000]
  await putTrivial(service)
  const warm = (taken: Reading[]): string =>
    `its warm analysis processes together: ${taken.at(-1)!.children.toFixed(0)} MB`
  const idle = await readings(service, REST_MS)
  const figures = [figureOf('memory of the service process, idle', idle, warm(idle))]
  let done = 0
  for (const count of counts) {
    await runJobs(service, count - done)
    done = count
    const jobs = `${count.toLocaleString('en-US')} jobs`
    const atOnce = await readings(service, AT_ONCE_MS)
    const most = `at its most ${(memoryOf(service.pid, 'VmHWM') / MB).toFixed(0)} MB`
    figures.push(figureOf(`the same three seconds after ${jobs}`, atOnce, most))
    const rested = await readings(service, REST_MS)
    figures.push(figureOf(`the same at rest after ${jobs}`, rested, warm(rested)))
  }
  return figures
}
