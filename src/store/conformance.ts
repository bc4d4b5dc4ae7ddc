/**
 * The promises of store.ts as tests, which every store runs whole. A store brings `open`: a fresh one for each test,
 * and a way to let time pass (SQLite turns its clock; PostgreSQL, whose time is the database's, shifts what is stored).
 */
import { suite, test } from 'node:test'
import { accountTests } from './conformance/accounts.ts'
import { allowanceTests } from './conformance/allowances.ts'
import { auditTests } from './conformance/audit.ts'
import { batchTests } from './conformance/batches.ts'
import { capTests } from './conformance/caps.ts'
import { claimTests, nodeTests } from './conformance/claims.ts'
import { connectionTests } from './conformance/connections.ts'
import { deliveryTests } from './conformance/deliveries.ts'
import { erasureTests } from './conformance/erasure.ts'
import type { Harness } from './conformance/given.ts'
import { jobTests } from './conformance/jobs.ts'
import { linkTests } from './conformance/links.ts'
import { listTests } from './conformance/lists.ts'
import { narrativeTests } from './conformance/narratives.ts'
import { idempotencyTests, recoveryTests, retentionTests } from './conformance/recoveries.ts'
import { scheduleTests } from './conformance/schedules.ts'
import { settleTests } from './conformance/settles.ts'
import { subscriptionTests } from './conformance/subscriptions.ts'
import { webhookTests } from './conformance/webhooks.ts'

export type { Harness } from './conformance/given.ts'

const PARTS = {
  accounts: accountTests,
  connections: connectionTests,
  jobs: jobTests,
  allowances: allowanceTests,
  caps: capTests,
  claims: claimTests,
  settles: settleTests,
  batches: batchTests,
  schedules: scheduleTests,
  nodes: nodeTests,
  links: linkTests,
  lists: listTests,
  narratives: narrativeTests,
  'webhooks and events': webhookTests,
  subscriptions: subscriptionTests,
  deliveries: deliveryTests,
  'recovery and statistics': recoveryTests,
  idempotency: idempotencyTests,
  retention: retentionTests,
  'audit trail': auditTests,
  erasing: erasureTests,
}

export function conformance(name: string, open: () => Promise<Harness>): void {
  for (const [part, tests] of Object.entries(PARTS))
    suite(`${name}: ${part}`, () => {
      for (const [title, run] of Object.entries(tests))
        test(title, async () => {
          const harness = await open()
          try {
            await run(harness)
          } finally {
            await harness.close()
          }
        })
    })
}
