/**
 * correlation: measures how strongly columns go together, pair by pair.
 *
 * Pearson's r with Fisher's interval (tanh(atanh r +- z / sqrt(n - 3))) and its t test, as R's cor.test; Spearman's
 * rank correlation with mean ranks for ties; Kendall's tau-b with `test: kendall`; partial correlation with `controls`.
 * p adjusted over the pairs by Benjamini and Hochberg. Rows that lack either value of a pair are left out of that pair;
 * rows with a date of their own are a series (relations/series-order.ts). relations/pair.ts says how much is fetched;
 * there/correlation.ts has the queries to a database.
 */
import type { Doubt, Grade } from '@assay/model/insight'
import { Type } from '@assay/model/schema'
import type { Static } from 'typebox'
import { type Meanings, measureOf, opening } from '../verdicts/measure.ts'
import { comparative, verbFor } from '../verdicts/nouns.ts'
import { doubt, gradeOf, LIKELY, lesser, verdict } from '../verdicts/verdict.ts'
import { CERTAINTY } from '../verdicts/words.ts'
import { hiddenGroup } from './relations/hidden-group.ts'
import {
  alikeNeighbours,
  LEAST_PAIRS,
  MOST_KENDALL,
  type Pair,
  pairDecides,
  pairOf,
  partialOf,
  tauOf,
} from './relations/pair.ts'
import { type Order, seriesOrder } from './relations/series-order.ts'
import { columnOf, numberSql } from './shared/columns.ts'
import { integer, number, pAdjusted, rowsWith, text, whereGiven } from './shared/fields.ts'
import type { Method, Relation } from './shared/method.ts'
import { benjaminiHochberg } from './shared/multiplicity.ts'
import { count, finite, probability, range } from './shared/sentence.ts'
import { orderThere } from './there/correlation.ts'

const Options = Type.Object(
  {
    values: Type.Array(Type.String(), { minItems: 2, maxItems: 20, uniqueItems: true }),
    test: Type.Enum(['pearson', 'spearman', 'kendall'], {
      default: 'pearson',
      description: 'The coefficient whose p decides.',
    }),
    controls: Type.Optional(
      Type.Array(Type.String(), {
        minItems: 1,
        maxItems: 10,
        description: 'Numbers whose lines are taken out of both.',
      }),
    ),
  },
  { additionalProperties: false },
)
type Options = Static<typeof Options>

interface Told extends Omit<Pair, 'spearman_p' | 'series' | 'worth' | 'ends'> {
  kendall: number | null
  p_adjusted: number | null
  partial?: number | null
  partial_low?: number | null
  partial_high?: number | null
  partial_p?: number | null
}

export const correlation: Method = {
  name: 'correlation',
  options: Options,
  columns(options) {
    const { values, controls } = options as Options
    return [
      ...values.map((column) => ({ option: 'values', column, numeric: true })),
      ...(controls ?? []).map((column) => ({ option: 'controls', column, numeric: true })),
    ]
  },
  fields: {
    pairs: rowsWith({
      x: text,
      y: text,
      n: integer,
      pearson: number,
      spearman: number,
      kendall: number,
      low: number,
      high: number,
      p: number,
      p_adjusted: number,
      ...whereGiven('controls', {
        partial: number,
        partial_low: number,
        partial_high: number,
        partial_p: number,
      }),
    }),
    p_adjusted: pAdjusted,
  },
  asks(options) {
    const { test, controls } = options as Options
    return test !== 'kendall' && controls === undefined
  },
  async run(table, options, { meanings }) {
    const given = options as Options
    const order = table.there ? await orderThere(table.there, table.columns) : await seriesOrder(table)
    const found: Pair[] = []
    const pairs: Told[] = []
    for (const [index, x] of given.values.entries()) {
      for (const y of given.values.slice(index + 1)) {
        const pair = await pairOf(table, [x, y], { order })
        found.push(pair)
        pairs.push(await toldOf(table, given, pair, order))
      }
    }
    const decides = (pair: Told) => (given.controls === undefined ? pair.p : (pair.partial_p ?? null))
    const tested = pairs.filter((pair) => decides(pair) !== null)
    const adjusted = benjaminiHochberg(tested.map((pair) => decides(pair)!))
    for (const [index, pair] of tested.entries()) pair.p_adjusted = adjusted[index]!
    const told = verdict({
      headline: (grade, factor) => headline(grade, raisedBy(tested, factor), given, meanings),
      grade: gradeOf(tested.length === 0 ? null : Math.min(...adjusted)),
      evidence: evidence(tested, pairs.length, given, meanings),
      doubts: [
        (factor) => oneRow(found, raisedBy(tested, factor), given, meanings),
        ...(await hidden(table, tested, given, meanings)),
        ...doubtsOf(pairs, given, meanings),
        ...alikeNeighbours(found),
      ],
      mild: tested.length > 0 ? ['too_few', 'constant'] : [],
    })
    return { ...told, n: Math.max(...pairs.map((pair) => pair.n)), method: NAMES[given.test], pairs }
  },
}

const NAMES = {
  pearson: 'Pearson (Fisher interval, t test) and Spearman; p adjusted by Benjamini and Hochberg',
  spearman: 'Spearman (t approximation) beside Pearson; p adjusted by Benjamini and Hochberg',
  kendall: "Kendall's tau-b beside Pearson and Spearman; p adjusted by Benjamini and Hochberg",
}

async function toldOf(
  table: Relation,
  { test, controls }: Options,
  pair: Pair,
  order: Order | null,
): Promise<Told> {
  const { spearman_p, series: _, worth: __, ends: ___, ...fields } = pair
  const names = [pair.x, pair.y] as const
  const tau = test === 'kendall' && pair.pearson !== null ? await tauOf(table, pair) : { tau: null, p: null }
  const p = test === 'kendall' ? tau.p : test === 'spearman' ? spearman_p : pair.p
  const told = { ...fields, kendall: tau.tau, p, p_adjusted: null }
  if (controls === undefined) return told
  const { partial } = await partialOf(table, names, controls, { ranked: test === 'spearman', order })
  return {
    ...told,
    partial: finite(partial?.r ?? Number.NaN),
    partial_low: finite(partial?.low ?? Number.NaN),
    partial_high: finite(partial?.high ?? Number.NaN),
    partial_p: finite(partial?.p ?? Number.NaN),
  }
}

/** Returns the pairs after a correction for further tests. */
const raisedBy = (pairs: readonly Told[], factor: number): Told[] =>
  pairs.map((pair) => ({ ...pair, p_adjusted: Math.min(1, pair.p_adjusted! * factor) }))

const sizeOf = (pair: Told, { test, controls }: Options): number =>
  (controls === undefined ? (test === 'kendall' ? pair.kendall : pair[test]) : pair.partial) ?? 0

function strongest(pairs: readonly Told[], given: Options): Told | undefined {
  return pairs.toSorted((a, b) => Math.abs(sizeOf(b, given)) - Math.abs(sizeOf(a, given)))[0]
}

/** Says "Speed and distance clearly rise together." */
function headline(grade: Grade, pairs: readonly Told[], given: Options, meanings: Meanings): string {
  const found = pairs.filter((pair) => pair.p_adjusted! <= LIKELY)
  const best = strongest(found, given)
  const name = (column: string) => measureOf(meanings, column).label
  const held = given.controls ? ` with ${given.controls.map(name).join(' and ')} held equal` : ''
  if (!best || grade === 'unclear') {
    const what =
      pairs.length === 1 ? `${name(pairs[0]!.x)} and ${name(pairs[0]!.y)}` : 'any two of the columns'
    return `No clear link between ${what}${held}.`
  }
  const sure = CERTAINTY[lesser(grade, gradeOf(best.p_adjusted))]
  const how =
    sizeOf(best, given) > 0
      ? `${opening(name(best.x))} and ${name(best.y)} ${sure} rise together${held}`
      : `${opening(comparative(measureOf(meanings, best.x), true))} ${sure} ${verbFor(name(best.x), 'goes', 'go')} with ${comparative(measureOf(meanings, best.y), false)}${held}`
  const weak = Math.abs(sizeOf(best, given)) < 0.1 ? ', but weakly' : ''
  if (pairs.length === 1) return `${how}${weak}.`
  const all = count(pairs.length, 'pair')
  return found.length === 1
    ? `${how}${weak}; no other of the ${all} shows a clear link.`
    : `${how}${weak}; this is the strongest of ${found.length} links among ${all}.`
}

function evidence(pairs: readonly Told[], all: number, given: Options, meanings: Meanings): string {
  const best = strongest(pairs, given)
  if (!best) return `${count(all, 'pair')}, none of which could be judged.`
  const name = (column: string): string => measureOf(meanings, column).label
  const tau = best.kendall === null ? '' : `, tau ${coefficient(best.kendall)}`
  const partial = best.partial === undefined ? '' : `, partial ${coefficient(best.partial)}`
  return (
    `Strongest pair ${name(best.x)} and ${name(best.y)}: r = ${coefficient(best.pearson)}, 95 % interval ${range(best.low, best.high, coefficient)}, ` +
    `rank correlation ${coefficient(best.spearman)}${tau}${partial}, ` +
    `${probability(best.p_adjusted)}${pairs.length > 1 ? ' adjusted' : ''}, n = ${count(best.n, 'row')}.`
  )
}

/** Prints a coefficient to three decimals, or to more if `resolution`, half the width of its interval, is finer. */
function coefficient(value: number | null, resolution?: number): string {
  const decimals = resolution ? Math.min(6, Math.max(3, 1 - Math.floor(Math.log10(resolution)))) : 3
  return value === null ? 'unknown' : value.toFixed(decimals).replace(/^-(?=0\.0+$)/u, '')
}

/** Returns the doubts that one row decides a link that was found, or the only pair. */
function oneRow(
  found: readonly Pair[],
  tested: readonly Told[],
  given: Options,
  meanings: Meanings,
): Doubt[] {
  if (given.test !== 'pearson' || given.controls !== undefined) return []
  return tested.flatMap(({ x, y, p, p_adjusted }) => {
    if (found.length > 1 && p_adjusted! > LIKELY) return []
    const pair = found.find((one) => one.x === x && one.y === y)!
    const factor = p === null || p === 0 ? 1 : p_adjusted! / p
    return pairDecides(pair, [measureOf(meanings, x), measureOf(meanings, y)], factor)
  })
}

/** Tells whether the strongest link changes within the values of a further column. */
async function hidden(
  table: Relation,
  tested: readonly Told[],
  given: Options,
  meanings: Meanings,
): Promise<Doubt[]> {
  const best = strongest(
    tested.filter(({ p_adjusted }) => p_adjusted! <= LIKELY),
    given,
  )
  if (!best || given.controls !== undefined) return []
  const [x, y] = [numberSql(table, 'values', best.x), numberSql(table, 'values', best.y)]
  const names = [best.x, best.y] as const
  const there = table.there ? ([0, 1] as const).map((i) => columnOf(table, 'values', names[i]).name) : []
  const [across, up] = there
  const asked = across !== undefined && up !== undefined ? { there: [across, up] as const } : {}
  return hiddenGroup(table, { x, y, own: names, r: sizeOf(best, given), ...asked }, meanings)
}

function doubtsOf(pairs: readonly Told[], given: Options, meanings: Meanings): Doubt[] {
  const found: Doubt[] = []
  for (const pair of pairs) {
    const names = `${measureOf(meanings, pair.x).label} and ${measureOf(meanings, pair.y).label}`
    if (pair.pearson === null) {
      const few = pair.n < LEAST_PAIRS
      const why = few
        ? `have ${pair.n === 0 ? 'no rows' : count(pair.n, 'row')} in common; at least ${LEAST_PAIRS} are needed`
        : 'cannot go together, because one of them never changes'
      found.push(doubt(few ? 'too_few' : 'constant', `${opening(names)} ${why}.`))
    } else if (given.controls && pair.partial === null)
      found.push(
        doubt(
          'too_few',
          `${opening(names)} cannot be judged with the others held equal: too few rows, or the columns depend on each other.`,
        ),
      )
    else if (given.test === 'kendall' && pair.kendall === null)
      found.push(
        doubt(
          'too_few',
          `${opening(names)} have more than ${MOST_KENDALL.toLocaleString('en-US')} rows; test: spearman reads as many as there are.`,
        ),
      )
    if (pair.pearson !== null && pair.spearman !== null && Math.abs(pair.pearson - pair.spearman) > 0.2)
      found.push(doubt('form_wrong', `The link of ${names} is curved or led by a few extreme rows.`))
  }
  if (pairs.length > 1) found.push(doubt('many_tests', 'The pairs are corrected for their number.'))
  return found
}
