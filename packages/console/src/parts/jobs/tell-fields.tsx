/** Chooses the subscriptions that a run notifies, and lists those that it notified. */

import type { SubscriptionView } from '@assay/model/subscription'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { api, useMe } from '../../api.ts'
import { targetOf } from '../../receivers.ts'
import { ChecksField } from '../field.tsx'
import { ShortId } from '../show.tsx'
import { MailTo } from './mail-to.tsx'

const MOST = 200
/** The value for followers in `notify` of the API. */
const FOLLOWERS = 'followers'
/** The value for the reader of a personal run. */
const READER = 'reader'
const STALE_MS = 30_000

/** Returns the newest subscriptions, and the name of each for the signed-in user. */
function useSubscriptions() {
  const me = useMe().data
  const { data } = useQuery({
    queryKey: ['subscriptions', 'to tell'],
    queryFn: () => api().subscriptions.list({ limit: MOST }),
    staleTime: STALE_MS,
  })
  const isOwn = (one: SubscriptionView): boolean => one.personal && one.user_id === me?.user_id
  const nameOf = (one: SubscriptionView): string => {
    // The address of a chat is a secret and shown masked, so its description is more useful.
    const target = one.kind === 'email' || !one.description ? targetOf(one) : one.description
    const called = isOwn(one) ? `me: ${target}` : target
    const name = one.description && target !== one.description ? `${called} (${one.description})` : called
    return one.status === 'enabled' ? name : `${name}, disabled`
  }
  return { known: data?.items, isOwn, nameOf }
}

interface TellProps {
  chosen: readonly string[]
  faults: Record<string, string>
  onChange(notify: string[]): void
}

function faultOf(faults: Record<string, string>): string | undefined {
  const paths = Object.keys(faults).filter((path) => /^notify(\.|$)/.test(path))
  return paths.map((path) => faults[path]).join('; ') || undefined
}

/** Chooses whether a personal run notifies its reader. Nobody else can be notified of it. */
export function TellReader({ chosen, faults, onChange }: TellProps) {
  return (
    <ChecksField
      legend="Tell"
      hint="A personal insight is sent to its reader alone, by mail."
      fault={faultOf(faults)}
      options={[{ value: READER, label: 'the reader, at the reader’s address' }]}
      chosen={chosen}
      onChange={(notify) => onChange(notify.filter((one) => one === READER))}
    />
  )
}

/**
 * Chooses the subscriptions to notify. Nobody is notified without a choice. A chosen subscription that no longer
 * exists stays in the list, so that it can be removed.
 */
export function TellFields({ chosen, faults, onChange }: TellProps) {
  const { known, isOwn, nameOf } = useSubscriptions()
  if (known === undefined) return null
  const shown = known.filter((one) => one.status === 'enabled' || chosen.includes(one.subscription_id))
  const ordered = [...shown.filter(isOwn), ...shown.filter((one) => !isOwn(one))]
  const gone = chosen.filter((id) => id !== FOLLOWERS && !known.some((one) => one.subscription_id === id))
  const options = [
    ...ordered.map((one) => ({ value: one.subscription_id, label: nameOf(one) })),
    ...(shown.length > 0 ? [{ value: FOLLOWERS, label: 'those who follow the template' }] : []),
    ...gone.map((id) => ({ value: id, label: `${id}, not in this list` })),
  ]
  const own = shown.some(isOwn)
  return (
    <>
      <ChecksField
        legend="Tell"
        hint={
          <>
            By mail or in a chat. Nobody is told unless you choose somebody.
            {!own && (
              <>
                {' '}
                To be told yourself, make a <Link to="/subscriptions/new">subscription of your own</Link>.
              </>
            )}
          </>
        }
        fault={faultOf(faults)}
        options={options}
        chosen={chosen}
        onChange={onChange}
      />
      <MailTo known={known} onAdd={(id) => onChange([...new Set([...chosen, id])])} />
    </>
  )
}

/** Links to the reason why an own subscription was not notified of the job. */
export function WhyNotTold({ assignment_id }: { assignment_id: string }) {
  const { known, isOwn } = useSubscriptions()
  const own = known?.find((one) => isOwn(one) && one.status === 'enabled') ?? known?.find(isOwn)
  const label = 'Why was I not told?'
  // Until the subscriptions are known, a link could lead to the wrong page.
  if (!known) return null
  if (!own)
    return (
      <Link to="/subscriptions/new" title="You have no subscription of your own yet">
        {label}
      </Link>
    )
  return (
    <Link
      to="/subscriptions/$subscription_id"
      params={{ subscription_id: own.subscription_id }}
      search={{ job: assignment_id }}
    >
      {label}
    </Link>
  )
}

/**
 * Lists the notified subscriptions. With `assignment_id` each entry links to the reason why it was notified of the job
 * or not.
 */
export function Told({ notify, assignment_id }: { notify: readonly string[]; assignment_id?: string }) {
  const { known = [], nameOf } = useSubscriptions()
  if (notify.length === 0) return <>nobody by name</>
  return notify.map((subscription_id, index) => {
    if (subscription_id === READER) return <span key={READER}>the reader, at the reader’s address</span>
    if (subscription_id === FOLLOWERS)
      return <span key={FOLLOWERS}>{index > 0 && ', '}those who follow the template</span>
    const one = known.find((other) => other.subscription_id === subscription_id)
    return (
      <span key={subscription_id}>
        {index > 0 && ', '}
        <Link
          to="/subscriptions/$subscription_id"
          params={{ subscription_id }}
          search={{ job: assignment_id }}
        >
          {one ? nameOf(one) : <ShortId id={subscription_id} />}
        </Link>
      </span>
    )
  })
}
