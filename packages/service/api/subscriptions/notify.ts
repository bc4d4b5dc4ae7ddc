/** `notify`: the subscriptions that a job or a schedule tells, as a client writes them and as the store keeps them. */
import { metricsRead } from '@assay/engine/metrics/names'
import { followersOf } from '@assay/model/collection'
import type { FieldError } from '@assay/model/errors'
import { isUuid } from '@assay/model/ids'
import { nullable, Type } from '@assay/model/schema'
import { FOLLOWERS, followed, READER } from '@assay/model/subscription'
import type { TemplateSource } from '@assay/model/template'
import type { Principal } from '@assay/model/token'
import type { Webhook } from '@assay/model/webhook'
import type { Services } from '../dependencies.ts'
import { invalid } from '../http/validate.ts'

const MOST = 50
/** The word that stands for the caller's own subscriptions. */
const ME = 'me'
const WORDS: readonly string[] = [ME, FOLLOWERS, READER]

export const Notify = nullable(
  Type.Array(Type.String({ minLength: 1, maxLength: 255 }), {
    maxItems: MOST,
    description:
      'The ids of the subscriptions to tell, "me" for your own (`personal`), or "followers" for those that follow the template, a metric that the run reads, or a collection that holds the newest of these runs. Of a personal run only "reader": its reader, at the address of the reader. Absent, null or empty: no person is told, unless a subscription bears the presence_name',
  }),
)

/**
 * Returns the fault of "me" for a caller without an enabled subscription. It says where to make one, since no other
 * id would help.
 */
function ownFault(user_id: string, own: readonly Webhook[]): string | null {
  if (own.some(({ status }) => status === 'enabled')) return null
  return own[0]
    ? `means your own subscription ${own[0].webhook_id}, which is disabled: enable it, or leave "me" out`
    : `means your own subscription, and the user ${user_id} has none: make one with "personal": true (POST /v1alpha/subscriptions, ` +
        '"assay subscriptions create email ADDRESS --personal", or Subscriptions in the console)'
}

function idFault(id: string, known: ReadonlyMap<string, Webhook>, present: readonly string[]): string | null {
  if (!isUuid(id)) return `must be the id of a subscription, "me" or "followers", not ${JSON.stringify(id)}`
  const found = known.get(id)
  if (!found)
    return `names no subscription of this workspace: ${id}. GET /v1alpha/subscriptions lists those there are`
  return found.status === 'enabled' || present.includes(id)
    ? null
    : `names the subscription ${id}, which is disabled: enable it, or leave it out`
}

/**
 * Returns the ids that `given` stands for, each once, with "followers" and "reader" if they are among them. Null if
 * `given` is absent. Throws a 422 with every fault. `at`: the path in the body. `present`: ids that the object has
 * already, which may be disabled by now.
 */
export async function subscriptionsOf(
  { store }: { store: Pick<Services['store'], 'findSubscriptions'> },
  { workspace_id, user_id }: Pick<Principal, 'workspace_id' | 'user_id'>,
  given: readonly string[] | null | undefined,
  at: string,
  present: readonly string[] = [],
): Promise<string[] | null> {
  if (!given || given.length === 0) return null
  const ids = given.map((one) => (WORDS.includes(one) ? one : one.toLowerCase()))
  const webhook_ids = ids.filter(isUuid)
  const found = await store.findSubscriptions({ workspace_id, webhook_ids, personal_of: user_id })
  const known = new Map(found.map((one) => [one.webhook_id, one]))
  const own = found.filter((one) => one.personal && one.user_id === user_id)
  const faults: FieldError[] = ids.flatMap((id, index) => {
    if (id === FOLLOWERS || id === READER) return []
    const message = id === ME ? ownFault(user_id, own) : idFault(id, known, present)
    return message === null ? [] : [{ path: `${at}.${index}`, message }]
  })
  if (faults.length > 0) throw invalid(faults)
  const enabled = own.filter(({ status }) => status === 'enabled').map(({ webhook_id }) => webhook_id)
  return [...new Set(ids.flatMap((id) => (id === ME ? enabled : [id])))]
}

/** Throws a 422 if an insight that is not personal would be sent to its reader. */
export function refuseReader(notify: readonly string[] | null | undefined, at = 'notify'): void {
  if (!notify?.includes(READER)) return
  const message = `holds "${READER}", and the run is of no reader: the template gives everybody the same rows. Name subscriptions, or leave it out`
  throw invalid([{ path: at, message }])
}

type Values = Readonly<Record<string, unknown>>

/**
 * Returns who is told of jobs of a template, by the values of a job. Followers are those of the template, of the
 * metrics that it reads and of the collections that hold its series, at the time of the call.
 */
export async function toldOf(
  services: Pick<Services, 'store'>,
  principal: Pick<Principal, 'workspace_id' | 'user_id'>,
  {
    notify,
    template,
    at,
  }: { notify: readonly string[] | null | undefined; template: TemplateSource; at: string },
): Promise<(values: Values) => Promise<string[] | null>> {
  refuseReader(notify, at)
  const ids = await subscriptionsOf(services, principal, notify, at)
  if (!ids?.includes(FOLLOWERS)) return async () => ids
  const { template_id } = template
  const { workspace_id } = principal
  const followersBy = (all: string[]) => services.store.findFollowers({ workspace_id, followed: all })
  const followers = await followersBy([followed('template', template_id)])
  // Subscriptions that follow a metric. Many runs of one call read the same metrics.
  const ofMetrics = new Map<string, Promise<string[]>>()
  const readersOf = (values: Values): Promise<string[]> => {
    const metrics = metricsRead(template, values).map((metric_id) => followed('metric', metric_id))
    const key = metrics.join()
    const known = ofMetrics.get(key) ?? (metrics.length === 0 ? Promise.resolve([]) : followersBy(metrics))
    ofMetrics.set(key, known)
    return known
  }
  const collected = await services.store.collectionFollowers({ workspace_id, template_id })
  const named = ids.filter((id) => id !== FOLLOWERS)
  return async (values) => [
    ...new Set([...named, ...followers, ...(await readersOf(values)), ...followersOf(collected, values)]),
  ]
}
