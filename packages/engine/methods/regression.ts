/**
 * regression: explains a number by other columns and their powers with ordinary least squares; true or false with
 * `family: logistic`, counts with `poisson`.
 *
 * Householder QR with exact residuals (numeric/least-squares.ts), not normal equations; sums of squares come from exact
 * sums, t and F from their upper tails; logistic and Poisson are fitted by iteratively reweighted least squares
 * (numeric/models/glm.ts) with z and likelihood ratio. `errors: hc3` allows the spread to change. Without an intercept
 * R-squared is taken about 0, as in R's lm. Form, spread, collinearity and neighbours are checked (regress/checks.ts).
 * In a series whose neighbours are alike the grade allows for errors that are as persistent. The columns of at most
 * 200,000 complete rows are fetched. Of more rows only products come (regress/many.ts), for ordinary least squares.
 */
import type { Doubt, Grade } from '@assay/model/insight'
import { Type } from '@assay/model/schema'
import type { Static } from 'typebox'
import { leftOut } from '../verdicts/common-doubts.ts'
import { type Meanings, type Measure, measureOf, opening } from '../verdicts/measure.ts'
import { comparative, isCounted, singular, verbFor } from '../verdicts/nouns.ts'
import { doubt, gradeOf, LIKELY, verdict } from '../verdicts/verdict.ts'
import { brief, CERTAINTY, changeOf, shareOf } from '../verdicts/words.ts'
import { checkDoubts, NO_CHECKS } from './regress/checks.ts'
import { type NamedTerm, readDesign } from './regress/design.ts'
import type { Coefficient, Modelled } from './regress/modelled.ts'
import { countOf, fitRows, flatTerm, isConstant, isMany, type Rows, stepFor } from './regress/rows.ts'
import { separated } from './regress/separated.ts'
import { integer, number, object, pAdjusted, rowsWith, text } from './shared/fields.ts'
import { type Method, MethodError } from './shared/method.ts'
import { count, figure, percent, probability, range } from './shared/sentence.ts'

const Term = Type.Union([
  Type.String(),
  Type.Object(
    { column: Type.String(), power: Type.Integer({ minimum: 1, maximum: 12, default: 1 }) },
    { additionalProperties: false },
  ),
])
const Options = Type.Object(
  {
    y: Type.String(),
    x: Type.Array(Term, { minItems: 1, maxItems: 50 }),
    intercept: Type.Boolean({ default: true }),
    family: Type.Enum(['gaussian', 'logistic', 'poisson'], {
      default: 'gaussian',
      description: 'What y is: a number, true or false, a count.',
    }),
    errors: Type.Enum(['ordinary', 'hc3'], { default: 'ordinary' }),
    confidence: Type.Number({ default: 0.95, minimum: 0.5, maximum: 0.9999 }),
  },
  { additionalProperties: false },
)
type Options = Static<typeof Options>

const METHODS = {
  gaussian: 'ordinary least squares by QR',
  logistic: 'logistic regression by reweighted least squares',
  poisson: 'Poisson regression by reweighted least squares',
}

const methodOf = (design: Rows, { family }: Options): string =>
  isMany(design) ? 'ordinary least squares by products about the means' : METHODS[family]

export const regression: Method = {
  name: 'regression',
  options: Options,
  columns(options) {
    const { y, x, family } = options as Options
    return [
      { option: 'y', column: y, numeric: family !== 'logistic' },
      ...x.map((term) => ({ option: 'x', column: namedTerm(term).column, numeric: true })),
    ]
  },
  prints: () => true,
  fields: {
    coefficients: rowsWith({
      term: text,
      estimate: number,
      std_error: number,
      t: number,
      p: number,
      low: number,
      high: number,
      ratio: number,
    }),
    r_squared: number,
    residual_sd: number,
    f: number,
    p: number,
    p_adjusted: pAdjusted,
    df_model: integer,
    df_residual: integer,
    ss_model: number,
    ss_residual: number,
    family: text,
    errors: text,
    deviance: number,
    null_deviance: number,
    dispersion: number,
    checks: object({
      reset_p: number,
      breusch_pagan_p: number,
      residual_autocorrelation: number,
      largest_vif: number,
    }),
  },
  async run(table, options, { meanings }) {
    const given = options as Options
    const { y, x, intercept, family, errors } = given
    const terms = x.map(namedTerm)
    const design = await readDesign(table, y, terms, family)
    if (!isMany(design)) checkResponse(given, design.response)
    const n = countOf(design)
    const width = terms.length + (intercept ? 1 : 0)
    const measure = measureOf(meanings, y)
    const left = leftOut(design.left, 'without a number in every column')
    const stop = stopOf(design, n, width, measure.label)
    const fitted = stop ? null : await fitRows(design, terms, given)
    const model = fitted === null || typeof fitted === 'string' ? null : fitted
    const apart = fitted === 'separated' && !isMany(design) ? separated(design, terms, y, meanings) : null
    const curved = terms.some(({ power }) => power > 1)
    const doubts = stop
      ? [stop]
      : model
        ? [...checkDoubts(model.checks, model.alike, opening(measure.label), curved), ...model.doubts]
        : apart
          ? [apart.doubt]
          : [neverChanges(design, terms, meanings) ?? doubt('collinear', dependent(measure.label))]
    const bent = family === 'gaussian' && doubts.some(({ code }) => code === 'form_wrong')
    const asked = { given, meanings, bent }
    const told = verdict({
      headline: model
        ? (grade, factor) => headline(grade, factor, model, stepFor(design, terms, model), asked)
        : stop
          ? ''
          : (apart?.headline ?? dependent(measure.label)),
      grade: model ? gradeOf(model.lead?.p_holm ?? null) : (apart?.grade ?? 'unclear'),
      evidence: model
        ? evidence(model, given, n, meanings, methodOf(design, given))
        : (apart?.evidence ?? `${count(n, 'complete row')} for ${count(width, 'coefficient')}.`),
      doubts: [
        ...doubts,
        (factor) => oneRowOf(model, measure, meanings, factor),
        ...few(n, width, model),
        ...left,
      ],
      mild: model ? ['too_few'] : [],
    })
    const fields = model ? model.fields : NOTHING
    const checks = model ? model.checks : NO_CHECKS
    return { ...told, n, method: methodOf(design, given), ...fields, family, errors, checks }
  },
}

const NOTHING = {
  coefficients: [],
  r_squared: null,
  residual_sd: null,
  f: null,
  p: null,
  df_model: null,
  df_residual: null,
  ss_model: null,
  ss_residual: null,
  deviance: null,
  null_deviance: null,
  dispersion: null,
}

function namedTerm(term: Static<typeof Term>): NamedTerm {
  if (typeof term === 'string') return { name: term, column: term, power: 1 }
  const power = term.power ?? 1
  return { name: power === 1 ? term.column : `${term.column}^${power}`, column: term.column, power }
}

function checkResponse({ family, y }: Options, response: readonly number[]): void {
  if (family === 'logistic' && response.some((value) => value !== 0 && value !== 1))
    throw new MethodError(
      `y: family: logistic needs 0 and 1, or true and false, and ${y} holds other values. Write a condition in the SQL block.`,
    )
  if (family === 'poisson' && response.some((value) => value < 0 || !Number.isInteger(value)))
    throw new MethodError(
      `y: family: poisson needs counts (0, 1, 2, ...), and ${y} holds other values. Leave \`family\` out for numbers.`,
    )
}

function stopOf(design: Rows, n: number, width: number, label: string): Doubt | null {
  if (n <= width)
    return doubt(
      'too_few',
      `There ${n === 1 ? 'is' : 'are'} ${count(n, 'complete row')} for ${count(width, 'coefficient')} of ${label}; more rows than coefficients are needed.`,
    )
  return isConstant(design)
    ? doubt('constant', `Every value of ${label} is the same: there is nothing to explain.`)
    : null
}

/** Returns the first column that never changes. Such a column explains nothing. */
function neverChanges(design: Rows, terms: readonly NamedTerm[], meanings: Meanings): Doubt | null {
  const flat = flatTerm(design, terms)
  if (!flat) return null
  const { label } = measureOf(meanings, flat.column)
  return doubt('constant', `Every value of ${label} is the same, so nothing can go with it.`)
}

function dependent(label: string): string {
  return `These columns cannot explain ${label}: one never changes, repeats the others, or lies beyond the range of numbers.`
}

function oneRowOf(model: Modelled | null, measure: Measure, meanings: Meanings, factor: number): Doubt[] {
  if (!model?.lead || !model.oneRow) return []
  return model.oneRow([measureOf(meanings, model.lead.column), measure], factor)
}

function few(n: number, width: number, model: Modelled | null): Doubt[] {
  if (!model || n >= 10 * width) return []
  return [
    doubt(
      'too_few',
      `There are only ${count(n, 'row')} for ${count(width, 'coefficient')}, so the effects are fragile.`,
    ),
  ]
}

/**
 * Says "Higher speed clearly goes with higher distance: each step of 1 mile in speed comes with about 3.9 feet more."
 */
function headline(
  grade: Grade,
  factor: number,
  model: Modelled,
  step: number,
  { given, meanings, bent }: { given: Options; meanings: Meanings; bent: boolean },
): string {
  const measure = measureOf(meanings, given.y)
  const lead = model.lead
  if (grade === 'unclear' || !lead) {
    const xs = [...new Set(given.x.map((term) => namedTerm(term).column))].map(
      (column) => measureOf(meanings, column).label,
    )
    const what = xs.length > 3 ? `the ${xs.length} columns` : xs.join(' and ')
    const held = model.fields.p !== null && model.fields.p * factor <= LIKELY && xs.length > 1
    return held
      ? `Together ${what} go with ${measure.label}, but none of them clearly does alone.`
      : `No clear link between ${measure.label} and ${what}.`
  }
  const x = measureOf(meanings, lead.column)
  const others =
    new Set(given.x.map((term) => namedTerm(term).column)).size > 1 ? ', the others held equal' : ''
  const up = (lead.estimate ?? 0) > 0
  if (
    lead.power > 1 ||
    given.x.some((term) => namedTerm(term).column === lead.column && namedTerm(term).power > 1)
  )
    return `There is ${CERTAINTY[grade]} a link between ${x.label} and ${measure.label}, along a curve${others}.`
  return `${opening(comparative(x, true))} ${CERTAINTY[grade]} ${verbFor(x.label, 'goes', 'go')} with ${response(given, measure, up)}${others}: ${rate(lead, step, given, measure, x)}${bent ? ' on average' : ''}.` // Along a curve no single step has this effect.
}

/** Says "higher revenue", "more orders", or for true or false "a higher rate of paid". */
function response({ family }: Options, measure: Measure, up: boolean): string {
  if (family !== 'logistic') return comparative(measure, up)
  const { label } = measure
  const way = up ? 'higher' : 'lower'
  const bare = label.replace(/^the /u, '')
  return `a ${way} ${/^(?:rate|share) /u.test(bare) ? bare : `rate of ${bare}`}`
}

function rate(lead: Coefficient, step: number, { family }: Options, measure: Measure, x: Measure): string {
  const each =
    step === 1 && isCounted(x)
      ? `each further ${singular(x.label)}`
      : `each step of ${changeOf(step, x)} in ${x.label}`
  const estimate = (lead.estimate ?? 0) * step
  const more = estimate > 0 ? 'more' : isCounted(measure) ? 'fewer' : 'less'
  if (family === 'gaussian') {
    const half = lead.low === null || lead.high === null ? null : ((lead.high - lead.low) / 2) * step
    return `${each} comes with about ${changeOf(estimate, measure, half)} ${more}`
  }
  const change = Math.expm1(estimate)
  const what =
    family === 'logistic' ? `${estimate > 0 ? 'higher' : 'lower'} odds` : estimate > 0 ? 'more' : 'fewer'
  const size = change >= 1 ? `${brief(change + 1)} times` : shareOf(change)
  return change >= 1
    ? `${each} comes with ${size} the ${family === 'logistic' ? 'odds' : 'count'}`
    : `${each} comes with ${size} ${what}`
}

function evidence(
  { fields, lead, alike }: Modelled,
  { y, family, errors, confidence }: Options,
  n: number,
  meanings: Meanings,
  method: string,
): string {
  const name = (column: string): string => measureOf(meanings, column).label
  const explained =
    fields.r_squared === null ? '' : `, ${percent(fields.r_squared)} of the variance explained`
  const overall =
    fields.p === null
      ? ''
      : family === 'gaussian' && fields.f !== null
        ? `, F(${fields.df_model}, ${fields.df_residual}) = ${figure(fields.f)}, ${probability(fields.p)}`
        : `, likelihood ratio ${probability(fields.p)}`
  const slope =
    lead === null
      ? ''
      : `; ${name(lead.term)}: ${figure(lead.estimate)} (${figure(100 * confidence)} % interval ${range(lead.low, lead.high)}${errors === 'hc3' ? ', HC3' : ''}, ${probability(lead.p_holm)}${fields.coefficients.length > 2 ? ' adjusted' : ''}${alike === null ? '' : ' beside alike neighbours, for which the interval does not allow'})`
  return `${opening(method)} of ${name(y)}${explained}${overall}${slope}, n = ${count(n, 'row')}.`
}
