/** Evaluates expressions: paths, ranges, lists and maps, operators, filters. */
import { Exact, Markdown, Rounded, ValueError } from '../values/value.ts'
import type { Budget } from './budget.ts'
import { COMPARISONS, type Expression, type FilterCall, type Operand, type Path } from './expressions.ts'
import { OffsetFault } from './fault.ts'
import { filterNamed } from './filters/catalog.ts'
import { type AbsentItem, absentItem, compare, isTruthy, property } from './operations.ts'
import { type From, filtered, type GivenValue, merged, stepped, type Trail } from './origins.ts'

export interface Context {
  /** Returns the value of a name; undefined if there is none. */
  lookup(name: string): unknown
  budget: Budget
  /** The origin of the last evaluated value; null if origins are not noted. */
  trail: Trail | null
}

/** Evaluates an expression. Throws OffsetFault. `empty` and `blank` by themselves are empty text. */
export function evaluate(expression: Expression, context: Context): unknown {
  const { operands, operators, filters } = expression
  let value: unknown
  if (operators.length === 0) value = evaluateOperand(operands[0]!, context)
  else {
    const values = operands.map((operand) => evaluateOperand(operand, context))
    value = combine(operators, values)
    if (context.trail) context.trail.last = null
  }
  if (typeof value === 'symbol') value = ''
  for (const filter of filters) value = applyFilter(filter, value, context)
  return value
}

/** Runs a function that may throw ValueError or exceed a bound, and gives its fault the offset. */
export function at<T>(offset: number, run: () => T): T {
  try {
    return run()
  } catch (error) {
    if (error instanceof ValueError) {
      throw new OffsetFault(error.message, offset, error.remedy || 'Correct the template.', 'render_failed')
    }
    if (!(error instanceof RangeError)) throw error
    throw new OffsetFault(
      `Rendering stopped: ${error.message}.`,
      offset,
      'Loop over fewer rows, or aggregate in SQL.',
      'render_failed',
    )
  }
}

export function evaluateOperand(operand: Operand, context: Context): unknown {
  switch (operand.kind) {
    case 'literal':
      if (context.trail) context.trail.last = null
      return operand.value
    case 'path':
      return evaluatePath(operand, context)
    case 'range': {
      const low = bound(evaluateOperand(operand.low, context))
      const high = bound(evaluateOperand(operand.high, context))
      at(operand.begin, () => context.budget.spend(high - low + 1))
      const count = Math.max(0, Math.floor(high - low + 1))
      if (context.trail) context.trail.last = null
      return Array.from({ length: Number.isNaN(count) ? 0 : count }, (_, index) => low + index)
    }
    case 'list':
      return collected(operand.items, context)
    case 'map': {
      const values = collected(
        operand.entries.map(({ value }) => value),
        context,
      )
      return Object.fromEntries(operand.entries.map(({ name }, index) => [name, values[index]]))
    }
  }
}

/** Returns the values. The trail then has the origins of all of them. */
function collected(expressions: readonly Expression[], context: Context): unknown[] {
  const { trail } = context
  const froms: (From | null)[] = []
  const values = expressions.map((item) => {
    const value = evaluate(item, context)
    if (trail?.on) froms.push(trail.last)
    return value
  })
  if (trail) trail.last = merged(froms)
  return values
}

/** Returns a bound of a range as a number. Null is 0; text that is not a number is NaN. */
function bound(value: unknown): number {
  if (isText(value)) return Number(value.toString())
  return value !== null && (typeof value === 'object' || typeof value === 'symbol')
    ? Number.NaN
    : Number(value)
}

const isText = (value: unknown): value is Exact | Markdown | Rounded =>
  value instanceof Exact || value instanceof Markdown || value instanceof Rounded

/** Evaluates a path. An item that a list does not have is null, and so is each column of a row that rows do not have. */
function evaluatePath(path: Path, context: Context): unknown {
  const names = [path.root]
  let value = context.lookup(path.root)
  const trail = context.trail?.on ? context.trail : null
  let from = trail?.last ?? null
  let absent: AbsentItem | null = null
  for (const step of path.steps) {
    if (value === undefined) break
    const given = step.kind === 'literal' ? step.value : evaluateOperand(step, context)
    names.push(String(given))
    const key = isText(given) ? given.toString() : given
    const found: unknown = absent ? absent.property(key) : property(value, key)
    absent = found === undefined ? absentItem(value, key) : null
    if (trail) from = stepped(from, value, key, found)
    value = absent ? null : found
  }
  if (trail) trail.last = from
  if (value !== undefined) return value
  throw new OffsetFault(
    `There is no ${JSON.stringify(names.join('.'))}.`,
    path.begin,
    'Check the name: prose sees vars, run and the blocks of the template.',
    'unknown_name',
  )
}

/**
 * Combines values by operators. Comparisons bind tightest, then `not`, then `and` and `or`. Operators of one rank are
 * applied from the right. All operands have been evaluated: an unknown name is a fault on either side of `or`.
 */
function combine(operators: readonly string[], values: unknown[]): unknown {
  const clauses: unknown[] = []
  const joiners: string[] = []
  let next = 0
  for (let index = 0; index < values.length; index++) {
    let negations = 0
    for (; operators[next] === 'not'; next++) negations++
    const [first, operator] = [index, next]
    for (; COMPARISONS.has(operators[next]!); next++) index++
    let value = values[index]
    for (let left = index - 1; left >= first; left--) {
      value = compare(operators[operator + left - first]!, values[left], value)
    }
    for (; negations > 0; negations--) value = !isTruthy(value)
    clauses.push(value)
    if (next < operators.length) joiners.push(operators[next++]!)
  }
  return clauses.reduceRight((right, left, index) =>
    joiners[index] === 'and' ? isTruthy(left) && isTruthy(right) : isTruthy(left) || isTruthy(right),
  )
}

function applyFilter(call: FilterCall, value: unknown, context: Context): unknown {
  const trail = context.trail?.on ? context.trail : null
  const taken: GivenValue = { value, from: trail?.last ?? null }
  const froms: GivenValue[] = []
  const args: unknown[] = []
  const named = new Map<string, unknown>()
  for (const arg of call.args) {
    const given = evaluateOperand(arg.value, context)
    const usable = typeof given === 'symbol' ? '' : given
    if (arg.name === null) args.push(usable)
    else named.set(arg.name, usable)
    if (trail) froms.push({ value: usable, from: trail.last })
  }
  const filter = filterNamed(call.name)
  if (!filter) {
    const message = `There is no filter ${JSON.stringify(call.name)}.`
    throw new OffsetFault(message, call.begin, 'Check its name.', 'unknown_filter')
  }
  return at(call.begin, () => {
    const result = filter(value, args, { named, budget: context.budget }) ?? null
    context.budget.spend(sizeOf(result))
    if (trail) trail.last = filtered({ name: call.name, args, named }, taken, froms, result)
    return result
  })
}

/** Returns the size of a value: its characters or its items. */
function sizeOf(value: unknown): number {
  if (typeof value === 'string' || Array.isArray(value)) return value.length
  return value instanceof Exact || value instanceof Markdown ? value.toString().length : 0
}
