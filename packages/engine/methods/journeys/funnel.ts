/**
 * funnel: tells how many ids go from step to step.
 *
 * The order is strict. An entry is a row of the first step. It passes a later step with that step's first row at or
 * after the time at which it passed the step before (after that time, if both steps are the same event), within the
 * window from the entry. An id passes a step if any of its entries does. Entries whose window ends after the data are
 * left out, and so are ids without other entries. Rates are shares of the ids that entered (`rate`) and of those that
 * passed the step before (`step_rate`), with Wilson's 95 % intervals. DuckDB computes them. One row is fetched, and the
 * names of the events if a step never occurs.
 */
import type { Doubt } from '@assay/model/insight'
import { Type } from '@assay/model/schema'
import type { Static } from 'typebox'
import { normalUpperQuantile } from '../../numeric/distributions.ts'
import { nearest } from '../../values/near.ts'
import { FEW } from '../../verdicts/common-doubts.ts'
import { doubt, gradeOf, verdict } from '../../verdicts/verdict.ts'
import { brief, CERTAINTY, quoted, shareOf } from '../../verdicts/words.ts'
import { testRates, wilson } from '../shared/arms.ts'
import { columnOf, isNumeric, timeColumn } from '../shared/columns.ts'
import { integer, number, rowsWith, text } from '../shared/fields.ts'
import { type Method, MethodError, quote, type Relation } from '../shared/method.ts'
import { count, enumeration, figure, percent, range } from '../shared/sentence.ts'

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

const METHOD = 'ordered steps from any entry, Wilson intervals'
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
  prints: () => true,
  fields: {
    steps: rowsWith({ step: text, n: integer, rate: number, step_rate: number, low: number, high: number }),
    unfinished: integer,
  },
  async run(table, options, context) {
    const given = options as Options
    const { passed, unfinished, unknown } = await countsOf(table, given)
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
    const label = context.meanings.get(given.id.toLowerCase())?.label ?? null
    const told = verdict({
      headline: entered === 0 ? '' : headline(given, steps, label),
      grade: 'firm',
      evidence: evidence(given, steps),
      doubts: [
        ...unknown,
        ...(entered === 0 ? [nothing(given, unfinished)] : []),
        ...(entered > 0 && entered < FEW ? [few(given, entered)] : []),
        ...(unfinished > 0 && entered > 0 ? [partial(given, unfinished, label)] : []),
      ],
      mild: entered > 0 ? ['too_few'] : [],
    })
    return { ...told, n: entered, method: METHOD, steps, unfinished }
  },
}

interface Counts {
  /** The number of ids that passed each step. */
  passed: number[]
  /** The number of ids whose entries are all too young. */
  unfinished: number
  unknown: Doubt[]
}

async function countsOf(table: Relation, given: Options): Promise<Counts> {
  const column = timeColumn(table, given.time)
  const id = quote(columnOf(table, 'id', given.id).name)
  const event = quote(columnOf(table, 'event', given.event).name)
  const name = quote(column.name)
  const number = isNumeric(column)
  const time = number
    ? `cast(${name} as double)`
    : `case when isfinite(${name}) then cast(epoch_us(${name}) as double) end`
  const rows = `rows as (select ${id} as id, ${time} as t, cast(${event} as varchar) as e from ${table.relation} where ${id} is not null),
     kept as (select * from rows where isfinite(t))`
  const names = [...new Set(given.steps)]
  const values = Object.fromEntries(names.map((name_, index) => [`step${index}`, name_]))
  const [row] = await table.query(passedSql(rows, names, given.steps, widthOf(given.window, number)), values)
  const passed = given.steps.map((_, index) => row![`n${index}`] as number)
  const missing = passed.some((n) => n === 0)
  return {
    passed,
    unfinished: (row!.entered as number) - passed[0]!,
    unknown: missing ? await unknownSteps(table, rows, given) : [],
  }
}

/**
 * Returns SQL of the number of ids that passed each step. The rows are read once (with a window once more, for their last
 * time) and grouped by id and time, with a flag for each event. Along the times of an id each step takes the entry of the
 * latest row before that passed the step before it. Entries rise with the times of their rows. If several entries lead to
 * one row, the latest has the most of its window left.
 */
function passedSql(
  rows: string,
  names: readonly string[],
  steps: readonly string[],
  width: number | null,
): string {
  const flag = (step: string): string => `s${names.indexOf(step)}`
  const flags = names.map((_, index) => `max(case when e = $step${index} then 1 else 0 end) as s${index}`)
  const list = names.map((_, index) => `$step${index}`).join(', ')
  const carried = ['id', 't', ...names.map((_, index) => `s${index}`)]
  const ended = width === null ? '' : ` and t + ${width} <= (select max(t) from kept)`
  const parts = [
    rows,
    `moments as (select id, t, ${flags.join(', ')} from kept where e in (${list}) group by id, t)`,
    `passed0 as (select ${carried.join(', ')}, case when ${flag(steps[0]!)} = 1${ended} then t end as e0 from moments)`,
  ]
  for (const index of steps.keys()) {
    if (index === 0) continue
    // A step that repeats the one before needs a later row. Any other step may have a row of the same time.
    const again = steps[index] === steps[index - 1]
    const frame = again ? 'rows between unbounded preceding and 1 preceding' : 'rows unbounded preceding'
    const before = [...carried, ...Array.from({ length: index }, (_, at) => `e${at}`)].join(', ')
    const limit = width === null ? '' : ` and t <= entry + ${width}`
    parts.push(
      `before${index} as (select ${before}, max(e${index - 1}) over (partition by id order by t ${frame}) as entry from passed${index - 1})`,
      `passed${index} as (select ${before}, case when ${flag(steps[index]!)} = 1${limit} then entry end as e${index} from before${index})`,
    )
  }
  const each = steps.map((_, index) => `max(e${index}) as e${index}`)
  const counts = steps.map((_, index) => `count(e${index}) as n${index}`)
  return `with ${parts.join(', ')} select ${counts.join(', ')}, count(entered) as entered from
     (select id, ${each.join(', ')}, max(case when ${flag(steps[0]!)} = 1 then 1 end) as entered from passed${steps.length - 1} group by id)`
}

/** Returns the steps that no row has, each with the nearest spelling that occurs. */
async function unknownSteps(table: Relation, rows: string, { event, steps }: Options): Promise<Doubt[]> {
  const found = await table.query(
    `with ${rows} select e, count(*) as n from kept where e is not null group by e order by n desc, e limit 10000`,
  )
  const known = found.map((row) => row.e as string)
  if (known.length === 0) return []
  const there = new Set(known)
  return [...new Set(steps)]
    .filter((step) => !there.has(step))
    .map((step) => {
      const near = nearest(step, known)
      const some = enumeration(known.slice(0, 8).map(quoted))
      const hint =
        near === null
          ? `The column ${quoted(event)} has ${some}${known.length > 8 ? ` and ${known.length - 8} more` : ''}.`
          : `Did you mean ${quoted(near)}?`
      return doubt('step_unknown', `The step ${quoted(step)} never occurs in the data. ${hint}`)
    })
}

/** Returns the window in the units of the time column, or null if there is none. */
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

function nothing({ steps, window }: Options, unfinished: number): Doubt {
  const says =
    unfinished > 0
      ? `No entry is old enough: for none have ${windowText(window)} passed since ${quoted(steps[0])}.`
      : `Nobody has the first step, ${quoted(steps[0])}.`
  return doubt('too_few', says)
}

function few({ steps }: Options, entered: number): Doubt {
  const who = entered === 1 ? 'Only one' : `Only ${entered}`
  return doubt(
    'too_few',
    `${who} entered at ${quoted(steps[0])}: too few to expect the same shares of others.`,
  )
}

function partial({ window }: Options, unfinished: number, label: string | null): Doubt {
  return doubt(
    'period_partial',
    `${count(unfinished, label ?? 'entry', label ?? 'entries')} began less than ${windowText(window)} before the data end. They are left out: their time is not over.`,
  )
}

const windowText = (window: Options['window']): string =>
  typeof window === 'number' ? figure(window) : (window ?? '')

function headline(given: Options, steps: readonly Step[], label: string | null): string {
  const first = steps[0]!
  const last = steps.at(-1)!
  const within = given.window === undefined ? '' : ` within ${windowText(given.window)}`
  const worst = worstOf(steps)
  const loss =
    worst === null
      ? ''
      : `; the hardest step is ${CERTAINTY[worst.grade]} from ${quoted(worst.before.step)} to ${quoted(worst.step.step)}, which ${worst.step.n === 0 ? 'none' : shareOf(worst.step.step_rate)} pass`
  if (first.n === 1)
    return `The only one that entered at ${quoted(first.step)} ${last.n === 0 ? 'did not reach' : 'reached'} ${quoted(last.step)}${within}.`
  const share = last.n === 0 ? 'none' : last.n === first.n ? 'all' : shareOf(last.rate)
  return `Of ${brief(first.n)}${label === null ? '' : ` ${label}`} that entered at ${quoted(first.step)}, ${share} reached ${quoted(last.step)}${within}${loss}.`
}

/** Returns the step at which the smallest share goes on, if it differs from every other by more than chance. */
function worstOf(steps: readonly Step[]) {
  const losses = steps
    .slice(1)
    .map((step, index) => ({ step, before: steps[index]! }))
    .filter(({ before }) => before.n > 0)
    .toSorted((a, b) => a.step.step_rate! - b.step.step_rate!)
  const [worst, next] = losses
  if (!worst || !next) return null
  const count = ({ step, before }: typeof worst) => ({ n: before.n, successes: step.n })
  // The grade is that of the test against the nearest other step. Any further step gives a smaller p.
  const grade = gradeOf(testRates(count(worst), count(next), 'auto').p)
  return grade === 'unclear' ? null : { ...worst, grade }
}

function evidence(given: Options, steps: readonly Step[]): string {
  const last = steps.at(-1)!
  const shown = steps.map(({ step, n, step_rate }, index) =>
    index === 0 || step_rate === null
      ? `${quoted(step)} ${figure(n)}`
      : `${quoted(step)} ${figure(n)} (${percent(step_rate)} of the step before)`,
  )
  const interval =
    last.low === null ? '' : `; 95 % interval of the whole ${range(last.low, last.high, percent)}`
  return `Counted by ${given.id}: ${shown.join(', ')}${interval}.`
}
