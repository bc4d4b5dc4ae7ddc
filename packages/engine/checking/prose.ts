/** Judges the statements of a body or a partial in order, with the names that each one adds. */
import { CHART_TYPES } from '@assay/model/insight'
import type { Fault, Template } from '@assay/model/template'
import type { Expression, Literal, NamedArgument } from '../language/expressions.ts'
import { makeFault } from '../language/fault.ts'
import { type Prose, readProse, type Statement } from '../language/statements.ts'
import { suggest } from '../values/near.ts'
import { type Judge, judgeColumn, judgeExpression, judgeFormat } from './expressions.ts'
import { NUMERIC, object, rowOf, type Static, scalar, UNKNOWN, withArticle } from './static-values.ts'

export interface ProseContext {
  template: Template
  /** vars, run and the blocks. */
  globals: ReadonlyMap<string, Static>
  usedVariables: Set<string>
  faults: Fault[]
  /** The partials around, so that a cycle ends. */
  open: string[]
}

const LOOP = object('forloop', {
  ...Object.fromEntries(
    ['index', 'index0', 'rindex', 'rindex0', 'length'].map((name) => [name, scalar('integer')]),
  ),
  first: scalar('boolean'),
  last: scalar('boolean'),
})

/** `position` is given to all faults: for titles and paths, which are values of the front matter. */
export function judgeText(
  text: string,
  context: ProseContext,
  options: {
    partial?: string
    known?: ReadonlyMap<string, Static>
    position?: { line: number; column: number }
  } = {},
): void {
  const partial = options.partial ?? null
  const prose = readProse(text, partial)
  const locals = new Map<string, Static>(options.known ?? [])
  const loops: Map<string, Static>[] = []
  for (const statement of prose.statements) {
    const judge: Judge = {
      scopes: [context.globals, locals, ...loops],
      report(code, offset, message, remedy) {
        const position = options.position ?? prose.positionOf(offset)
        context.faults.push(makeFault(code, position, message, remedy, { partial }))
      },
      onVariable: (name) => context.usedVariables.add(name),
    }
    if (statement.tag === 'endfor') loops.pop()
    else judgeStatement(statement, judge, { context, locals, loops, prose, text })
  }
}

interface Surroundings {
  context: ProseContext
  locals: Map<string, Static>
  loops: Map<string, Static>[]
  prose: Prose
  text: string
}

function judgeStatement(statement: Statement, judge: Judge, around: Surroundings): void {
  const values = statement.expressions.map((expression) => judgeExpression(expression, judge))
  const named = new Map(
    statement.named.map((argument) => [argument.name, judgeExpression(argument.value, judge)]),
  )
  switch (statement.tag) {
    case 'assign':
      around.locals.set(statement.binds!, values[0] ?? UNKNOWN)
      break
    case 'capture':
      around.locals.set(statement.binds!, scalar('text'))
      break
    case 'for':
      around.loops.push(loopScope(statement, values[0] ?? UNKNOWN, judge))
      break
    case 'output':
    case 'echo':
      judgePrinted(values[0] ?? UNKNOWN, statement, judge)
      break
    case 'table':
      judgeTable(statement, values[0] ?? UNKNOWN, judge)
      break
    case 'chart':
      judgeChart(statement, values[0] ?? UNKNOWN, judge)
      break
    case 'fact':
      judgeFormat(values[0] ?? UNKNOWN, textOf(statement, 'fmt'), positionOf(statement, 'fmt'), judge)
      break
    case 'sql':
      judgeSqlTag(statement, around.context.template, judge)
      break
    case 'doubts':
      judgeDoubts(statement, judge)
      break
    case 'render':
      judgeRender(statement, named, around.context)
      break
    default:
  }
}

function loopScope(statement: Statement, over: Static, judge: Judge): Map<string, Static> {
  if (over.kind === 'scalar' && over.type !== 'list' && over.type !== 'other' && over.type !== 'struct') {
    const message = `A loop needs rows or a list; this is ${withArticle(over.type)}.`
    judge.report('wrong_type', statement.expressions[0]!.begin, message, 'Name a block or a list.')
  }
  const item = over.kind === 'rows' ? rowOf(over) : over.kind === 'list' ? over.items : UNKNOWN
  return new Map([
    [statement.binds!, item],
    ['forloop', LOOP],
  ])
}

function judgePrinted(value: Static, statement: Statement, judge: Judge): void {
  const offset = statement.expressions[0]?.begin ?? statement.begin
  if (value.kind === 'rows') {
    const remedy = 'Use {% table %}, or a filter such as first.'
    judge.report('wrong_type', offset, `${value.name} are rows and cannot be printed.`, remedy)
  }
  const fields = value.kind === 'object' ? [...value.fields.keys()] : []
  if (fields.length > 0 && !fields.includes('label')) {
    const message = `${(value as { name: string }).name} cannot be printed whole.`
    judge.report('wrong_type', offset, message, `Print one of its fields: ${fields.join(', ')}.`)
  }
}

const argument = (statement: Statement, name: string): NamedArgument | undefined =>
  statement.named.find((one) => one.name === name)

function literal(expression: Expression | undefined): Literal['value'] {
  const operand = expression?.operands[0]
  return operand?.kind === 'literal' && expression!.filters.length === 0 ? operand.value : null
}

function textOf(statement: Statement, name: string): string | null {
  const value = literal(argument(statement, name)?.value)
  return typeof value === 'string' ? value : null
}

function positionOf(statement: Statement, name: string): { offset: number; given: boolean } {
  const found = argument(statement, name)
  return { offset: found?.value.begin ?? statement.begin, given: true }
}

/** The literal texts of an option: a text, the texts of a list, or the keys of a map with their values. */
function textsOf(
  statement: Statement,
  name: string,
): { text: string; offset: number; value?: string | null }[] {
  const expression = argument(statement, name)?.value
  const operand = expression?.operands[0]
  if (operand?.kind === 'literal' && typeof operand.value === 'string') {
    return [{ text: operand.value, offset: operand.begin }]
  }
  if (operand?.kind === 'list') {
    return operand.items.flatMap((item) => {
      const value = literal(item)
      return typeof value === 'string' ? [{ text: value, offset: item.begin }] : []
    })
  }
  if (operand?.kind !== 'map') return []
  return operand.entries.map((entry) => {
    const value = literal(entry.value)
    return { text: entry.name, offset: entry.begin, value: typeof value === 'string' ? value : null }
  })
}

function requireRows(statement: Statement, value: Static, judge: Judge): void {
  if (value.kind === 'scalar' || (value.kind === 'object' && !value.open)) {
    const what = value.kind === 'scalar' ? withArticle(value.type) : value.name
    const remedy = 'Name an SQL block, or a list of an analysis such as X.points.'
    judge.report(
      'wrong_type',
      statement.expressions[0]!.begin,
      `${statement.tag} needs rows, not ${what}.`,
      remedy,
    )
  }
}

function judgeTable(statement: Statement, rows: Static, judge: Judge): void {
  requireRows(statement, rows, judge)
  for (const { text, offset } of textsOf(statement, 'columns')) judgeColumn(rows, text, offset, judge)
  for (const name of ['fmt', 'align']) {
    const isMap = argument(statement, name)?.value.operands[0]?.kind === 'map'
    for (const { text, offset, value } of textsOf(statement, name)) {
      const type = isMap ? judgeColumn(rows, text, offset, judge) : null
      const word = isMap ? (value ?? null) : text
      if (word === null) continue
      if (name === 'fmt')
        judgeFormat(type === null ? UNKNOWN : scalar(type), word, { offset, given: true }, judge)
      else if (!['left', 'right', 'center'].includes(word)) {
        judge.report(
          'bad_value',
          offset,
          `align cannot be ${JSON.stringify(word)}.`,
          'Use left, right or center.',
        )
      }
    }
  }
}

function judgeChart(statement: Statement, rows: Static, judge: Judge): void {
  requireRows(statement, rows, judge)
  const type = textOf(statement, 'type') ?? 'line'
  const report = (code: string, name: string, message: string, remedy: string): void =>
    judge.report(code, positionOf(statement, name).offset, message, remedy)
  if (!(CHART_TYPES as readonly string[]).includes(type)) {
    report(
      'bad_value',
      'type',
      `There is no chart of type ${JSON.stringify(type)}.`,
      suggest(type, CHART_TYPES),
    )
  }
  if (!argument(statement, 'x')) report('missing_argument', 'x', 'A chart needs x.', 'Write x: "COLUMN".')
  const histogram = type === 'histogram'
  if (!argument(statement, 'y') && !histogram) {
    report('missing_argument', 'y', 'A chart needs y.', 'Write y: "COLUMN".')
  }
  if (argument(statement, 'y') && histogram) {
    report('bad_value', 'y', 'A histogram counts the rows by x.', 'Remove y.')
  }
  const ys = textsOf(statement, 'y')
  if (ys.length > 1 && (argument(statement, 'series') || type === 'pie')) {
    report('bad_value', 'y', 'y may only name one column here.', 'Remove the others.')
  }
  for (const { text, offset } of ys) numberColumn(rows, text, offset, judge)
  for (const { text, offset } of textsOf(statement, 'x')) {
    if (histogram) numberColumn(rows, text, offset, judge)
    else judgeColumn(rows, text, offset, judge)
  }
  for (const { text, offset } of textsOf(statement, 'series')) judgeColumn(rows, text, offset, judge)
}

function numberColumn(rows: Static, column: string, offset: number, judge: Judge): void {
  const type = judgeColumn(rows, column, offset, judge)
  if (type === null || NUMERIC.has(type)) return
  const message = `${JSON.stringify(column)} is ${withArticle(type)}, not a number.`
  judge.report('wrong_type', offset, message, 'Choose another column, or cast it in SQL.')
}

function judgeSqlTag(statement: Statement, template: Template, judge: Judge): void {
  const blocks = template.blocks.filter(({ kind }) => kind === 'sql').map(({ name }) => name)
  if (blocks.includes(statement.target!)) return
  const message = `There is no SQL block ${JSON.stringify(statement.target)}.`
  judge.report('unknown_block', statement.begin, message, suggest(statement.target!, blocks))
}

function judgeDoubts(statement: Statement, judge: Judge): void {
  const [given] = statement.expressions
  const operand = given?.operands[0]
  for (const item of operand?.kind === 'list' ? operand.items : given ? [given] : []) {
    const value = judgeExpression(item, judge)
    if (value.kind === 'object' || value === UNKNOWN) continue
    const remedy = 'Write {% doubts %}, {% doubts X %} or {% doubts [X, Y] %}.'
    judge.report('wrong_type', item.begin, 'doubts needs analyses.', remedy)
  }
}

function judgeRender(statement: Statement, named: Map<string, Static>, context: ProseContext): void {
  const name = statement.target!
  const text = context.template.partials[name]
  if (text === undefined || context.open.includes(name)) return
  judgeText(text, { ...context, open: [...context.open, name] }, { partial: name, known: named })
}
