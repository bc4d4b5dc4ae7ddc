/**
 * A node of the proof of schedules: the real store and the real scheduler in a process that can be killed. The parent
 * sets the clock. After each step of it the node works until nothing more is due, and reports that.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { type Clock, systemClock } from '@assay/model/clock'
import { silentLog } from '@assay/service/runtime/log'
import { createMetrics } from '@assay/service/runtime/metrics'
import { openStore } from '@assay/store/open'
import { createScheduler, type SchedulerOptions } from '../../packages/service/schedules/scheduler.ts'
import { createTemplateReader } from '../../packages/service/templates/template-reader.ts'

const {
  SIMULATED_AT: begin,
  SIMULATED_HOME: home = '',
  SIMULATED_STORE: url = '',
  SIMULATED_SCHEDULERS: schedulers,
} = process.env

let now = Number(begin)
let turned = Promise.withResolvers<void>()
/** A clock whose sleepers wake when it moves, or after a short wait, so that no loop spins. */
const clock: Clock = {
  now: () => now,
  monotonic: systemClock.monotonic,
  sleep: async () => {
    await Promise.race([turned.promise, delay(20)])
  },
}
const store = await openStore({ url, home, clock, publicUrl: null })

/** The number of claims that are not settled yet. */
const claims = { underWay: 0 }
/** The schedulers whose last claim began after the step and found nothing. */
let idle = new Set<object>()

function watched(): SchedulerOptions['store'] {
  const self = {}
  return {
    async claimSchedules(input) {
      const round = idle
      const claimed = await store.claimSchedules(input)
      claims.underWay += claimed.length
      if (claimed.length === 0) round.add(self)
      return claimed
    },
    async settleSchedule(input) {
      try {
        return await store.settleSchedule(input)
      } finally {
        claims.underWay -= 1
      }
    },
    getTemplate: store.getTemplate,
    listMetrics: store.listMetrics,
    findMetrics: store.findMetrics,
    findReaderOf: store.findReaderOf,
    readersAfter: store.readersAfter,
    findReaders: store.findReaders,
    fireSchedule: store.fireSchedule,
  }
}

async function settle(at: number): Promise<void> {
  now = at
  idle = new Set()
  turned.resolve()
  turned = Promise.withResolvers()
  while (claims.underWay > 0 || idle.size < Number(schedulers)) await delay(2)
}

/** The templates are short, so they are read without a pool. */
const noPool = (): Promise<never> => Promise.reject(new Error('There is no pool.'))
const templates = createTemplateReader({ read: noPool, convert: noPool })
for (let count = 0; count < Number(schedulers); count += 1) {
  const catalog = { get: () => null, metrics: () => [] }
  const parts = { templates, clock, log: silentLog, metrics: createMetrics(), catalog }
  void createScheduler({ ...parts, store: watched(), mailOf: async () => null }).run(
    new AbortController().signal,
  )
}
process.on('message', ({ at }: { at: number }) => void settle(at).then(() => process.send?.('idle')))
process.on('disconnect', () => process.exit())
process.send?.('ready')
