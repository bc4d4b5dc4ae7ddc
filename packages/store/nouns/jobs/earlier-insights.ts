/** Earlier runs of an insight's series, found by the first day of their period or, without periods, by their time. */
import { dayNumber, dayText, monthsAfter } from '@assay/model/dates'
import { type EarlierInsight, STEPS_BACK, type StepBack } from '@assay/model/earlier-insight'
import type { Reader, Routine } from '../../rows.ts'
import type { Input } from '../../store.ts'
import { type CardRow, INSIGHT_CARDS } from '../../tables/jobs/insight-cards.ts'
import { by } from '../../tables/table.ts'

const SHOWN = ['insight_id', 'title', 'period', 'period_start', 'created_at'] as const
type Found = Pick<CardRow, (typeof SHOWN)[number]>

const OWN = INSIGHT_CARDS.select(by('insight_id', 'workspace_id'), [...SHOWN, 'series'])

type Column = 'period_start' | 'created_at'

/** Returns the query of the last period up to the target, by its latest run. */
const upTo = (column: Column) =>
  INSIGHT_CARDS.select(
    `WHERE workspace_id = :workspace_id AND series = :series AND ${column} >= :low AND ${column} <= :target
     ORDER BY ${column} DESC, created_at DESC, insight_id DESC LIMIT 1`,
    SHOWN,
  )

/** Returns the query of the first period after the target, by its latest run. */
const beyond = (column: Column) =>
  INSIGHT_CARDS.select(
    `WHERE workspace_id = :workspace_id AND series = :series AND ${column} > :target AND ${column} <= :high
     ORDER BY ${column}, created_at DESC, insight_id DESC LIMIT 1`,
    SHOWN,
  )

const BY_PERIOD = [upTo('period_start'), beyond('period_start')]
const BY_TIME = [upTo('created_at'), beyond('created_at')]

const AGAIN = INSIGHT_CARDS.select(
  `WHERE workspace_id = :workspace_id AND series = :series AND period_start = :period_start
     AND (created_at, insight_id) < (:created_at, :insight_id)
   ORDER BY created_at DESC, insight_id DESC LIMIT 1`,
  SHOWN,
)

const DAY_MS = 86_400_000

interface Step {
  back(day: number): number
  /**
   * Days by which a run may miss the target. They are less than half of the step, so that another weekday or month
   * length still counts.
   */
  within: number
}

const STEPS: Record<Exclude<StepBack, 'before' | 'again'>, Step> = {
  day: { back: (day) => day - 1, within: 0.4 },
  week: { back: (day) => day - 7, within: 1 },
  month: { back: (day) => monthsAfter(day, -1), within: 3.5 },
  year: { back: (day) => monthsAfter(day, -12), within: 7 },
}
const FIRST_TIME = '0001-01-01T00:00:00.000Z'

interface Window {
  step: StepBack
  low: string
  target: string
  high: string
}

/**
 * Returns the windows before `at`, a day ("2001-06-18") or a time. Days and times of four-digit years compare as
 * their texts do.
 */
function windowsOf(at: string): Window[] {
  const isDay = at.length === 10
  const text = (ms: number): string => (isDay ? dayText(ms / DAY_MS) : new Date(ms).toISOString())
  const day = dayNumber(at)
  const ofDay = Date.parse(at) - day * DAY_MS
  const last = text(Date.parse(at) - (isDay ? DAY_MS : 1))
  const before: Window = {
    step: 'before',
    low: isDay ? FIRST_TIME.slice(0, 10) : FIRST_TIME,
    target: last,
    high: last,
  }
  const others = Object.entries(STEPS).map(([step, { back, within }]): Window => {
    const target = back(day) * DAY_MS + ofDay
    const slack = (isDay ? Math.floor(within) : within) * DAY_MS
    return {
      step: step as StepBack,
      low: text(target - slack),
      target: text(target),
      high: text(target + slack),
    }
  })
  return [before, ...others]
}

/** Returns the time that orders runs, in milliseconds since 1970. */
const instantOf = ({ period_start, created_at }: Found): number => Date.parse(period_start ?? created_at)

export function* earlierInsights(
  from: Reader,
  input: Input<'earlierInsights'>,
): Routine<EarlierInsight[] | null> {
  const own = yield* from.find(OWN, input)
  if (!own) return null
  const { series, period_start } = own
  const { workspace_id } = input
  const found = new Map<string, EarlierInsight>()
  const add = (step: StepBack, run: Found | undefined): void => {
    if (!run) return
    const { period_start: _start, ...shown } = run
    const known: EarlierInsight = found.get(run.insight_id) ?? { ...shown, steps: [] }
    known.steps.push(step)
    found.set(run.insight_id, known)
  }
  if (period_start !== null) add('again', yield* from.find(AGAIN, { ...own, workspace_id }))
  for (const { step, ...window } of windowsOf(period_start ?? own.created_at)) {
    const near: Found[] = []
    for (const statement of period_start === null ? BY_TIME : BY_PERIOD) {
      const run = yield* from.find(statement, { ...window, workspace_id, series })
      if (run) near.push(run)
    }
    const target = Date.parse(window.target)
    const distance = (run: Found): number => Math.abs(instantOf(run) - target)
    add(step, near.toSorted((one, other) => distance(one) - distance(other))[0])
  }
  const order = ({ steps }: EarlierInsight): number => STEPS_BACK.indexOf(steps[0]!)
  return [...found.values()].toSorted((one, other) => order(one) - order(other))
}
