/** Finds present failures of schedules, webhooks, subscriptions, data and the disk, each with its remedy. */
import type { ConnectionTest, InsightCard, QueueView, SubscriptionView, WebhookView } from '@assay/client'
import type { ScheduleView } from '@assay/model/schedule'
import { useQuery } from '@tanstack/react-query'
import type { LinkProps } from '@tanstack/react-router'
import { api, useMay, useMe } from './api.ts'
import { FAILURES } from './names.ts'
import { targetOf } from './receivers.ts'
import { ago, size } from './words/durations.ts'
import { reasonWords } from './words/why.ts'

const REFRESH_MS = 60_000
/** The number of newest objects of each kind that are examined. */
const MOST = 200
/** The least free share of a disk that is no trouble. */
const FREE_LEAST = 0.05

export interface Trouble {
  kind: 'Schedule' | 'Webhook' | 'Subscription' | 'Data' | 'Connection' | 'Disk' | 'Key'
  id: string
  name: string
  /** The failure, in a sentence or two. */
  says: string
  /** The one action that mends it. */
  action: string
  at: LinkProps
}

export function scheduleTrouble(schedule: ScheduleView): Trouble | null {
  const { schedule_id, name, failing, last_error, last_run, paused } = schedule
  const own = { kind: 'Schedule', id: schedule_id, name } as const
  if (paused) return null
  if (last_error !== null && (last_run === null || last_run.created_at < last_error.at))
    return {
      ...own,
      says: `No job could be made at its last due time: ${last_error.detail}`,
      action: 'Change the schedule',
      at: { to: '/schedules/$schedule_id/edit', params: { schedule_id } },
    }
  if (!failing) return null
  const { runs, error, assignment_id } = failing
  const count =
    runs === 1 ? 'Its last run failed' : `Its last ${runs === 20 ? '20 or more' : runs} runs failed`
  return {
    ...own,
    says: `${count}. ${(FAILURES as Record<string, string>)[error.code] ?? error.code}: ${error.detail}`,
    action: 'See why the last one failed',
    at: { to: '/jobs/$assignment_id', params: { assignment_id } },
  }
}

type Health = Pick<WebhookView, 'status' | 'disabled_reason' | 'failing_since' | 'failing_reason' | 'breaker'>

/** Returns when sending resumes, in words; empty while the breaker is closed. */
export function breakerWords({ breaker }: Pick<Health, 'breaker'>, now = Date.now()): string {
  if (breaker.state === 'open' && breaker.until !== null)
    return `After ${breaker.failures} failed attempts in a row sending pauses: the next try is ${ago(breaker.until, now)}.`
  if (breaker.state === 'half_open')
    return `After ${breaker.failures} failed attempts in a row one try is made now.`
  return ''
}

function receiverSays(health: Health): { says: string; action: string } | null {
  const { status, disabled_reason, failing_since, failing_reason } = health
  const last = failing_reason ? ` The last error: ${reasonWords(failing_reason)}` : ''
  if (status === 'disabled' && (disabled_reason !== null || failing_since !== null))
    return {
      says: `It is disabled: ${disabled_reason ?? 'its attempts failed'}.${last}`,
      action: 'Enable it',
    }
  if (status === 'disabled' || failing_since === null) return null
  const says = `Every attempt fails; the first did ${ago(failing_since)}.${last} ${breakerWords(health)}`
  return { says: says.trim(), action: 'See the attempts' }
}

export function webhookTrouble(webhook: WebhookView): Trouble | null {
  const told = receiverSays(webhook)
  const { webhook_id, url, description } = webhook
  const at = { to: '/webhooks/$webhook_id', params: { webhook_id } } satisfies LinkProps
  return told && { kind: 'Webhook', id: webhook_id, name: description ?? url, ...told, at }
}

function subscriptionTrouble(subscription: SubscriptionView): Trouble | null {
  const told = receiverSays(subscription)
  const { subscription_id, description } = subscription
  const name = description ?? targetOf(subscription)
  const at = { to: '/subscriptions/$subscription_id', params: { subscription_id } } satisfies LinkProps
  return told && { kind: 'Subscription', id: subscription_id, name, ...told, at }
}

type Doubtful = Pick<InsightCard, 'title' | 'failed_tests'>

/**
 * Returns a trouble for each metric whose rows are late or break its rules, as found by the newest runs of the reports
 * that read it.
 */
export function dataTroubles(cards: readonly Doubtful[]): Trouble[] {
  const found = cards.flatMap(({ title, failed_tests }) =>
    (failed_tests ?? []).map((test) => ({ ...test, title })),
  )
  return [...Map.groupBy(found, ({ metric }) => metric)].map(([metric, tests]) => {
    const { label, late, says } = tests[0]!
    const titles = [...new Set(tests.map(({ title }) => `“${title}”`))]
    const read =
      titles.length > 2 ? `${titles[0]} and ${titles.length - 1} more reports` : titles.join(' and ')
    return {
      kind: 'Data',
      id: `data ${metric}`,
      name: label,
      says: `${says} ${read} found this. Mend the rows, then run ${titles.length === 1 ? 'it' : 'them'} again.`,
      action: late ? 'Bring newer rows' : 'Mend the rows',
      at: { to: '/metric/$metric_id', params: { metric_id: metric } },
    }
  })
}

export function diskTrouble(disk: { free_bytes: number; total_bytes: number } | null): Trouble | null {
  if (disk === null || disk.free_bytes >= disk.total_bytes * FREE_LEAST) return null
  return {
    kind: 'Disk',
    id: 'disk',
    name: 'The disk of the service',
    says: `Only ${size(disk.free_bytes)} of ${size(disk.total_bytes)} are free. With a full disk nothing can be written.`,
    action: 'See how long results are kept',
    at: { to: '/system/settings' },
  }
}

/** Returns the trouble of a missing key of the secrets, with what it has sealed. */
export function secretTroubles({ missing_key, lost }: QueueView['secrets']): Trouble[] {
  const settings = { to: '/system/settings' } as const
  const key: Trouble[] =
    missing_key === null
      ? []
      : [
          {
            kind: 'Key',
            id: 'key',
            name: 'The key of the secrets',
            says: `Jobs and deliveries wait. ${missing_key}`,
            action: 'See the settings',
            at: settings,
          },
        ]
  return [...key, ...lost.map(lostTrouble)]
}

function lostTrouble({ kind, workspace_id, id, what }: QueueView['secrets']['lost'][number]): Trouble {
  const where = workspace_id === 'default' ? '' : ` It belongs to the workspace ${workspace_id}.`
  const told = {
    id: `lost ${workspace_id} ${id}`,
    name: id,
    says: `The key that sealed ${what.join(', ')} is gone: enter it again.${where}`,
    action: 'Enter it again',
  }
  if (kind === 'connection')
    return { ...told, kind: 'Connection', at: { to: '/system/connections/$name', params: { name: id } } }
  if (kind === 'webhook')
    return { ...told, kind: 'Webhook', at: { to: '/webhooks/$webhook_id', params: { webhook_id: id } } }
  return {
    ...told,
    kind: 'Subscription',
    at: { to: '/subscriptions/$subscription_id', params: { subscription_id: id } },
  }
}

/** Returns the trouble that a test of a connection found; null if it can be used. */
export function connectionTrouble(
  name: string,
  { ok, detail }: Pick<ConnectionTest, 'ok' | 'detail'>,
): Trouble | null {
  if (ok) return null
  return {
    kind: 'Connection',
    id: `connection ${name}`,
    name,
    says: detail ?? 'It cannot be used.',
    action: 'Change the connection',
    at: { to: '/system/connections/$name', params: { name } },
  }
}

/** Tries the first connections by name, one after the other, because each try takes a process of the service. */
export async function tryConnections(): Promise<{ tried: number; troubles: Trouble[] }> {
  const { items } = await api().connections.list({ limit: MOST })
  const troubles: Trouble[] = []
  for (const { name } of items) {
    const trouble = connectionTrouble(name, await api().connections.test(name))
    if (trouble) troubles.push(trouble)
  }
  return { tried: items.length, troubles }
}

async function look(operator: boolean): Promise<Trouble[]> {
  const [schedules, webhooks, subscriptions, doubtful, queue] = await Promise.all([
    api().schedules.list({ limit: MOST }),
    api().webhooks.list({ limit: MOST }),
    api().subscriptions.list({ limit: MOST }),
    api().insights.list({ tests: 'failed', limit: MOST }),
    operator ? api().queue() : null,
  ])
  const found = [
    diskTrouble(queue?.disk ?? null),
    ...(queue ? secretTroubles(queue.secrets) : []),
    ...schedules.items.map(scheduleTrouble),
    ...webhooks.items.map(webhookTrouble),
    ...subscriptions.items.map(subscriptionTrouble),
    ...dataTroubles(doubtful.items),
  ]
  return found.filter((trouble) => trouble !== null)
}

/** Returns the troubles, fetched once a minute. Viewers are not shown them. */
export function useTroubles() {
  const me = useMe().data
  const analyst = useMay('analyst')
  const admin = useMay('admin')
  const operator = admin && me?.workspace_id === 'default'
  return useQuery({
    queryKey: ['troubles', operator],
    queryFn: () => look(operator),
    enabled: analyst,
    refetchInterval: REFRESH_MS,
    staleTime: REFRESH_MS / 2,
  })
}
