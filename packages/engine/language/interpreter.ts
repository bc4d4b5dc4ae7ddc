/** Runs the statements of a text over named values and returns the printed text. */
import type { Fault } from '@assay/model/template'
import { Markdown, ValueError } from '../values/value.ts'
import { Budget } from './budget.ts'
import { at, type Context, evaluate, evaluateOperand } from './evaluate.ts'
import type { Expression } from './expressions.ts'
import { makeFault, OffsetFault, TemplateFault } from './fault.ts'
import { areEqual, isTruthy, itemsOf } from './operations.ts'
import { type From, merged, rootOf, stepped } from './origins.ts'
import { type Printed, Recorder } from './recorder.ts'
import { type Piece, type Prose, readProse, type Statement } from './statements.ts'

/**
 * A tag of templates beside those of Liquid. It returns the printed text. `seen` returns the origin of the last
 * evaluated value. Throws ValueError.
 */
export type Tag = (
  statement: Statement,
  valueOf: (expression: Expression) => unknown,
  seen: () => From | null,
) => string | Printed

/** A value with a name, and its origin. */
interface Named {
  value: unknown
  from: From | null
}

export interface InterpreterOptions {
  /** The names that every text and partial sees. */
  globals: Record<string, unknown>
  /** Returns the text that `{{ }}` prints for a value. */
  print: (value: unknown) => string
  tags?: Record<string, Tag>
  partials?: Record<string, string>
  /** Called with the length of each printed text. It throws to stop. */
  onPrint?: (length: number) => void
  /** The budget; by default that of a report. */
  budget?: Budget
}

/** The state of one run of the body or of a partial. */
interface Frame {
  partial: string | null
  prose: Prose
  depth: number
  /** The names that `assign`, `capture` and the arguments of `render` have set. */
  names: Map<string, Named>
  /** The names of the enclosing loops, innermost last. */
  loops: Map<string, Named>[]
  /** Set by `break` and `continue` until the enclosing loop has seen it. */
  leaving: 'break' | 'continue' | null
  context: Context
}

/** The most partials inside each other. */
const MAX_DEPTH = 20
/** The most tags inside each other, through all partials. */
const MAX_LEVELS = 500

export class Interpreter {
  readonly #options: InterpreterOptions
  readonly #budget: Budget
  readonly #partials = new Map<string, Prose>()
  readonly #recorder = new Recorder()
  readonly #roots = new Map<string, From>()
  #printed = ''
  #levels = 0

  constructor(options: InterpreterOptions) {
    this.#options = options
    this.#budget = options.budget ?? new Budget()
  }

  /** Returns the printed text with the origins of its numbers. Throws TemplateFault. */
  render(text: string): Printed {
    this.#printed = ''
    this.#levels = 0
    this.#run(readProse(text), null, new Map(), 0)
    return { text: this.#printed, marks: this.#recorder.finish(this.#printed.length) }
  }

  /** Tells whether an expression over the globals holds. Throws OffsetFault. */
  test(expression: Expression): boolean {
    return isTruthy(evaluate(expression, this.#contextOf(new Map(), [])))
  }

  #contextOf(names: Map<string, Named>, loops: Map<string, Named>[]): Context {
    const { globals } = this.#options
    const { trail } = this.#recorder
    const lookup = (name: string): unknown => {
      let index = loops.length - 1
      while (index >= 0 && !loops[index]!.has(name)) index--
      const named = index >= 0 ? loops[index]!.get(name) : names.get(name)
      if (named) {
        trail.last = named.from
        return named.value
      }
      if (!Object.hasOwn(globals, name)) return undefined
      trail.last = this.#rootOf(name)
      return globals[name] ?? null
    }
    return { lookup, budget: this.#budget, trail }
  }

  #rootOf(name: string): From {
    const root = this.#roots.get(name) ?? rootOf(name)
    this.#roots.set(name, root)
    return root
  }

  /** Evaluates an expression and records its origin. */
  #named(expression: Expression, { context }: Frame): Named {
    const value = evaluate(expression, context)
    return { value, from: this.#seen() }
  }

  readonly #seen = (): From | null => (this.#recorder.trail.on ? this.#recorder.trail.last : null)

  #run(prose: Prose, partial: string | null, names: Map<string, Named>, depth: number): void {
    if (prose.faults.length > 0) throw new TemplateFault(prose.faults[0]!)
    const loops: Map<string, Named>[] = []
    const context = this.#contextOf(names, loops)
    const frame: Frame = { partial, prose, depth, names, loops, leaving: null, context }
    try {
      this.#pieces(prose.pieces, frame)
    } catch (error) {
      throw error instanceof OffsetFault ? new TemplateFault(faultIn(frame, error)) : error
    }
  }

  #pieces(pieces: Piece[], frame: Frame): void {
    this.#levels += 1
    for (const piece of pieces) {
      if (typeof piece === 'string') this.#write(piece)
      else this.#statement(piece, frame)
      if (frame.leaving !== null) break
    }
    this.#levels -= 1
  }

  #write(text: string): void {
    this.#budget.spend(text.length)
    this.#options.onPrint?.(text.length)
    this.#printed += text
  }

  #statement(statement: Statement, frame: Frame): void {
    const { tag, begin, expressions, binds } = statement
    at(begin, () => this.#budget.tick())
    if (this.#levels > MAX_LEVELS) {
      const message = `Tags are nested deeper than ${MAX_LEVELS} levels through the partials.`
      throw new OffsetFault(message, begin, 'Render fewer partials inside tags.', 'too_deep')
    }
    switch (tag) {
      case 'output':
      case 'echo': {
        const { value, from } = this.#named(expressions[0]!, frame)
        const text = at(begin, () => this.#options.print(value))
        this.#recorder.value(this.#printed.length, text, value, from)
        return at(begin, () => this.#write(text))
      }
      case 'assign':
        frame.names.set(binds!, this.#named(expressions[0]!, frame))
        return
      case 'capture':
        return this.#capture(statement, frame)
      case 'if':
      case 'unless':
        return this.#condition(statement, frame)
      case 'case':
        return this.#case(statement, frame)
      case 'for':
        return this.#loop(statement, frame)
      case 'break':
      case 'continue':
        frame.leaving = tag
        return
      case 'render':
        return this.#partial(statement, frame)
      default:
        return this.#tag(statement, frame)
    }
  }

  /** Captures text. It is already Markdown, so printing must not escape it again. */
  #capture({ sections, binds }: Statement, frame: Frame): void {
    const around = this.#printed
    this.#printed = ''
    const marks = this.#recorder.apart(() => this.#pieces(sections[0]!.pieces, frame))
    const value = new Markdown(this.#printed)
    frame.names.set(binds!, { value, from: this.#recorder.capture(value, marks) })
    this.#printed = around
  }

  #condition({ sections }: Statement, frame: Frame): void {
    for (const { head, pieces } of sections) {
      const holds = head.tag === 'else' || isTruthy(evaluate(head.expressions[0]!, frame.context))
      if (holds !== (head.tag === 'unless')) return this.#pieces(pieces, frame)
    }
  }

  /** Renders every `when` that holds, or `else` if none does. Text before the first `when` is not printed. */
  #case({ expressions, sections }: Statement, frame: Frame): void {
    const value = evaluate(expressions[0]!, frame.context)
    let found = false
    for (const { head, pieces } of sections.slice(1)) {
      const holds: boolean =
        head.tag === 'else'
          ? !found
          : head.expressions.some((one) => areEqual(value, evaluateOperand(one.operands[0]!, frame.context)))
      if (holds) this.#pieces(pieces, frame)
      found ||= holds
    }
  }

  #loop(statement: Statement, frame: Frame): void {
    const { expressions, sections, binds } = statement
    const looped = this.#named(expressions[0]!, frame)
    const all = itemsOf(looped.value)
    if (all.length === 0) {
      if (sections[1]) this.#pieces(sections[1].pieces, frame)
      return
    }
    const items = this.#chosen(all, statement, frame)
    const names = new Map<string, Named>()
    frame.loops.push(names)
    const own = items === looped.value ? looped.from : merged([looped.from])
    for (const [index, item] of items.entries()) {
      const from = this.#recorder.trail.on ? stepped(own, items, index, item) : null
      names.set(binds!, { value: item ?? null, from })
      names.set('forloop', { value: loopState(index, items.length), from: null })
      this.#pieces(sections[0]!.pieces, frame)
      const { leaving } = frame
      frame.leaving = null
      if (leaving === 'break') break
    }
    frame.loops.pop()
  }

  /** Returns the chosen items: `offset` first, then `limit`, then `reversed`, in whatever order they are written. */
  #chosen(items: unknown[], { named }: Statement, frame: Frame): unknown[] {
    const options = new Map(named.map(({ name, value }) => [name, evaluate(value, frame.context)]))
    const offset = options.has('offset') ? items.slice(Number(options.get('offset') ?? 0)) : items
    const limited = options.has('limit') ? offset.slice(0, Number(options.get('limit') ?? 0)) : offset
    return options.has('reversed') ? limited.toReversed() : limited
  }

  /** Renders a partial. It sees its arguments and the globals, and no name of the enclosing text. */
  #partial({ begin, named, target }: Statement, frame: Frame): void {
    const { partials = {} } = this.#options
    const name = target!
    at(begin, () => {
      if (!Object.hasOwn(partials, name)) {
        throw new ValueError(`There is no partial ${JSON.stringify(name)}.`, 'Correct the name.')
      }
      if (frame.depth < MAX_DEPTH) return
      throw new ValueError('Partials render each other without end.', 'Break the circle.')
    })
    const prose = this.#partials.get(name) ?? readProse(partials[name]!, name)
    this.#partials.set(name, prose)
    const names = new Map(named.map(({ name: key, value }) => [key, this.#named(value, frame)]))
    this.#run(prose, name, names, frame.depth + 1)
  }

  #tag(statement: Statement, frame: Frame): void {
    const { tag, begin } = statement
    const { tags = {} } = this.#options
    if (!Object.hasOwn(tags, tag)) {
      throw new OffsetFault(`There is no tag ${JSON.stringify(tag)} here.`, begin, 'Use it in the body.')
    }
    at(begin, () => {
      const valueOf = (expression: Expression): unknown => evaluate(expression, frame.context)
      const made = tags[tag]!(statement, valueOf, this.#seen)
      if (typeof made === 'string') return this.#write(made)
      this.#recorder.add(this.#printed.length, made.marks)
      this.#write(made.text)
    })
  }
}

function faultIn({ prose, partial }: Frame, { code, offset, message, remedy }: OffsetFault): Fault {
  return makeFault(code, prose.positionOf(offset), message, remedy, { partial })
}

function loopState(index: number, length: number): Record<string, unknown> {
  return {
    index: index + 1,
    index0: index,
    rindex: length - index,
    rindex0: length - index - 1,
    first: index === 0,
    last: index === length - 1,
    length,
  }
}
