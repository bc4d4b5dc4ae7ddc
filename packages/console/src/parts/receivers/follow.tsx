/**
 * Shows the button "Follow" of a template, a schedule, a metric or a collection. After a click their insights go to
 * the own subscription.
 */
import { etagOf } from '@assay/client'
import type { SubscriptionView } from '@assay/model/subscription'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { api, useIsLimited, useMay, useMe } from '../../api.ts'
import type { Insight } from '../../insights.ts'
import { targetOf } from '../../receivers.ts'
import { Fault } from '../fault.tsx'
import { useTemplateTitle } from '../jobs/template-title.ts'
import { useSchedule } from '../schedules/schedule-name.tsx'

/** The most subscriptions of the user, newest first, among which the own ones are searched. */
const MOST = 200
const STALE_MS = 30_000

/** Returns the own subscriptions of the signed-in user. */
function useOwn() {
  const user_id = useMe().data?.user_id
  return useQuery({
    queryKey: ['subscriptions', 'own', user_id],
    queryFn: () => api().subscriptions.list({ user_id: user_id!, limit: MOST }),
    select: ({ items }) => items.filter(({ personal }) => personal),
    enabled: user_id !== undefined,
    staleTime: STALE_MS,
  })
}

/** Changes what subscriptions follow. It reads each anew, so that changes on another page meanwhile stay. */
async function changeFollows(
  subscriptions: readonly SubscriptionView[],
  changed: (follows: string[]) => string[],
): Promise<void> {
  for (const { subscription_id } of subscriptions) {
    const now = await api().subscriptions.get(subscription_id)
    const follows = changed(now.follows)
    await api().subscriptions.update(subscription_id, { follows }, { ifMatch: etagOf(now) })
  }
}

/** Returns why nothing arrives yet; empty if messages arrive. */
function missingWords({ status, waiting }: SubscriptionView): string {
  if (status === 'disabled') return ' It is disabled: nothing comes before you enable it.'
  if (waiting.length === 0) return ''
  return waiting[0]!.reason === 'left'
    ? ' Nothing comes: the owner of the address has unsubscribed.'
    : ' Nothing comes before the owner of the address has agreed.'
}

interface Followed {
  /** The followed object, as `follows` names it. */
  what: string
  /** The messages that come, as the subject of a sentence. */
  comes: string
}

function Note({ subscription, comes }: { subscription: SubscriptionView; comes: string }) {
  const { subscription_id } = subscription
  return (
    <p className="follow-note small" role="status">
      {comes} comes to{' '}
      <Link to="/subscriptions/$subscription_id" params={{ subscription_id }} search={{}}>
        {targetOf(subscription)}
      </Link>
      .{missingWords(subscription)}
    </p>
  )
}

function Follow({ what, comes }: Followed) {
  const cache = useQueryClient()
  const own = useOwn().data
  const following = own?.filter(({ follows }) => follows.includes(what)) ?? []
  const target = own?.find(({ status }) => status === 'enabled') ?? own?.[0]
  const change = useMutation({
    mutationFn: (wanted: boolean) =>
      wanted
        ? changeFollows([target!], (follows) => [...new Set([...follows, what])])
        : changeFollows(following, (follows) => follows.filter((one) => one !== what)),
    onSettled: () => cache.invalidateQueries({ queryKey: ['subscriptions'] }),
  })
  if (own === undefined) return null
  if (target === undefined)
    return (
      <Link
        className="button"
        to="/subscriptions/new"
        search={{ follows: what }}
        title="First say where it is to come"
      >
        Follow
      </Link>
    )
  const isFollowed = following.length > 0
  return (
    <>
      <button
        type="button"
        className="button"
        title={isFollowed ? undefined : `${comes} then comes to ${targetOf(target)}`}
        disabled={change.isPending}
        onClick={() => change.mutate(!isFollowed)}
      >
        {isFollowed ? 'Unfollow' : 'Follow'}
      </button>
      {following[0] && <Note subscription={following[0]} comes={comes} />}
      {change.isError && (
        <div className="follow-note">
          <Fault error={change.error} />
        </div>
      )}
    </>
  )
}

/**
 * Tells whether the user may follow. A viewer may change no subscription, and a token that is limited to templates
 * sees none.
 */
function useMayFollow(): boolean {
  const analyst = useMay('analyst')
  return !useIsLimited() && analyst
}

export function FollowTemplate({ template_id }: { template_id: string }) {
  const name = useTemplateTitle(template_id)
  const comes = `Each run of “${name}” that somebody sends to its followers`
  return useMayFollow() ? <Follow what={`template:${template_id}`} comes={comes} /> : null
}

export function FollowMetric({ metric_id, label }: { metric_id: string; label: string }) {
  const comes = `Each report on “${label}” that somebody sends to its followers`
  return useMayFollow() ? <Follow what={`metric:${metric_id}`} comes={comes} /> : null
}

export function FollowCollection({ collection_id, name }: { collection_id: string; name: string }) {
  const comes = `Each newest run in “${name}” that a schedule makes or somebody sends to its followers`
  return useMayFollow() ? <Follow what={`collection:${collection_id}`} comes={comes} /> : null
}

function FollowSchedule({ schedule_id, template_id }: { schedule_id: string; template_id: string }) {
  const { data, isPending } = useSchedule(schedule_id)
  if (isPending) return null
  // A schedule that was deleted runs no more, so its template is followed.
  if (!data) return <FollowTemplate template_id={template_id} />
  return <Follow what={`schedule:${schedule_id}`} comes={`Each run of the schedule “${data.name}”`} />
}

function FollowOrigin({ assignment_id, template_id }: Pick<Insight, 'assignment_id' | 'template_id'>) {
  const { data, isPending } = useQuery({
    queryKey: ['job', assignment_id],
    queryFn: () => api().jobs.status(assignment_id),
  })
  if (isPending) return null
  return data?.schedule_id ? (
    <FollowSchedule schedule_id={data.schedule_id} template_id={template_id} />
  ) : (
    <FollowTemplate template_id={template_id} />
  )
}

/** Follows the schedule that made the insight, or the template if no schedule did. */
export function FollowInsight({ insight: { assignment_id, template_id } }: { insight: Insight }) {
  return useMayFollow() ? <FollowOrigin assignment_id={assignment_id} template_id={template_id} /> : null
}
