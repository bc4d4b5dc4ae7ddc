/**
 * The promises of store.ts as tests. Every store runs all of them. A store brings `open`, which gives a fresh store
 * for each test and a way to let time pass: SQLite advances its clock; PostgreSQL, whose time is the database's,
 * shifts the stored times.
 */
import { suite, test } from 'node:test'
import { accountTests } from './accounts.ts'
import { allowanceTests } from './allowances.ts'
import { auditTests } from './audit.ts'
import { batchTests } from './batches.ts'
import { capTests } from './caps.ts'
import { claimTests, nodeTests } from './claims.ts'
import { collectionTests } from './collections.ts'
import { connectionTests } from './connections.ts'
import { deliveryTests } from './deliveries.ts'
import { erasureTests } from './erasure.ts'
import { expectedTests } from './expected.ts'
import { fileDialectTests } from './file-dialects.ts'
import type { Harness } from './given.ts'
import { insightCardTests } from './insight-cards.ts'
import { jobTests } from './jobs.ts'
import { keptDayTests } from './kept-days.ts'
import { keptDraftTests } from './kept-drafts.ts'
import { linkTests } from './links.ts'
import { listTests } from './lists.ts'
import { narrativeTests } from './narratives.ts'
import { outgoingTests } from './outgoing.ts'
import { readerTests } from './readers.ts'
import { idempotencyTests, recoveryTests, retentionTests } from './recoveries.ts'
import { repositoryTests } from './repositories.ts'
import { rowCapTests } from './row-caps.ts'
import { scheduleTests } from './schedules.ts'
import { sealedTests } from './sealed.ts'
import { settleTests } from './settles.ts'
import { signInTests } from './sign-ins.ts'
import { subscriptionTests } from './subscriptions.ts'
import { webhookTests } from './webhooks.ts'

export type { Harness } from './given.ts'

const PARTS = {
  accounts: accountTests,
  'sign-ins': signInTests,
  connections: connectionTests,
  readers: readerTests,
  jobs: jobTests,
  allowances: allowanceTests,
  caps: capTests,
  'rows of a workspace': rowCapTests,
  claims: claimTests,
  settles: settleTests,
  batches: batchTests,
  schedules: scheduleTests,
  nodes: nodeTests,
  insights: insightCardTests,
  collections: collectionTests,
  'expected tags': expectedTests,
  links: linkTests,
  lists: listTests,
  'kept days': keptDayTests,
  narratives: narrativeTests,
  'file dialects': fileDialectTests,
  'kept drafts': keptDraftTests,
  outgoing: outgoingTests,
  repositories: repositoryTests,
  'sealed texts': sealedTests,
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
