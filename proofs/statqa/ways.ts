/**
 * Maps each method that StatQA's answers name to a method here, and says which recorded figures can be compared.
 * StatQA: Zhu and others, Are Large Language Models Good Statisticians?, NeurIPS 2024, github.com/HKUSTDial/StatQA
 * (commit 31ca981).
 */
import { quote } from '../../packages/engine/methods/shared/method.ts'

export interface Columns {
  /** The columns of the question, in their order. */
  plain: string[]
  strata: string[]
  controls: string[]
}

/** The SQL that shapes the columns for a method (over `data`), and the method's options. */
export interface Asking {
  sql: string
  options: Record<string, unknown>
}

type Outcome = Record<string, unknown>
export type Figures = Record<string, unknown>

export interface Way {
  kind: string
  /** The number of the 1,163 questions of mini-StatQA that name the method. */
  questions: number
  method: string
  /** The options in the form that the guide shows. */
  shown: string
  ask(columns: Columns): Asking
  /** Returns the values that must exist for the question to count as answered. */
  answer(outcome: Outcome): unknown[]
  /** Returns the figures that can be compared with StatQA's record. Absent if StatQA computes something else. */
  compared?(outcome: Outcome): Figures
  /** The reason why its record is not compared. */
  differs?: string
}

const sides = ([a, b]: string[]): string =>
  `select 'first' as g, cast(${quote(a!)} as double) as v from data where ${quote(a!)} is not null and ${quote(b!)} is not null
   union all select 'second', cast(${quote(b!)} as double) from data where ${quote(a!)} is not null and ${quote(b!)} is not null`

const groups =
  (options: Record<string, unknown>) =>
  ({ plain }: Columns): Asking => ({
    sql: sides(plain),
    options: { value: 'v', group: 'g', ...options },
  })
const pair =
  (options: Record<string, unknown>) =>
  ({ plain: [x, y], strata: [strata], controls }: Columns): Asking => ({
    sql: `select ${[x!, y!, ...(strata === undefined ? [] : [strata]), ...controls].map(quote).join(', ')} from data`,
    options: {
      x,
      y,
      ...options,
      ...(strata === undefined ? {} : { strata }),
      ...(controls.length === 0 ? {} : { controls }),
    },
  })
const column =
  (options: Record<string, unknown> = {}) =>
  ({ plain: [value] }: Columns): Asking => ({
    sql: `select cast(${quote(value!)} as double) as v from data`,
    options: { value: 'v', ...options },
  })
const p = (outcome: Outcome): unknown[] => [outcome.p]
const both = (outcome: Outcome): Figures => ({ stat: outcome.statistic, 'p value': outcome.p })
const chance = (outcome: Outcome): Figures => ({ 'p value': outcome.p })
const coefficient = (outcome: Outcome): Figures => ({ coefficient: outcome.effect_size })

const spread = (
  test: string,
  questions: number,
  more: Partial<Way> & Pick<Way, 'compared' | 'differs'>,
): Way => ({
  kind: 'variance',
  questions,
  method: 'compare_groups',
  shown: `test: ${test}`,
  ask: groups({ test }),
  answer: p,
  ...more,
})
const numbers = (test: string, questions: number): Way => ({
  kind: 'correlation',
  questions,
  method: 'association',
  shown: `test: ${test}`,
  ask: pair({ as: 'numbers', test }),
  answer: p,
  compared: coefficient,
})
const categories = (test: string, questions: number, more: Partial<Way>): Way => ({
  kind: 'contingency table',
  questions,
  method: 'association',
  shown: `as: categories, test: ${test}`,
  ask: pair({ as: 'categories', test }),
  answer: p,
  ...more,
})
const shape = (
  shown: string,
  options: Record<string, unknown>,
  questions: number,
  more: Partial<Way>,
): Way => ({
  kind: 'distribution',
  questions,
  method: 'normality',
  shown,
  ask: column(options),
  answer: p,
  ...more,
})
const described = (field: string, questions: number): Way => ({
  kind: 'description',
  questions,
  method: 'describe',
  shown: `\`${field}\``,
  ask: column(),
  answer: (outcome) => [outcome[field]],
  compared: (outcome) => ({ conclusion: outcome[field] }),
})
const FIXED = 'compared with a distribution whose parameters are fixed beforehand'
const fitted = (distribution: string, questions: number): Way =>
  shape(`distribution: ${distribution}`, { distribution }, questions, { differs: FIXED })

export const WAYS: Record<string, Way> = {
  Mean: described('mean', 37),
  Median: described('median', 36),
  Mode: {
    ...described('mode', 23),
    method: 'profile',
    shown: '`columns[].top`; for numbers also `describe`, `mode`',
    ask: ({ plain: [value] }) => ({ sql: `select ${quote(value!)} as v from data`, options: {} }),
    answer: (outcome) => [topOf(outcome)],
    compared: (outcome) => ({ conclusion: topOf(outcome) }),
  },
  Range: described('range', 30),
  Quartile: {
    ...described('q1', 35),
    shown: '`q1`, `median`, `q3`',
    compared: ({ min, q1, median, q3, max }) => ({ Min: min, Q1: q1, Median: median, Q3: q3, Max: max }),
  },
  'Standard Deviation': {
    ...described('sd', 39),
    // StatQA's record divides by n.
    compared: ({ sd, n }) => ({ conclusion: Number(sd) * Math.sqrt(1 - 1 / Number(n)) }),
  },
  Skewness: described('skewness', 26),
  Kurtosis: described('kurtosis', 33),
  'Pearson Correlation Coefficient': numbers('pearson', 55),
  'Spearman Correlation Coefficient': numbers('spearman', 55),
  'Kendall Correlation Coefficient': numbers('kendall', 93),
  'Partial Correlation Coefficient': {
    ...numbers('partial', 75),
    shown: 'test: partial, controls: [COLUMN]',
    compared: ({ effect_size, p: chanceOf }) => ({ coefficient: effect_size, 'p value': chanceOf }),
  },
  'Chi-square Independence Test': categories('chi_square', 159, { compared: squareTable }),
  'Fisher Exact Test': categories('fisher', 59, { compared: chance }),
  'Mantel-Haenszel Test': categories('cochran_mantel_haenszel', 87, {
    shown: 'as: categories, strata: COLUMN',
    compared: chance,
  }),
  'Shapiro-Wilk Test of Normality': shape('test: shapiro_wilk', { test: 'shapiro_wilk' }, 22, {
    compared: chance,
  }),
  'Anderson-Darling Test': shape('test: anderson_darling', { test: 'anderson_darling' }, 122, {
    compared: ({ statistic }) => ({ stat: statistic }),
  }),
  'Lilliefors Test': shape('test: lilliefors', { test: 'lilliefors' }, 100, {
    compared: ({ p: found }) => ({ below: typeof found === 'number' ? found < 0.05 : null }),
  }),
  'Kolmogorov-Smirnov Test for Normality': shape('mean: NUMBER, sd: NUMBER', {}, 122, {
    differs: 'mean and deviation are taken from the data, for which Lilliefors has the p',
    ask: ({ plain: [value] }) => ({
      sql: `select cast(${quote(value!)} as double) as v from data`,
      options: { value: 'v', test: 'lilliefors' },
    }),
  }),
  'Kolmogorov-Smirnov Test for Uniform distribution': fitted('uniform', 11),
  'Kolmogorov-Smirnov Test for Exponential distribution': fitted('exponential', 11),
  'Kolmogorov-Smirnov Test for Gamma distribution': fitted('gamma', 19),
  'Kolmogorov-Smirnov Test': {
    kind: 'distribution',
    questions: 73,
    method: 'compare_groups',
    shown: 'what: distribution',
    ask: groups({ what: 'distribution' }),
    answer: p,
    compared: chance,
  },
  'Mood Variance Test': spread('mood', 244, { compared: chance }),
  'Levene Test': spread('brown_forsythe', 244, { shown: 'test: brown_forsythe or levene', compared: both }),
  'Bartlett Test': spread('bartlett', 94, { compared: both }),
  'F-Test for Variance': spread('f_variance', 94, {
    differs: 'its record is an analysis of variance of the means',
  }),
}

function topOf({ columns }: Outcome): unknown {
  const [first] = columns as { top: { value: unknown }[] }[]
  return first?.top[0]?.value ?? null
}

/** Returns the figures of a table of two by two. StatQA corrects them after Yates; ours are not corrected. */
function squareTable(outcome: Outcome): Figures {
  return (outcome.counts as unknown[]).length === 4 ? {} : chance(outcome)
}
