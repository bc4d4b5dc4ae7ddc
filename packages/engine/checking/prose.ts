/** Judges the statements of a body or a partial in order, with the names that each one adds. */
import type { Fault, Template } from '@assay/model/template'
import { makeFault } from '../language/fault.ts'
import { type Prose, readProse, type Statement } from '../language/statements.ts'
import { suggest } from '../values/near.ts'
import { argument, positionOf, requireRows, textOf, textsOf } from './arguments.ts'
import { judgeChart } from './chart.ts'
import { type Judge, judgeColumn, judgeExpression, judgeFormat } from './expressions.ts'
import { object, rowOf, type Static, scalar, UNKNOWN, withArticle } from './static-values.ts'

export interface ProseContext {
  template: Template
  /** The names of vars, run and the blocks. */
  globals: ReadonlyMap<string, Static>
  usedVariables: Set<string>
  faults: Fault[]
  /** The enclosing partials, by which a cycle ends. */
  open: string[]
}

const LOOP = object('forloop', {
  ...Object.fromEntries(
    ['index', 'index0', 'rindex', 'rindex0', 'length'].map((name) => [name, scalar('integer')]),
  ),
  first: scalar('boolean'),
  last: scalar('boolean'),
})

/** Judges a text. `position` is given to all faults, for titles and paths, which are values of the front matter. */
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
      judgeChart(statement, values[0] ?? UNKNOWN, { judge, named, template: around.context.template })
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
