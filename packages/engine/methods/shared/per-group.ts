/**
 * Adds `by: COLUMN` to every method (`each` if the method has a `by` of its own): one outcome for each value of the
 * column, over its rows. The outcome holds them as `groups`, rows with `by` and the fields of the method, and a verdict
 * over all. If the method tests, p is corrected over the groups after Holm. The method runs once for each of the 100
 * groups with the most rows. A method with `scan` takes a list of columns, too, and then gives one outcome over the
 * segments of all.
 */
import type { Doubt, Grade, Outcome } from '@assay/model/insight'
import { Type } from '@assay/model/schema'
import type { TSchema } from 'typebox'
import { METRIC, meaningOf } from '../../metrics/meaning.ts'
import { CODE_NAMES, CODES, type Code } from '../../verdicts/codes.ts'
import { largestKept, leftOut } from '../../verdicts/common-doubts.ts'
import { measureOf, opening } from '../../verdicts/measure.ts'
import { doubt, doubted, judgedAgain, regraded, verdict } from '../../verdicts/verdict.ts'
import { partNamed, quoted } from '../../verdicts/words.ts'
import { columnOf, groupSql, nameSql } from './columns.ts'
import { groupedOutcome } from './fields.ts'
import { type Method, type MethodContext, MethodError, type Relation } from './method.ts'
import { adjustAcross, chanceOf } from './multiplicity.ts'
import { count, enumeration } from './sentence.ts'

const MOST = 100

/** Returns the option that asks for one outcome a group. */
function groupOption(options: TSchema): 'by' | 'each' {
  const { properties = {} } = options as { properties?: object }
  return 'by' in properties ? 'each' : 'by'
}

/** Returns the method with that option. */
export function perGroup(method: Method): Method {
  const option = groupOption(method.options)
  const { properties } = method.options as TSchema & { properties: Record<string, TSchema> }
  const options = Type.Object(
    { ...properties, ...groupOptions(method, option) },
    { additionalProperties: false },
  )
  const columnsFor = (given: Record<string, unknown>): string[] => [given[option] ?? []].flat() as string[]
  return {
    ...method,
    options,
    ...(method.asks
      ? { asks: (given) => given[option] === undefined && method.asks!(without(given, 'depth')) }
      : {}),
    columns(given) {
      const own = columnsFor(given).map((column) => ({ option, column, numeric: false }))
      return [...method.columns(given), ...own]
    },
    fields: groupedOutcome(method.fields, option, method.scan?.fields),
    run(table, given, context) {
      const { [option]: column, depth, ...plain } = given
      if (method.scan && Array.isArray(column))
        return method.scan.run(
          table,
          { ...plain, by: column as string[], depth: (depth as number | undefined) ?? column.length },
          context,
        )
      if (method.scan && given.depth !== undefined)
        throw new MethodError(`depth: it goes with a list of columns, as ${option}: [country, channel].`)
      const rest = without(given, option)
      if (column === undefined) return method.run(table, rest, context)
      return runGroups(method, { table, column: column as string, option }, rest, context)
    },
  }
}

function without(given: Record<string, unknown>, option: string): Record<string, unknown> {
  const { [option]: _, ...plain } = given
  return plain
}

function groupOptions({ scan }: Method, option: string): Record<string, TSchema> {
  const one = Type.String({ description: 'One outcome for each value of this column.' })
  if (!scan) return { [option]: Type.Optional(one) }
  const several = Type.Array(Type.String(), {
    minItems: 1,
    maxItems: 10,
    uniqueItems: true,
    description: 'A list: one outcome over the whole and the segments of these columns.',
  })
  return {
    [option]: Type.Optional(Type.Union([one, several])),
    depth: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 10,
        description: 'With a list: how many columns a segment may combine. Default: all.',
      }),
    ),
  }
}

async function runGroups(
  method: Method,
  { table, column, option }: { table: Relation; column: string; option: string },
  options: Record<string, unknown>,
  context: MethodContext,
): Promise<Outcome> {
  const name = nameSql(groupSql(table, option, columnOf(table, option, column).name))
  const found = await table.query(
    `with c as (select ${name} as g, count(*) as n from ${table.relation} group by all),
       t as (select *, row_number() over (order by g is null, n desc, g) as place, count(g) over () as groups,
         coalesce(sum(n) filter (g is not null) over (), 0)::double as rows from c)
     select g, n, groups, rows from t where g is null or place <= ${MOST} order by g`,
  )
  const named = found.filter((row) => row.g !== null)
  const outcomes: Record<string, Outcome> = {}
  for (const [index, row] of named.entries()) {
    const value = (row.g as string).replaceAll("'", "''")
    const relation = `(select * from ${table.relation} where ${name} = '${value}')`
    const mine = ofMetric(context, column, row.g as string)
    const outcome = await method.run({ ...table, relation }, options, mine)
    const doubts = mine === context || method.judges_metrics ? [] : mine.metrics.flatMap((one) => one.doubts)
    outcomes[`g${index}`] = doubted(outcome, doubts)
  }
  const words = wordsOf(context, column, named)
  const adjusted = Object.values(adjustAcross(outcomes, (tests) => family(words, tests)))
  const groups = named.map((row, index) => ({
    by: row.g as string,
    ...labelled(context, column, row.g as string),
    ...adjusted[index]!,
  }))
  const left = (found.find((row) => row.g === null)?.n as number | undefined) ?? 0
  const kept = named.reduce((sum, row) => sum + (row.n as number), 0)
  const { groups: all = 0, rows = 0 } = named[0] ?? {}
  const beyond = largestKept(named.length, all as number, (rows as number) - kept, words.many)
  return overAll({ method, words, left, beyond }, groups)
}

/** What the groups are called: "value of country", "values of country"; of a block over several metrics these are its groups. */
interface Words {
  label: string
  one: string
  many: string
}

function wordsOf(context: MethodContext, column: string, named: readonly Record<string, unknown>[]): Words {
  const { label } = measureOf(context.meanings, column)
  const metrics = named.length > 0 && named.every(({ g }) => metricNamed(context, column, g as string))
  if (metrics) return { label, one: 'metric', many: 'metrics' }
  return { label, one: `value of ${label}`, many: `values of ${label}` }
}

function metricNamed({ metrics }: MethodContext, column: string, name: string) {
  return column === METRIC ? metrics.find(({ info }) => info.metric === name) : undefined
}

/** Returns the context for a group that is one metric: only that metric, with its own label, unit and tests. */
function ofMetric(context: MethodContext, column: string, name: string): MethodContext {
  const found = metricNamed(context, column, name)
  if (!found) return context
  const meanings = context.meanings.has('value')
    ? context.meanings
    : new Map([...context.meanings, ['value', meaningOf(found.info)] as const])
  return { ...context, metrics: [found], meanings }
}

/** What is known about the metric of a group. */
interface OfMetric {
  label?: string
  fmt?: string
  tests?: number
  events?: { date: string; label: string }[]
}

function labelled(context: MethodContext, column: string, name: string): OfMetric {
  const found = metricNamed(context, column, name)
  if (!found) return {}
  const { label, fmt, tests, events } = found.info
  return { label, fmt: fmt ?? 'num2', tests: tests.length, events }
}

/** One outcome of a group. A metric also has a label. */
type Group = Outcome & { by: string; label?: unknown }

interface Whole {
  method: Method
  words: Words
  /** The number of rows without a group. */
  left: number
  /** The doubts about groups that the outcome leaves out. */
  beyond: Doubt[]
}

/** The codes of blockers, which in one group are only caveats for the others. */
const MILD = CODE_NAMES.filter((code) => CODES[code].kind === 'blocker')

const ORDER: Grade[] = ['firm', 'likely', 'unclear', 'withheld']

function overAll(whole: Whole, groups: readonly Group[], more: Doubt[] = []): Outcome {
  const { method, words } = whole
  const grades = groups.map(({ grade }) => grade)
  const best = ORDER.find((grade) => grades.includes(grade)) ?? 'unclear'
  const n = groups.reduce((sum, group) => sum + group.n, 0)
  const tests = groups.flatMap((group) => (typeof group.p_adjusted === 'number' ? [group.p_adjusted] : []))
  const shown = headline(words, groups, best)
  const told = verdict({
    headline: shown,
    grade: best === 'withheld' ? 'unclear' : best,
    evidence: `${method.name} for each of ${count(groups.length, words.one, words.many)}${tests.length > 1 ? ', p corrected over them after Holm' : ''}, n = ${count(n, 'row')}.`,
    doubts: [
      ...doubtsOf(whole, groups, tests.length),
      ...ofGroups(groups, family(words, tests.length), shown),
      ...more,
    ],
    mild: best === 'withheld' || groups.length === 0 ? [] : MILD,
  })
  const outcome = { ...told, n, method: groups[0]?.method ?? method.name, groups }
  // A correction over the whole report raises the p of each group by the same factor.
  return judgedAgain(outcome, ({ factor }, doubted) => {
    const again = groups.map((group): Group => {
      const p = chanceOf(group)
      if (p === null) return group
      const p_adjusted = Math.min(1, p * factor)
      return { ...group, ...regraded(group, { p: p_adjusted, factor }, null), p_adjusted }
    })
    return overAll(whole, again, [doubted])
  })
}

/** Says "3 of 12 values of carrier give a clear answer; "AA": Delay clearly rose." */
function headline({ label, one, many }: Words, groups: readonly Group[], best: Grade): string {
  const sure = groups.filter((group) => group.grade === 'firm' || group.grade === 'likely')
  const all = count(groups.length, one, many)
  if (sure.length === 0 && groups.length !== 1) return `None of the ${all} gives a clear answer.`
  const first = sure.find((group) => group.grade === best) ?? sure[0] ?? groups[0]!
  const name = nameOf(first)
  const told = first.headline.toLowerCase().includes(name.toLowerCase())
    ? first.headline
    : `${opening(name)}: ${first.headline}`
  if (groups.length === 1)
    return told === first.headline || first.label
      ? told
      : `${opening(partNamed(label, first.by))}: ${first.headline}`
  const tested = groups.some((group) => chanceOf(group) !== null)
  if (!tested && sure.length === groups.length) return `${all} are described one by one; ${told}`
  const answer = sure.every(({ grade }) => grade === 'firm') ? 'a clear answer' : 'a clear or probable answer'
  const every = groups.length === 2 ? `Both ${many}` : `All ${all}`
  const which = sure.length === groups.length ? every : `${sure.length} of ${all}`
  return `${which} ${sure.length === 1 ? 'gives' : 'give'} ${answer}; ${told}`
}

function doubtsOf({ method, words, left, beyond }: Whole, groups: readonly Group[], tests: number): Doubt[] {
  const found: Doubt[] = []
  const withheld = groups.filter((group) => group.grade === 'withheld')
  if (groups.length === 0) found.push(doubt('too_few', `No row has a ${words.one}.`))
  if (withheld.length > 0) {
    const code = withheld[0]!.blockers[0]?.code === 'constant' ? 'constant' : 'too_few'
    const names = namesOf(withheld)
    const text =
      withheld.length === 1
        ? ofWhom(names, withheld[0]!.headline)
        : `For ${names} ${QUESTIONS[method.name] ?? 'this question has no answer'}.`
    found.push(doubt(code, text))
  }
  if (tests > 1) found.push(doubt('many_tests', family(words, tests)))
  return [...found, ...beyond, ...leftOut(left, `without a ${words.one}`)]
}

/** The question that stays open for a group without an answer. */
const QUESTIONS: Record<string, string> = {
  anomalies: 'the data do not say what stands out',
  compare: 'the data do not say what changed',
  drivers: 'the data do not say what moved it',
  forecast: 'the data do not say what comes next',
  trend: 'the data do not say whether there is a trend',
}

const family = ({ label, many }: Words, tests: number): string =>
  `The ${tests} ${many.replace(` of ${label}`, '')} are tested together, and their certainty allows for that.`

/**
 * Returns the doubts of single groups. Each kind is listed once, in the words of most groups, with the groups that have
 * it. `told` holds what is already said about all groups, and `shown` the headline of one group.
 */
function ofGroups(groups: readonly Group[], told: string, shown: string): Doubt[] {
  const found = groups.flatMap((group) =>
    group.caveats.filter(({ says }) => says !== told).map(({ code, says }) => ({ group, code, says })),
  )
  const kinds = Map.groupBy(found, ({ code }) => code)
  return [...kinds].map(([code, all]) => {
    const texts = [...Map.groupBy(all, ({ says }) => says)].toSorted(([, a], [, b]) => b.length - a.length)
    const [says, own] = texts[0]!
    const names = new Set(own.map(({ group }) => group))
    const others = new Set(all.map(({ group }) => group).filter((group) => !names.has(group)))
    const each = groups.length > 1 && /\d/u.test(says) ? 'In each: ' : ''
    const whose = names.size < groups.length ? `Of ${namesOf([...names])}: ` : each
    const more = others.size === 0 ? '' : ` The same kind of doubt holds for ${namesOf([...others])}.`
    const first = names.size === 1 && shown.includes(says)
    return doubt(code as Code, first ? more.trim() || says : `${whose}${says}${more}`)
  })
}

/** Names a metric by its label, and a value of the data in quotes. */
const nameOf = ({ by, label }: Group): string => (typeof label === 'string' ? label : quoted(by))

/** Begins a sentence with the group, unless the sentence names the group itself. */
const ofWhom = (name: string, says: string): string =>
  says.toLowerCase().startsWith(name.toLowerCase()) ? says : `Of ${name}: ${says}`

/** Says '"a", "b", "c" and 4 more'. */
function namesOf(groups: readonly Group[]): string {
  const shown = groups.slice(0, 3).map(nameOf)
  return enumeration(groups.length > 3 ? [...shown, `${groups.length - 3} more`] : shown)
}
