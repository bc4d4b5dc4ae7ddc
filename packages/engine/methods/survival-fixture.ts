/** Runs every method over random tables, for survival.test.ts and the proof of that name. */
import assert from 'node:assert/strict'
import { inspect } from 'node:util'
import type { Outcome } from '@assay/model/insight'
import * as fc from 'fast-check'
import { Compile, type Validator } from 'typebox/compile'
import { headlineFaults } from '../verdicts/headline-fixture.ts'
import { METHODS } from './catalog.ts'
import { columnsOf, outcomeOf, relation } from './relation-fixture.ts'
import { outcomeSchema } from './shared/fields.ts'
import type { Relation } from './shared/method.ts'
import { adjustAcross } from './shared/multiplicity.ts'

/** The options of each method, over the columns t, v, w, g, i, e, s. */
export const asked: Record<string, Record<string, unknown>[]> = {
  describe: [{ value: 'v' }, { values: ['v', 'w'] }],
  profile: [{}],
  compare: [
    { time: 't', value: 'v' },
    { time: 't', value: 'v', aggregate: 'mean' },
  ],
  trend: [
    { time: 't', value: 'v' },
    ...['original', 'hamed_rao', 'seasonal'].map((test) => ({ time: 't', value: 'v', test, period: 3 })),
  ],
  changepoints: [{ time: 't', value: 'v' }],
  seasonality: [
    { time: 't', value: 'v' },
    { time: 't', value: 'v', period: 3 },
  ],
  anomalies: [
    { time: 't', value: 'v' },
    { time: 't', value: 'v', period: 'none' },
    { time: 't', value: 'v', period: 3 },
    { time: 't', value: 'v', by: ['g', 'e'] },
  ],
  drivers: [
    { value: 'v', by: ['g', 'e'], time: 't' },
    { numerator: 'v', denominator: 'w', by: ['g'], split: { column: 'e', before: 'a', after: 'b' } },
  ],
  ab_test: [
    { group: 'g', value: 'v' },
    { group: 'g', success: 's' },
    { group: 'g', success: 's', test: 'fisher' },
  ],
  experiment: [
    {
      unit: 'i',
      arm: 'g',
      time: 't',
      metrics: [{ name: 'v', value: 'v', covariate: 'w', minimum_effect: 1 }],
    },
    {
      unit: 'i',
      arm: 'g',
      metrics: [{ name: 'v', value: 'v', good: 'up', margin: 1 }],
    },
    {
      unit: 'i',
      arm: 'e',
      looks: 'sequential',
      metrics: [
        { name: 'r', numerator: 'v', denominator: 'w', winsorise: 0.9 },
        { name: 'v', value: 'v', aggregate: 'sum' },
      ],
    },
  ],
  plan: [
    { unit: 'i', time: 't', value: 'v', lift: 0.05 },
    { unit: 'i', time: 't', value: 'v', aggregate: 'sum', minimum_effect: -1, covariate: 'w', arms: 2 },
    { unit: 'i', time: 'v', success: 's', minimum_effect: 0.02, looks: 'sequential' },
    { unit: 'g', numerator: 'v', denominator: 'w', margin: 0.1, winsorise: 0.9 },
  ],
  cohorts: [{ id: 'i', time: 't' }],
  funnel: [{ id: 'i', time: 't', event: 'e', steps: ['a', 'b', 'a'] }],
  forecast: [
    { time: 't', value: 'v', horizon: 4 },
    { time: 't', value: 'v', horizon: 4, period: 3 },
  ],
  correlation: [
    { values: ['v', 'w'] },
    { values: ['v', 'w'], test: 'kendall' },
    { values: ['v', 'w'], test: 'spearman', controls: ['i'] },
  ],
  association: [
    { x: 'v', y: 'w' },
    { x: 'v', y: 'w', test: 'kendall' },
    { x: 'v', y: 'w', controls: ['i'] },
    { x: 'g', y: 'e' },
    { x: 'g', y: 's', test: 'fisher' },
    { x: 'e', y: 's', strata: 'g' },
    { x: 'g', y: 's', strata: 'e' },
    { x: 'v', y: 'g' },
  ],
  regression: [
    { y: 'v', x: ['w'] },
    { y: 'v', x: ['w', { column: 'w', power: 2 }], intercept: false },
    { y: 'v', x: ['w', 'i'], errors: 'hc3' },
    { y: 's', x: ['w'], family: 'logistic' },
    { y: 'i', x: ['w', 'v'], family: 'poisson' },
  ],
  anova: [
    { value: 'v', by: 'g' },
    { value: 'v', by: 'g', test: 'welch' },
  ],
  normality: [
    { value: 'v' },
    ...['anderson_darling', 'lilliefors', 'dagostino_pearson'].map((test) => ({ value: 'v', test })),
    ...['uniform', 'exponential', 'gamma'].map((distribution) => ({ value: 'v', distribution })),
    { value: 'v', mean: 0, sd: 1 },
  ],
  outliers: [{ value: 'v', label: 'g' }, ...['modified_z', 'iqr', 'z'].map((rule) => ({ value: 'v', rule }))],
  compare_groups: [
    { value: 'v', group: 'g' },
    { value: 'v', group: 'e' },
    ...['welch', 'student', 'mann_whitney', 'f_variance', 'mood', 'bartlett', 'levene'].map((test) => ({
      value: 'v',
      group: 'e',
      test,
    })),
    ...['anova', 'kruskal_wallis', 'kolmogorov_smirnov'].map((test) => ({ value: 'v', group: 'g', test })),
    { value: 'v', group: 'g', what: 'spread' },
    { value: 'v', group: 'e', what: 'distribution' },
    { value: 'v', group: 'e', paired: 'i' },
    { value: 'v', group: 'e', paired: 'i', test: 'signed_rank' },
    { value: 'v', group: 'g', paired: 'i' },
  ],
  pareto: [{ value: 'v', by: 'g' }],
}

/** Returns the table with a cache of its queries. Its rows do not change, and the methods repeat many queries. */
export function remembering(table: Relation): Relation {
  const answers = new Map<string, ReturnType<Relation['query']>>()
  return {
    ...table,
    async query(sql, values) {
      // The key is not JSON, in which NaN is null.
      const query = inspect([sql, values], { maxStringLength: null })
      const answer = answers.get(query) ?? table.query(sql, values)
      answers.set(query, answer)
      return (await answer).map((row) => ({ ...row }))
    },
  }
}

export function assertSound(outcome: Outcome, title: string): void {
  for (const text of [outcome.summary, outcome.method, ...outcome.notes]) {
    assert.ok(text.length > 0, title)
    assert.doesNotMatch(text, /NaN|Infinity|undefined|\bnull\b|\[object|[\n\r\t]/, title)
  }
  assert.deepEqual(headlineFaults(outcome), [], title)
  assert.ok(Number.isSafeInteger(outcome.n) && outcome.n >= 0, title)
  const walk = (value: unknown, path: string): void => {
    if (typeof value === 'number') assert.ok(Number.isFinite(value), `${title}: ${path} is ${value}`)
    else if (value !== null && typeof value === 'object') {
      for (const [key, part] of Object.entries(value)) walk(part, `${path}.${key}`)
    } else assert.notEqual(value, undefined, `${title}: ${path}`)
  }
  walk(outcome, 'outcome')
}

const validators = new Map<string, Validator>()

/** Asserts that every field is described and that every described field exists. */
function assertDescribed(
  name: string,
  options: Record<string, unknown>,
  outcome: Outcome,
  title: string,
): void {
  const key = JSON.stringify([name, options])
  const validator = validators.get(key) ?? Compile(outcomeSchema(METHODS[name]!.fields, options))
  validators.set(key, validator)
  const sent: unknown = JSON.parse(JSON.stringify(outcome))
  if (!validator.Check(sent)) assert.fail(`${title} ${key}: ${JSON.stringify(validator.Errors(sent))}`)
}

/** Which options of a method run: all, or in each round every sixth and at least one. Six rounds run all of them. */
export type Round = number | 'all'
const TURNS = 6
export function taken(name: string, turn: Round): Record<string, unknown>[] {
  const all = asked[name]!
  if (turn === 'all') return all
  const some = all.filter((_, index) => (index + turn) % TURNS === 0)
  return some.length > 0 ? some : [all[turn % all.length]!]
}

export async function assertAllSurvive(made: Relation, title: string, turn: Round): Promise<void> {
  const table = remembering(made)
  const outcomes: Record<string, Outcome> = {}
  const given: Record<string, [method: string, options: Record<string, unknown>]> = {}
  for (const [name, method] of Object.entries(METHODS)) {
    for (const [index, options] of taken(name, turn).entries()) {
      const outcome = await outcomeOf(method, table, options)
      assertSound(outcome, `${title}: ${name} ${JSON.stringify(options)}`)
      assertDescribed(name, options, outcome, `${title}: ${name}`)
      outcomes[`${name}${index}`] = outcome
      given[`${name}${index}`] = [name, options]
    }
  }
  for (const [name, outcome] of Object.entries(adjustAcross(outcomes))) {
    assertSound(outcome, `${title}: adjusted ${name}`)
    assertDescribed(...given[name]!, outcome, `${title}: adjusted ${name}`)
  }
}

export const rows = (n: string, v: string, w = 'k % 5', t = "date '2024-01-01' + k::int") =>
  relation(
    `select ${t} as t, cast(${v} as double) as v, cast(${w} as double) as w, 'g' || (k % 3) as g, k // 3 as i,
       case k % 2 when 0 then 'a' else 'b' end as e, k % 4 = 0 as s from range(${n}) r(k)`,
  )

export const extremes: Record<string, () => Promise<Relation>> = {
  'no rows': () => rows('0', 'k'),
  'one row': () => rows('1', '3'),
  'two rows': () => rows('2', 'k'),
  'three rows': () => rows('3', 'k'),
  'constant values': () => rows('120', '7'),
  'all zero': () => rows('120', '0', '0'),
  'all null': () => rows('50', 'null', 'null'),
  'null times and groups': () =>
    relation(
      `select null::date as t, 1.5::double as v, 2.5::double as w, null::varchar as g, null::int as i, null::varchar as e, null::boolean as s from range(20)`,
    ),
  'infinite and undefined values': () =>
    rows(
      '90',
      "case k % 4 when 0 then 'inf'::double when 1 then 'nan'::double when 2 then '-inf'::double else k end",
      "case when k % 3 = 0 then 'inf'::double else k end",
    ),
  'only infinite values': () => rows('40', "'inf'::double", "'nan'::double"),
  'very large values': () => rows('100', '(k % 7 - 3) * 5e307', '1.7e308 - k * 1e306'),
  'very small values': () => rows('100', '(k % 7) * 5e-324', 'k * 1e-310'),
  'large against small': () => rows('100', 'case when k = 50 then 1e300 else k * 1e-300 end', '1e-300'),
  'duplicate rows': () => rows('200', 'k // 100', '3', "date '2024-01-01' + (k // 50)::int"),
  'a straight line': () => rows('200', 'k * 3 + 1', 'k'),
  'a perfect season': () => rows('120', 'k % 3', 'k % 7'),
  'a season with one spike': () => rows('120', 'k % 3 + case when k = 60 then 100 else 0 end'),
  'a sawtooth': () => rows('60', '(k % 2) * 2 - 1', '1 - (k % 2)'),
  'timestamps with gaps': () =>
    rows(
      '150',
      'sin(k) * 10 + k',
      'cos(k)',
      "timestamptz '2024-02-28 00:00:00+00' + interval (k * k % 977) hour",
    ),
  'negative zeros': () => rows('60', "case when k % 2 = 0 then '-0'::double else 0 end", "'-0'::double"),
  'the largest numbers of both signs': () =>
    rows('60', 'case when k % 2 = 0 then 1.79e308 else -1.79e308 end', '1.79e308'),
  'months before 1970': () => rows('60', 'k % 12 + k', '1', "date '1890-01-01' + interval (k) month"),
  'days to come': () => rows('60', 'k % 7 + k', '1', "date '2190-01-01' + k::int"),
  'working days': () => rows('60', 'k % 5 + k', '1', "date '2024-01-01' + (k // 5 * 7 + k % 5)::int"),
  'month ends': () => rows('60', 'k % 12 + k', '1', "last_day(date '2019-01-31' + interval (k) month)"),
  'dates far from ours': () =>
    rows(
      '40',
      'k',
      '1',
      "case when k % 3 = 0 then date '12000-01-01' + k::int when k % 3 = 1 then date '0001-01-01 (BC)' + k::int else date '2020-01-01' + k::int end",
    ),
  'infinite dates': () =>
    rows('30', 'k', '1', "case when k % 5 = 0 then 'infinity'::date else date '2024-01-01' + k::int end"),
}

/** Names of groups that a sentence must keep in one line and apart from its own words. */
const GROUPS = ['x', 'y', 'two\nlines', 'a "quote"', '<b>&amp;', '日本 😀', '', 'x'.repeat(300)]
const NO_MEANING = { label: null, unit: null, fmt: null, good: 'none', target: null } as const
const MEANINGS = [
  {},
  { unit: '%' },
  { fmt: 'pct1' },
  { unit: 'EUR', good: 'up' },
  { unit: 'minutes', label: 'Waiting time' },
] as const

/** Runs every method on `runs` random tables. */
export async function assertRandomSurvive(
  runs: number,
  seed: number,
  turnOf: (run: number) => Round,
): Promise<void> {
  const value = fc.oneof(
    { weight: 6, arbitrary: fc.double({ min: -1000, max: 1000, noNaN: true }) },
    { weight: 2, arbitrary: fc.integer({ min: -3, max: 3 }) },
    { weight: 1, arbitrary: fc.constant(null) },
    { weight: 1, arbitrary: fc.double({ noNaN: true, noDefaultInfinity: true }) },
  )
  const row = fc.record({
    v: value,
    w: value,
    day: fc.integer({ min: 0, max: 60 }),
    g: fc.constantFrom(...GROUPS, null),
    s: fc.boolean(),
  })
  const given = fc.record({
    rows: fc.array(row, { minLength: 1, maxLength: 40 }),
    from: fc.constantFrom('2024-01-01', '1893-11-20', '2190-05-01'),
    meaning: fc.constantFrom(...MEANINGS),
  })
  let run = 0
  await fc.assert(
    fc.asyncProperty(given, async ({ rows: made, from, meaning }) => {
      const at = (day: number) => new Date(Date.parse(from) + day * 86_400_000).toISOString().slice(0, 10)
      const known = await columnsOf(
        {
          t: made.map(({ day }) => at(day)),
          v: made.map(({ v }) => v),
          w: made.map(({ w }) => w),
          g: made.map(({ g }) => g),
          i: made.map(({ day }) => day % 5),
          e: made.map(({ s }) => (s ? 'a' : 'b')),
          s: made.map(({ s }) => s),
        },
        { t: 'DATE', v: 'DOUBLE', w: 'DOUBLE', g: 'VARCHAR', e: 'VARCHAR', s: 'BOOLEAN' },
      )
      const table = remembering(known)
      run += 1
      const meanings = new Map(['v', 'w'].map((name) => [name, { ...NO_MEANING, ...meaning }]))
      for (const [name, method] of Object.entries(METHODS)) {
        for (const options of taken(name, turnOf(run)))
          assertSound(
            await outcomeOf(method, table, options, undefined, { meanings }),
            `${name} ${JSON.stringify(options)}`,
          )
      }
    }),
    { numRuns: runs, seed, endOnFailure: true },
  )
}
