/** For tests: a station whose dispatcher knows the kinds of subscription, and jobs that end as the test decides. */

import { systemClock } from '@assay/model/clock'
import { uuidv7 } from '@assay/model/ids'
import type { Findings } from '@assay/model/insight'
import type { JobError } from '@assay/model/job'
import { type Target, targetContext } from '@assay/model/subscription'
import { DEFAULT_WORKSPACE } from '@assay/model/token'
import type { Webhook } from '@assay/model/webhook'
import { parseTargets } from '@assay/net/target'
import type { NewJob, NewWebhook } from '@assay/store/store'
import { renderTask } from '../../../engine/run/child/render.ts'
import { findings, jobInput } from '../../../store/conformance/given.ts'
import { silentLog } from '../../runtime/log.ts'
import { type Station, type StationOptions, startStation } from '../dispatcher-fixture.ts'
import { createSenders, type SenderOptions } from './senders.ts'

export const PUBLIC_URL = 'https://assay.example'

/** A PNG of one white dot. */
export const DOT =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4////fwAJ+wP9KobjigAAAABJRU5ErkJggg=='

export interface People extends Station {
  subscribe(kind: 'email' | 'slack', target: Partial<Target>, over?: Partial<NewWebhook>): Promise<Webhook>
  /** Ends a job with the given findings or error. Resolves with the id of its insight, if it has one. */
  finish(end: Partial<Findings> | JobError, over?: Partial<NewJob>): Promise<string | null>
  /** Resolves with the newest delivery to the webhook, once it has `attempts` attempts. */
  told(webhook: Webhook, attempts?: number): ReturnType<Station['attempted']>
}

export async function startPeople(
  options: Partial<SenderOptions> = {},
  station: StationOptions = {},
): Promise<People> {
  const { clock = systemClock } = station
  const started = await startStation({
    ...station,
    senders:
      ({ store, box, ledger }) =>
      (guard) =>
        createSenders(
          {
            store,
            box,
            ledger,
            clock,
            publicUrl: PUBLIC_URL,
            server: null,
            from: { name: 'Assay', address: 'assay@reports.example' },
            draw: async ({ specs }) => specs.map(() => DOT),
            render: async (task) => renderTask(task),
            log: silentLog,
            targets: parseTargets(['loopback']),
            version: '1.2.3',
            ...options,
          },
          guard,
        ),
  })
  const { store, box, node_id } = started
  /** Every job notifies every subscription of the station. */
  const notify: string[] = []
  return {
    ...started,
    subscribe(kind, target, over = {}) {
      const webhook_id = uuidv7()
      notify.push(webhook_id)
      const whole: Target = {
        to: [],
        url: null,
        link_expires_in: 3600,
        subject: 'title',
        attach: null,
        ...target,
      }
      return store.createWebhook({
        webhook_id,
        workspace_id: DEFAULT_WORKSPACE,
        kind,
        target: box.seal(JSON.stringify(whole), targetContext(webhook_id)),
        url: kind,
        headers: [],
        user_id: 'ada',
        presence_name: 'default',
        events: null,
        description: null,
        signature: 'v1',
        secrets: [],
        public_key: null,
        retry_schedule: null,
        max_in_flight: null,
        rate_per_second: null,
        ...over,
      })
    },
    async finish(end, over = {}) {
      await store.queueJob(await store.createJob(jobInput({ notify, ...over })))
      const [claimed] = await store.claimJobs({ node_id, limit: 1 })
      const { assignment_id, attempt } = claimed!.job
      const lease = { assignment_id, attempt, node_id }
      await store.startJob(lease)
      if ('code' in end) {
        await store.failJob({ ...lease, error: end })
        return null
      }
      const insight_id = uuidv7()
      await store.completeJob({ ...lease, insight_id, findings: findings(end) })
      return insight_id
    },
    async told({ webhook_id }, attempts = 1) {
      for (;;) {
        const { items } = await store.listDeliveries({
          workspace_id: DEFAULT_WORKSPACE,
          webhook_id,
          limit: 1,
        })
        if (items[0]) return started.attempted(items[0].delivery_id, attempts)
        await clock.sleep(10)
      }
    },
  }
}
