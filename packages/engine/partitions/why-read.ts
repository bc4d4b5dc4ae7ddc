/** Says why days of a series are read, for a person who asks what a run would do. */
import type { PartitionRules } from '@assay/model/metric'

/** The reason of a day that is over and has no statistics. */
export const NOT_KEPT =
  'Not kept: over since the last run, dropped by an audit, or with too many groups to be kept.'

/**
 * Says why a series with no kept days is read. `others` is the number of other series of the metric with kept days;
 * null if days are never kept here.
 */
export function becauseNothing(others: number | null): string {
  if (others === null) return 'Nothing is kept here: only a service keeps days.'
  if (others === 0) return 'Nothing of it is kept yet.'
  const series = others === 1 ? 'one other series' : `${others} other series`
  return `Nothing of it is kept, but of ${series} of the metric: another value, condition, "by", query, rule, promise or address of the database begins from empty.`
}

export const becauseMarked = (since: string): string => `Rows of it are marked since ${since}.`

export function becauseOpen({ reopen_days }: PartitionRules): string {
  const days = reopen_days === 1 ? 'a day' : `${reopen_days} days`
  return reopen_days === 0 ? 'Not over yet.' : `Open: its rows may come until ${days} after its end.`
}
