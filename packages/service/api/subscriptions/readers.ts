/** The readers of subscriptions by mail, and the agreement of the owners of their addresses. */
import { type Clock, iso } from '@assay/model/clock'
import { uuidv7 } from '@assay/model/ids'
import { dayOf, OPEN_RULES } from '@assay/model/outgoing'
import { SubscriptionView, subscriptionView, type Target } from '@assay/model/subscription'
import type { Webhook } from '@assay/model/webhook'
import type { Store } from '@assay/store/store'
import { mailDomainsOf } from '../../config/config.ts'
import { hasLeft, mustAgree, readConsents, readersOf } from '../../outgoing/consents.ts'
import { openTarget } from '../../webhooks/target.ts'
import type { Services } from '../dependencies.ts'
import { invalid } from '../http/validate.ts'

type Book = Pick<Services, 'store' | 'secrets'>
type Agreeing = Book & {
  config: Pick<Services['config'], 'publicUrl' | 'mailFrom' | 'mailDomains'>
  clock: Clock
}
const bookOf = ({ store, secrets }: Book) => ({ store, box: secrets })

/** Returns subscriptions of one workspace as the API answers them. */
export async function viewsOf(
  services: Book & { clock: Clock },
  workspace_id: string,
  webhooks: readonly Webhook[],
): Promise<SubscriptionView[]> {
  const now = services.clock.now()
  const targets = webhooks.map((webhook) => openTarget(services.secrets, webhook))
  const unsure = [...new Set(targets.flatMap(({ unconfirmed = {} }) => Object.keys(unconfirmed)))]
  const consents = await readConsents(bookOf(services), workspace_id, unsure)
  return webhooks.map((webhook, index) => {
    const target = targets[index]!
    return subscriptionView(webhook, { target, waiting: readersOf(target, consents, now).waiting }, now)
  })
}

/** Returns the domains of the workspace whose addresses need no agreement. */
async function domainsOf({ store, config, clock }: Agreeing, workspace_id: string): Promise<string[]> {
  const [found] = await store.readOutgoing({ workspace_ids: [workspace_id], day: dayOf(clock.now()) })
  return (found?.rules ?? OPEN_RULES).mail_domains ?? mailDomainsOf(config)
}

/**
 * Returns the target with a mark at each new address whose owner has to agree first. `asks`: some owners are to be
 * asked by mail. Throws a 422 if the service has no public address at which they could agree.
 */
export async function withAgreement(
  services: Agreeing,
  workspace_id: string,
  { target, before }: { target: Target; before: Target | null },
): Promise<{ target: Target; asks: boolean }> {
  const { unconfirmed: marked = {}, ...rest } = target
  const kept = Object.entries(marked).filter(([address]) => target.to.includes(address))
  const fresh = target.to.filter((address) => !before?.to.includes(address))
  const consents = await readConsents(bookOf(services), workspace_id, fresh)
  const domains = fresh.length === 0 ? [] : await domainsOf(services, workspace_id)
  const waits = fresh.filter((address) => mustAgree(address, consents.get(address)!, domains))
  const asked = waits.filter((address) => !hasLeft(consents.get(address)!))
  if (asked.length > 0 && services.config.publicUrl === null)
    throw invalid(
      asked.map((address) => ({
        path: `to.${target.to.indexOf(address)}`,
        message: `is outside the domains that get mail at once (${domains.join(', ') || 'none'}), and its owner cannot be asked without ASSAY_PUBLIC_URL: the operator can set that, or ASSAY_MAIL_DOMAINS`,
      })),
    )
  const since = iso(services.clock.now())
  const unconfirmed = Object.fromEntries([...kept, ...waits.map((address) => [address, since])])
  return {
    target: { ...rest, ...(Object.keys(unconfirmed).length === 0 ? {} : { unconfirmed }) },
    asks: asked.length > 0,
  }
}

/**
 * Asks the new readers by a delivery, so that no question is lost. Readers whom it does not reach are asked with the
 * next mail.
 */
export async function askReaders(store: Pick<Store, 'sendEvent'>, webhook: Webhook): Promise<void> {
  const { workspace_id, webhook_id } = webhook
  const ids = { event_id: uuidv7(), delivery_id: uuidv7() }
  await store.sendEvent({
    workspace_id,
    webhook_id,
    ...ids,
    type: 'subscription.confirm',
    data: { webhook_id },
  })
}
