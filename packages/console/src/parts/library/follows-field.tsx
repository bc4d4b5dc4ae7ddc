/**
 * Shows what a subscription follows, by names. Schedules, templates, collections and metrics are added from a list.
 */
import { useQuery } from '@tanstack/react-query'
import { api } from '../../api.ts'
import { SelectField } from '../field.tsx'

/** The most of each kind that are listed, newest first. Others are followed on their own pages. */
const MOST = 200

/** Returns each object that can be followed, as `follows` names it, with its words. */
function useFollowable(): { value: string; label: string }[] {
  return (
    useQuery({
      queryKey: ['followable'],
      queryFn: async () => {
        const [schedules, templates, collections, metrics] = await Promise.all([
          api().schedules.list({ limit: MOST }),
          api().templates.list(),
          api().collections.list({ limit: MOST }),
          api().metrics.list({ limit: MOST }),
        ])
        return [
          ...schedules.items.map(({ schedule_id: id, name }) => ['schedule', id, name] as const),
          ...templates.map(({ template_id: id, title }) => ['template', id, title] as const),
          ...collections.items.map(({ collection_id: id, name }) => ['collection', id, name] as const),
          ...metrics.items.map(({ metric_id: id, label }) => ['metric', id, label] as const),
        ].map(([kind, id, name]) => ({ value: `${kind}:${id}`, label: `${KIND_WORDS[kind]}: ${name}` }))
      },
      staleTime: 30_000,
    }).data ?? []
  )
}

const KIND_WORDS = {
  schedule: 'Schedule',
  template: 'Template',
  collection: 'Collection',
  metric: 'Metric',
} as const

/** Shows the followed objects in words. An object that is not listed is shown by its id. */
export function FollowsWords({ follows }: { follows: readonly string[] }) {
  const names = new Map(useFollowable().map(({ value, label }) => [value, label]))
  return follows.map((one) => names.get(one) ?? one).join(', ') || 'nothing'
}

interface FollowsFieldProps {
  follows: string[]
  /** The faults of the whole form. Those of `follows` are shown here. */
  faults: Record<string, string>
  onChange(follows: string[]): void
}

export function FollowsField({ follows, faults, onChange }: FollowsFieldProps) {
  const all = useFollowable()
  const names = new Map(all.map(({ value, label }) => [value, label]))
  const own = Object.entries(faults).filter(([path]) => /^follows(\.|$)/.test(path))
  const fault = own.map(([path, message]) => {
    const one = follows[Number(path.slice('follows.'.length))]
    return one === undefined ? message : `“${names.get(one) ?? one}” ${message}`
  })
  const left = all.filter(({ value }) => !follows.includes(value))
  return (
    <>
      <SelectField
        label="Follows"
        hint="Each run of a schedule, and the runs that are sent to the followers of a template, a collection or a metric, come here."
        fault={fault.join('; ') || undefined}
        options={[{ value: '', label: 'Add …' }, ...left]}
        value=""
        onChange={({ target }) => target.value !== '' && onChange([...follows, target.value])}
      />
      {follows.length > 0 && (
        <ul className="followed" aria-label="Followed">
          {follows.map((one) => (
            <li key={one}>
              {names.get(one) ?? one}
              <button
                type="button"
                className="button quiet small"
                aria-label={`Remove ${names.get(one) ?? one}`}
                onClick={() => onChange(follows.filter((other) => other !== one))}
              >
                Remove
              </button>
            </li>
          ))}
        </ul>
      )}
    </>
  )
}
