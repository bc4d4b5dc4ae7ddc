/**
 * The process that crash.test.ts kills. It opens the store in the given home, says so, and writes jobs as fast as it
 * can. It names each job on a line of its own once the store has acknowledged it.
 */
import { writeSync } from 'node:fs'
import { systemClock } from '@assay/model/clock'
import { jobInput } from '../../conformance/given.ts'
import { openStore } from '../../open.ts'

const [home] = process.argv.slice(2)
const store = await openStore({ url: '', home: home!, clock: systemClock, publicUrl: null })
writeSync(1, 'open\n')

async function writer(): Promise<void> {
  for (;;) {
    const job = await store.createJob(jobInput())
    writeSync(1, `created ${job.assignment_id}\n`)
    await store.queueJob(job)
    writeSync(1, `queued ${job.assignment_id}\n`)
  }
}

try {
  await Promise.all(Array.from({ length: 8 }, writer))
} catch (error) {
  writeSync(1, `refused ${(error as { code: string }).code}\n`)
  const { items } = await store.listJobs({ workspace_id: 'default', limit: 1 })
  writeSync(1, `read ${items.length}\n`)
  await store.close()
}
