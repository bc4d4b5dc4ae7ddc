/**
 * funnel: how many go from step to step.
 *
 * Strict order: an id enters with its first row of the first step; it passes a later step with that step's first row at
 * or after the time it passed the step before (after it, for the same event twice), within the window from its entry.
 * Rates are of those that entered (`rate`) and of those that passed the step before (`step_rate`), with Wilson's 95%
 * intervals. Computed in DuckDB; one row is fetched.
 */
import Type, { type Static } from 'typebox'
import { normalUpperQuantile } from '../numeric/distributions.ts'
import { wilson } from './shared/arms.ts'
import { columnOf, isNumeric, timeColumn } from './shared/columns.ts'
import { integer, number, rowsWith, text } from './shared/fields.ts'
import { type Method, MethodError, quote, type Relation } from './shared/method.ts'
import { count, figure, label, percent } from './shared/sentence.ts'

const Options = Type.Object(
  {
    id: Type.String(),
    time: Type.String(),
    event: Type.String({ description: 'The column that names the event.' }),
    steps: Type.Array(Type.String(), {
      minItems: 2,
      maxItems: 20,
      description: 'Values of the event column, in order.',
    }),
    window: Type.Optional(
      Type.Union(
        [
          Type.String({ pattern: '^[0-9]+ ?(second|minute|hour|day|week|month|year)s?$' }),
          Type.Number({ exclusiveMinimum: 0 }),
        ],
        {
          description:
            'How long after its entry a row counts, e.g. "7 days" or "2 years" (of 365.25 days, months a twelfth of that); a number where time is one. Default: no limit.',
        },
      ),
    ),
  },
  { additionalProperties: false },
)
type Options = Static<typeof Options>

const METHOD = 'ordered first touch, Wilson intervals'
const MICROSECONDS: Record<string, number> = {
  second: 1e6,
  minute: 6e7,
  hour: 3.6e9,
  day: 8.64e10,
  week: 6.048e11,
  month: 2.6298e12,
  year: 3.15576e13,
}

interface Step {
  step: string
  n: number
  rate: number | null
  step_rate: number | null
  low: number | null
  high: number | null
}

export const funnel: Method = {
  name: 'funnel',
  options: Options,
  columns(options) {
    const { id, time, event } = options as Options
    return Object.entries({ id, time, event }).map(([option, column]) => ({ option, column, numeric: false }))
  },
  fields: {
    steps: rowsWith({ step: text, n: integer, rate: number, step_rate: number, low: number, high: number }),
    unfinished: integer,
  },
  async run(table, options) {
    const given = options as Options
    const { passed, unfinished } = await countsOf(table, given)
    const entered = passed[0]!
    const steps = given.steps.map((step, index): Step => {
      const n = passed[index]!
      const before = index === 0 ? n : passed[index - 1]!
      const interval =
        entered === 0 ? { low: null, high: null } : wilson(n, entered, normalUpperQuantile(0.025))
      return {
        step,
        n,
        rate: entered === 0 ? null : n / entered,
        step_rate: before === 0 ? null : n / before,
        ...interval,
      }
    })
    const notes: string[] = []
    if (unfinished > 0) {
      notes.push(
        `${count(unfinished, 'entry', 'entries')} less than a window before the end of the data: some of them may still go on.`,
      )
    }
    const missing = steps.filter((step) => step.n === 0)
    if (entered > 0 && missing.length > 0)
      notes.push(`No one passed ${label(missing[0]!.step)}: check how the event is spelt.`)
    return { summary: sentence(given, steps), n: entered, method: METHOD, notes, steps, unfinished }
  },
}

async function countsOf(table: Relation, given: Options): Promise<{ passed: number[]; unfinished: number }> {
  const column = timeColumn(table, given.time)
  const id = quote(columnOf(table, 'id', given.id).name)
  const event = quote(columnOf(table, 'event', given.event).name)
  const name = quote(column.name)
  const number = isNumeric(column)
  const time = number
    ? `cast(${name} as double)`
    : `case when isfinite(${name}) then cast(epoch_us(${name}) as double) end`
  const width = widthOf(given.window, number)
  const parts = [
    `rows as (select ${id} as id, ${time} as t, cast(${event} as varchar) as e from ${table.relation} where ${id} is not null)`,
    `kept as (select * from rows where isfinite(t))`,
    `step0 as (select id, min(t) as entry, min(t) as t from kept where e = $step0 group by id)`,
  ]
  for (const index of given.steps.keys()) {
    if (index === 0) continue
    const later = given.steps[index] === given.steps[index - 1] ? '>' : '>='
    const limit = width === null ? '' : `and kept.t <= before.entry + ${width}`
    parts.push(
      `step${index} as (select before.id, any_value(before.entry) as entry, min(kept.t) as t from step${index - 1} as before
        join kept on kept.id = before.id and kept.e = $step${index} and kept.t ${later} before.t ${limit} group by before.id)`,
    )
  }
  const counts = given.steps.map((_, index) => `(select count(*) from step${index}) as n${index}`)
  const open =
    width === null ? '0' : `(select count(*) from step0 where entry + ${width} > (select max(t) from kept))`
  const values = Object.fromEntries(given.steps.map((step, index) => [`step${index}`, step]))
  const [row] = await table.query(
    `with ${parts.join(', ')} select ${counts.join(', ')}, ${open} as unfinished`,
    values,
  )
  return {
    passed: given.steps.map((_, index) => row![`n${index}`] as number),
    unfinished: row!.unfinished as number,
  }
}

/** The window in the units of the time column; null for none. */
function widthOf(window: Options['window'], number: boolean): number | null {
  if (window === undefined) return null
  if ((typeof window === 'number') !== number) {
    throw new MethodError(
      number
        ? 'window: time is a number, so the window must be one too.'
        : 'window: time is a date, so the window must name a unit, e.g. "7 days".',
    )
  }
  if (typeof window === 'number') return window
  const [, amount = '', unit = ''] = /^(\d+) ?([a-z]+?)s?$/.exec(window) ?? []
  return Number(amount) * MICROSECONDS[unit]!
}

function sentence(given: Options, steps: readonly Step[]): string {
  const first = steps[0]!
  const last = steps.at(-1)!
  if (first.n === 0)
    return `Not enough data for a funnel: no ${given.id} has the first step, ${label(first.step)}.`
  const losses = steps
    .slice(1)
    .map((step, index) => ({ step, before: steps[index]! }))
    .filter(({ step }) => step.step_rate !== null)
  const worst = losses.toSorted((a, b) => a.step.step_rate! - b.step.step_rate!)[0]!
  const window =
    given.window === undefined
      ? ''
      : ` within ${typeof given.window === 'number' ? figure(given.window) : given.window}`
  return (
    `Of ${figure(first.n)} that entered at ${label(first.step)} (counted by ${given.id}), ${figure(last.n)} (${percent(last.rate)}, 95% interval ` +
    `${percent(last.low)} to ${percent(last.high)}) reached ${label(last.step)}${window}. The largest loss is from ` +
    `${label(worst.before.step)} to ${label(worst.step.step)}, where ${percent(worst.step.step_rate)} go on.`
  )
}
