/** Judges expressions without running them: names, fields, filters, columns and formats. */
import type { ColumnType } from '@assay/model/insight'
import type { Expression, FilterCall, Literal, Operand } from '../language/expressions.ts'
import { COLUMN_FILTERS, FILTERS } from '../language/filters/catalog.ts'
import { DISTRIBUTION_ARGUMENTS } from '../language/filters/distributions.ts'
import { DATE_CODES, datePattern } from '../printing/date-format.ts'
import { checkFormat } from '../printing/format.ts'
import { suggest, suggestAmong } from '../values/near.ts'
import { ValueError } from '../values/value.ts'
import { fieldOf, NUMERIC, rowOf, type Static, scalar, UNKNOWN, withArticle } from './static-values.ts'

export interface Judge {
  /** The visible names, the innermost scope last. */
  scopes: ReadonlyMap<string, Static>[]
  report(code: string, offset: number, message: string, remedy: string): void
  /** Called for each variable that is read. */
  onVariable(name: string): void
}

export function judgeExpression(expression: Expression, judge: Judge): Static {
  const values = expression.operands.map((operand) => judgeOperand(operand, judge))
  judgeComparisons(expression, values, judge)
  let value = expression.operators.length > 0 ? scalar('boolean') : (values[0] ?? UNKNOWN)
  for (const filter of expression.filters) value = judgeFilter(value, filter, judge)
  return value
}

const ORDERS = new Set(['<', '<=', '>', '>='])
const EQUALS = new Set(['==', '!='])

const isNumber = (value: Static | undefined): boolean => value?.kind === 'scalar' && NUMERIC.has(value.type)

/** Reports a list or rows that are compared with a number: such a condition is never true. */
function judgeComparisons(
  { operands, operators }: Expression,
  values: readonly Static[],
  judge: Judge,
): void {
  const between = operators.filter((operator) => operator !== 'not')
  for (const [index, operator] of between.entries()) {
    const sides = [index, index + 1]
    for (const [at, other] of [sides, sides.toReversed()] as [number, number][]) {
      const kind = values[at]!.kind
      const compared = ORDERS.has(operator) || (EQUALS.has(operator) && isNumber(values[other]))
      if (!compared || (kind !== 'list' && kind !== 'rows')) continue
      const what = nameOf(operands[at]!)
      const message = `${what ?? 'This'} ${kind === 'rows' ? 'are rows' : 'is a list'}, not a number.`
      judge.report('wrong_type', operands[at]!.begin, message, `Compare the size: ${what ?? 'NAME'}.size.`)
    }
  }
}

/** Returns a path of plain names as it is written; null for any other operand. */
function nameOf(operand: Operand): string | null {
  if (operand.kind !== 'path') return null
  const names = operand.steps.map((step) => (step.kind === 'literal' ? step.value : null))
  return names.every((name) => typeof name === 'string') ? [operand.root, ...names].join('.') : null
}

function judgeOperand(operand: Operand, judge: Judge): Static {
  switch (operand.kind) {
    case 'literal':
      return literalType(operand.value)
    case 'range':
      judgeOperand(operand.low, judge)
      judgeOperand(operand.high, judge)
      return { kind: 'list', items: scalar('integer') }
    case 'list':
      for (const item of operand.items) judgeExpression(item, judge)
      return { kind: 'list', items: UNKNOWN }
    case 'map':
      for (const { value } of operand.entries) judgeExpression(value, judge)
      return UNKNOWN
    case 'path':
      return judgePath(operand, judge)
  }
}

function literalType(value: Literal['value']): Static {
  if (value === null || typeof value === 'symbol') return UNKNOWN
  if (typeof value === 'boolean') return scalar('boolean')
  if (typeof value === 'number') return scalar(Number.isInteger(value) ? 'integer' : 'number')
  return scalar('text')
}

function judgePath(path: Extract<Operand, { kind: 'path' }>, judge: Judge): Static {
  const scope = judge.scopes.findLast((names) => names.has(path.root))
  if (!scope) {
    const known = judge.scopes.flatMap((names) => [...names.keys()])
    judge.report(
      'unknown_name',
      path.begin,
      `There is no ${JSON.stringify(path.root)}.`,
      suggest(path.root, known),
    )
    return UNKNOWN
  }
  let value = scope.get(path.root)!
  for (const [index, step] of path.steps.entries()) {
    if (step.kind !== 'literal') {
      judgeOperand(step, judge)
      if (path.root === 'vars' && index === 0 && value.kind === 'object') {
        for (const name of value.fields.keys()) judge.onVariable(name)
      }
      value = value.kind === 'rows' ? rowOf(value) : UNKNOWN
      continue
    }
    const key = typeof step.value === 'number' ? step.value : String(step.value)
    if (path.root === 'vars' && index === 0) judge.onVariable(String(key))
    const field = fieldOf(value, key)
    if ('message' in field) {
      judge.report(
        'unknown_name',
        step.begin,
        field.message,
        suggestAmong(String(key), field.known, 'Correct the name.'),
      )
      return UNKNOWN
    }
    value = field
  }
  return value
}

const KEEPS_ROWS = new Set([
  'where',
  'reject',
  'sort',
  'reverse',
  'uniq',
  'compact',
  'slice',
  'concat',
  'default',
])
const GIVES: Record<string, ColumnType> = {
  size: 'integer',
  fmt: 'text',
  delta: 'text',
  join: 'text',
  escape: 'text',
  raw: 'text',
  date: 'text',
  round: 'number',
  plus: 'number',
  minus: 'number',
  times: 'number',
  divided_by: 'number',
  modulo: 'number',
}

function judgeFilter(value: Static, filter: FilterCall, judge: Judge): Static {
  const args = filter.args.map(({ value: arg }) => judgeOperand(arg, judge))
  if (!FILTERS.includes(filter.name)) {
    const message = `There is no filter ${JSON.stringify(filter.name)}.`
    judge.report('unknown_filter', filter.begin, message, suggest(filter.name, FILTERS))
    return UNKNOWN
  }
  const parameters = DISTRIBUTION_ARGUMENTS.get(filter.name)
  if (parameters) return judgeDistribution(value, filter, parameters, judge)
  const first = filter.args[0]?.value
  const text = first?.kind === 'literal' && typeof first.value === 'string' ? first.value : null
  if (filter.name === 'fmt' || (filter.name === 'delta' && text !== null)) {
    judgeFormat(value, text, { offset: first?.begin ?? filter.begin, given: args.length > 0 }, judge)
  }
  if (COLUMN_FILTERS.has(filter.name) && value.kind === 'rows') {
    return judgeColumnFilter(value, filter, { text, given: args.length > 0 }, judge)
  }
  const type = GIVES[filter.name]
  if (type !== undefined) return scalar(type)
  if (filter.name === 'default' || filter.name === 'slice') return value.kind === 'rows' ? value : UNKNOWN
  return KEEPS_ROWS.has(filter.name) ? value : UNKNOWN
}

/** Judges the filter of a distribution. It takes a number, and the names of `parameters` after its own. */
function judgeDistribution(
  value: Static,
  filter: FilterCall,
  parameters: readonly string[],
  judge: Judge,
): Static {
  const { name, begin } = filter
  const given = filter.args.filter(({ name: named }) => !named).length
  if (given !== parameters.length) {
    const wanted = parameters.length === 0 ? 'no argument' : parameters.join(' and ')
    const remedy = `Write ${name}${parameters.length === 0 ? '' : `: ${parameters.join(', ')}`}.`
    judge.report('missing_argument', begin, `${name} takes ${wanted} after its name, not ${given}.`, remedy)
  }
  const type = value.kind === 'scalar' ? value.type : null
  if (value.kind === 'rows' || (type !== null && !NUMERIC.has(type))) {
    const what = type === null ? 'rows' : withArticle(type)
    judge.report('wrong_type', begin, `${name} needs a number, not ${what}.`, 'Choose another value.')
  }
  return scalar('number')
}

function judgeColumnFilter(
  rows: Extract<Static, { kind: 'rows' }>,
  filter: FilterCall,
  { text, given }: { text: string | null; given: boolean },
  judge: Judge,
): Static {
  const { name, begin } = filter
  if (!given) {
    if (name === 'first' || name === 'last') return rowOf(rows)
    if (name === 'sort') return rows
    judge.report('missing_argument', begin, `${name} needs a column.`, `Write ${name}: "COLUMN".`)
    return UNKNOWN
  }
  const type = text === null ? null : judgeColumn(rows, text, filter.args[0]!.value.begin, judge)
  if (name === 'sum' || name === 'mean') {
    if (type !== null && !NUMERIC.has(type)) {
      const message = `${name} needs a number; ${JSON.stringify(text)} is ${withArticle(type)}.`
      judge.report(
        'wrong_type',
        filter.args[0]!.value.begin,
        message,
        'Choose another column, or cast it in SQL.',
      )
    }
    return scalar('number')
  }
  if (name === 'pluck' || name === 'map')
    return { kind: 'list', items: type === null ? UNKNOWN : scalar(type) }
  if (KEEPS_ROWS.has(name)) return rows
  return name === 'group_by' || type === null ? UNKNOWN : scalar(type)
}

/** Returns the type of the column; null if it is not known or the column does not exist. */
export function judgeColumn(value: Static, column: string, offset: number, judge: Judge): ColumnType | null {
  if (value.kind !== 'rows' || value.columns === null) return null
  const found = value.columns.get(column)
  if (found) return typeOf(found)
  const message = `${value.name} has no column ${JSON.stringify(column)}.`
  judge.report('unknown_column', offset, message, suggestAmong(column, value.columns.keys()))
  return null
}

function typeOf(value: Static): ColumnType | null {
  if (value.kind === 'scalar') return value.type
  if (value.kind === 'unknown') return null
  return value.kind === 'object' ? 'struct' : 'list'
}

const DATES: ReadonlySet<ColumnType> = new Set<ColumnType>(['date', 'timestamp'])

/** Reports a code that does not exist, a date code for a number, and a number code for a date. */
export function judgeFormat(
  value: Static,
  code: string | null,
  { offset, given }: { offset: number; given: boolean },
  judge: Judge,
): void {
  if (code === null) {
    if (!given) judge.report('missing_argument', offset, 'fmt needs a code.', 'Write fmt: "num0".')
    return
  }
  try {
    checkFormat(code)
  } catch (error) {
    if (!(error instanceof ValueError)) throw error
    judge.report('unknown_format', offset, error.message, error.remedy)
    return
  }
  if (value.kind !== 'scalar' || code === 'id') return
  const forDates = DATE_CODES.includes(code) || (/[-/ ,.:]/.test(code) && datePattern(code) !== null)
  const wrong = forDates ? NUMERIC.has(value.type) || value.type === 'boolean' : DATES.has(value.type)
  if (!wrong) return
  const message = `The format ${code} is for ${forDates ? 'dates' : 'numbers'}; this is ${withArticle(value.type)}.`
  judge.report('wrong_type', offset, message, 'Choose another format.')
}
