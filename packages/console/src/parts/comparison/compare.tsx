/** The earlier runs that an insight can be compared with: those that exist, each by how far back it lies. */
import type { EarlierInsight, StepBack } from '@assay/model/earlier-insight'
import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { api } from '../../api.ts'
import { Menu, MenuItem, MenuNote } from '../menu.tsx'

const STEP_WORDS: Record<StepBack, string> = {
  before: 'The run before',
  again: 'The same period, computed before',
  day: 'A day before',
  week: 'A week before',
  month: 'A month before',
  year: 'A year before',
}

const day = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' })

/** The step that tells most: of the run before that is a week before, the week. */
function wordsOf({ steps }: EarlierInsight): string {
  return STEP_WORDS[steps.find((step) => step !== 'before') ?? 'before']
}

/** The title with its period, and when it was computed. */
function moreOf({ title, period, created_at }: EarlierInsight): string {
  const named = period === null || title.includes(period) ? title : `${title}, ${period}`
  return `${named} · made ${day.format(new Date(created_at))}`
}

export function Compare({ insight_id, beside }: { insight_id: string; beside: string | undefined }) {
  const navigate = useNavigate({ from: '/insights/$insight_id' })
  const runs = useQuery({
    queryKey: ['earlier', insight_id],
    queryFn: () => api().insights.earlier(insight_id),
  }).data?.items
  const show = (other: string | undefined): void => void navigate({ search: { beside: other } })
  return (
    <Menu label="Compare">
      {runs?.length === 0 && <MenuNote>There is no earlier run with the same variables.</MenuNote>}
      {runs?.map((run) => (
        <MenuItem key={run.insight_id} more={moreOf(run)} onSelect={() => show(run.insight_id)}>
          {wordsOf(run)}
        </MenuItem>
      ))}
      {beside !== undefined && <MenuItem onSelect={() => show(undefined)}>Show this run alone</MenuItem>}
    </Menu>
  )
}
