/**
 * Offers the runs that an insight can be compared with: earlier ones by their distance in time, and the newest of the
 * same report with other variables.
 */
import type { EarlierInsight, StepBack } from '@assay/model/earlier-insight'
import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { api } from '../../api.ts'
import type { Insight } from '../../insights.ts'
import { Menu, MenuItem, MenuNote } from '../menu.tsx'

const STEP_WORDS: Record<StepBack, string> = {
  before: 'The run before',
  again: 'The same period, computed before',
  day: 'A day before',
  week: 'A week before',
  month: 'A month before',
  year: 'A year before',
}

/** The newest runs of a report among which those with other variables are searched, and the most that are offered. */
const LOOKED_AT = 20
const MOST_OTHERS = 3

const day = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' })

/**
 * Returns the name of the most informative step. A run that is both the one before and a week before is called the
 * week before.
 */
function wordsOf({ steps }: EarlierInsight): string {
  return STEP_WORDS[steps.find((step) => step !== 'before') ?? 'before']
}

/** Returns the title with its period, and the time of the computation. */
function moreOf({
  title,
  period,
  created_at,
}: Pick<EarlierInsight, 'title' | 'period' | 'created_at'>): string {
  const named = period === null || title.includes(period) ? title : `${title}, ${period}`
  return `${named} · made ${day.format(new Date(created_at))}`
}

export function Compare({ insight, beside }: { insight: Insight; beside: string | undefined }) {
  const { insight_id, template_id } = insight
  const navigate = useNavigate({ from: '/insights/$insight_id' })
  const runs = useQuery({
    queryKey: ['earlier', insight_id],
    queryFn: () => api().insights.earlier(insight_id),
  }).data?.items
  const newest = useQuery({
    queryKey: ['insights', 'beside', insight_id],
    queryFn: () => api().insights.list({ template_id, limit: LOOKED_AT }),
  }).data?.items
  const own = newest?.find((run) => run.insight_id === insight_id)
  const others = newest?.filter(({ series }) => own !== undefined && series !== own.series) ?? []
  const show = (other: string | undefined): void => void navigate({ search: { beside: other } })
  return (
    <Menu label="Compare">
      {runs?.length === 0 && <MenuNote>There is no earlier run with the same variables.</MenuNote>}
      {runs?.map((run) => (
        <MenuItem key={run.insight_id} more={moreOf(run)} onSelect={() => show(run.insight_id)}>
          {wordsOf(run)}
        </MenuItem>
      ))}
      {others.slice(0, MOST_OTHERS).map((run) => (
        <MenuItem key={run.insight_id} more={moreOf(run)} onSelect={() => show(run.insight_id)}>
          With other variables
        </MenuItem>
      ))}
      {beside !== undefined && <MenuItem onSelect={() => show(undefined)}>Show this run alone</MenuItem>}
    </Menu>
  )
}
