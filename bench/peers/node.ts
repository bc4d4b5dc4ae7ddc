/**
 * Runs a worker node that claims and settles empty jobs, 20 at a time, until none are left. It answers with their
 * number.
 */
import { systemClock } from '@assay/model/clock'
import { openStore } from '@assay/store/open'

const [url, node_id] = process.argv.slice(2) as [string, string]
const store = await openStore({ url, home: '', clock: systemClock, publicUrl: null })
await store.registerNode({ node_id, name: node_id, roles: ['worker'], version: '0', lease_ms: 600_000 })

async function drain(): Promise<number> {
  let done = 0
  let held = await store.claimJobs({ node_id, limit: 20 })
  while (held.length > 0) {
    const error = { code: 'analysis_failed' as const, detail: 'bench' }
    const settled = held.map(({ job: { assignment_id, attempt } }) =>
      store.failJob({ assignment_id, attempt, node_id, error, ran_ms: 0 }),
    )
    done += held.length
    held = await store.claimJobs({ node_id, limit: 20 })
    await Promise.all(settled)
  }
  return done
}

process.on('message', () => {
  void (async () => process.send!(await drain()))()
})
process.on('disconnect', () => process.exit())
process.send!('ready')
