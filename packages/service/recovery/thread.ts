/** Makes one backup in a thread of the service, so that it does not delay requests. */
import { parentPort, workerData } from 'node:worker_threads'
import { openLocation } from './locations.ts'
import type { ThreadInput, ThreadOutput } from './schedule.ts'
import { makeBackup } from './write.ts'

const { config, location: at, keys, now, recipient } = workerData as ThreadInput
const location = openLocation(at, keys)
let output: ThreadOutput
try {
  const { name, manifest } = await makeBackup({
    config: { ...config, secretKey: [] },
    location,
    now: new Date(now),
    withKey: false,
    recipient: recipient && Buffer.from(recipient),
  })
  const rows = Object.values(manifest.tables).reduce((sum, table) => sum + table.rows, 0)
  output = { name, rows, uploads: manifest.uploads.files }
} catch (error) {
  output = { failed: (error as Error).message }
} finally {
  await location.close()
}
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
parentPort!.postMessage(output)
