/**
 * liquidjs as templates use it: strict, in memory, with our filters and tags. Text is read by prose.ts first, so that
 * nothing reaches liquidjs that it would drop silently.
 */
import {
  CaptureTag,
  type Context,
  defaultOperators,
  type Emitter,
  Liquid,
  type Template as LiquidTemplate,
  Parser,
  Tag,
  type TagToken,
  TokenKind,
  type TopLevelToken,
  Value,
} from 'liquidjs'
import { type Expression, type NamedArgument, type Operand, Reader } from '../language/expressions.ts'
import { type Place, TemplateFault } from '../language/fault.ts'
import { tokensOf } from '../language/prose.ts'
import { printText } from '../printing/print.ts'
import { Safe } from '../values/rows.ts'
import { registerFilters } from './filters.ts'
import { toFault } from './render-fault.ts'

export const PARSE_LIMIT = 2_000_000
const RENDER_LIMIT_MS = 60_000
const MEMORY_LIMIT = 50_000_000
const MAX_RENDER_DEPTH = 20

type Operators = typeof defaultOperators
type Operator = (left: unknown, right: unknown, context: Context) => unknown
type Steps<T> = Generator<unknown, T, unknown>
type TagClass = Parameters<Liquid['registerTag']>[1]

/** What a tag of ours is made of: reads its arguments once, gives Markdown when rendered. */
export interface TagArguments {
  plain: Expression[]
  named: NamedArgument[]
}
export type Evaluate = (expression: Expression) => Steps<unknown>
export interface OwnTag {
  plain: number
  render(args: TagArguments, evaluate: Evaluate, place: Place, text: string): Steps<string>
}

export interface EngineOptions {
  /** Turns what `{{ }}` prints into text. */
  print: (value: unknown) => string
  tags: Record<string, OwnTag>
  partials: Record<string, string>
}

const REMOVED_TAGS = 'include layout block increment decrement cycle tablerow liquid'.split(' ')

export function createEngine({ print, tags, partials }: EngineOptions): Liquid {
  const engine = new Liquid({
    strictVariables: true,
    strictFilters: true,
    ownPropertyOnly: true,
    relativeReference: false,
    dynamicPartials: false,
    templates: {},
    parseLimit: PARSE_LIMIT,
    renderLimit: RENDER_LIMIT_MS,
    memoryLimit: MEMORY_LIMIT,
    outputEscape: print,
    operators: { ...defaultOperators, ...orderOperators() },
    locale: 'en-US',
    timezoneOffset: 0,
  })
  for (const name of REMOVED_TAGS) delete engine.tags[name]
  registerFilters(engine)
  for (const [name, tag] of Object.entries(tags)) engine.registerTag(name, tagClass(tag))
  engine.registerTag('render', renderTagClass(partials))
  engine.registerTag('capture', SafeCapture)
  return engine
}

/** What is unknown is neither less nor greater than a number; liquidjs takes it for 0, and `p < 0.05` would hold. */
function orderOperators(): Operators {
  const names = ['<', '>', '<=', '>='] as const
  const ordered = names.map((name): [string, Operator] => {
    const order = defaultOperators[name] as Operator
    return [name, (left, right, context) => left !== null && right !== null && order(left, right, context)]
  })
  return Object.fromEntries(ordered) as Operators
}

/** What was captured is Markdown already: printing it must not escape it again. */
class SafeCapture extends CaptureTag {
  override *render(context: Context): Steps<void> {
    yield* super.render(context) as Steps<void>
    const scope = context.bottom() as Record<string, unknown>
    scope[this.variable] = new Safe(printText(scope[this.variable]))
  }
}

const CONTROL = new Set(
  'if elsif else endif unless endunless case when endcase for endfor assign capture endcapture comment endcomment #'.split(
    ' ',
  ),
)

/**
 * Parses text; a control tag that stands alone on its line takes the whole line away, so that loops and conditions around
 * table rows and list items leave no empty lines.
 */
export function parseLiquid(engine: Liquid, text: string, file: string | null): LiquidTemplate[] {
  const tokens = tokensOf(text, file ?? undefined)
  for (const [index, token] of tokens.entries()) {
    if (token.kind === TokenKind.Tag && CONTROL.has((token as TagToken).name)) trimLine(tokens, index, text)
  }
  return new Parser(engine).parseTokens(tokens)
}

const isBlank = (sign: string): boolean => sign !== '\n' && sign.trim() === ''

type Trimmed = TopLevelToken & { trimLeft: number; trimRight: number }

function trimLine(tokens: TopLevelToken[], index: number, text: string): void {
  const { begin, end } = tokens[index]!
  // Only the blanks beside the tag are looked at: a line may hold thousands of tags.
  let lineStart = begin
  while (lineStart > 0 && isBlank(text[lineStart - 1]!)) lineStart--
  let lineEnd = end
  while (lineEnd < text.length && isBlank(text[lineEnd]!)) lineEnd++
  if (lineStart > 0 && text[lineStart - 1] !== '\n') return
  if (lineEnd < text.length && text[lineEnd] !== '\n') return
  const nextLine = lineEnd < text.length ? lineEnd : -1
  const [before, after] = [tokens[index - 1] as Trimmed | undefined, tokens[index + 1] as Trimmed | undefined]
  if (before?.kind === TokenKind.HTML) {
    const room = before.end - before.begin - before.trimLeft
    before.trimRight = Math.max(before.trimRight, Math.min(begin - lineStart, room))
  }
  if (after?.kind === TokenKind.HTML) {
    const room = after.end - after.begin - after.trimRight
    after.trimLeft = Math.max(after.trimLeft, Math.min(lineEnd - end + (nextLine < 0 ? 0 : 1), room))
  }
}

function readerOf(token: TagToken): Reader {
  return new Reader(token.input, token.tokenizer.p, token.contentRange[1])
}

/** Evaluates an expression of a tag's arguments; what goes wrong is a fault at the expression's own place. */
export function* evaluateExpression(
  expression: Expression,
  token: { input: string; file?: string | undefined },
  engine: Liquid,
  context: Context,
): Steps<unknown> {
  const { input } = token
  const [operand] = expression.operands
  if (expression.filters.length === 0 && operand) {
    if (operand.kind === 'literal') return operand.value
    if (operand.kind === 'list') return yield* evaluateList(operand.items, token, engine, context)
    if (operand.kind === 'map') return yield* evaluateMap(operand, token, engine, context)
  }
  try {
    const value = new Value(input.slice(expression.begin, expression.end), engine)
    return yield value.value(context)
  } catch (error) {
    throw new TemplateFault(
      toFault(error, { text: input, offset: expression.begin, partial: token.file ?? null }),
    )
  }
}

function* evaluateList(
  items: Expression[],
  token: { input: string; file?: string | undefined },
  engine: Liquid,
  context: Context,
): Steps<unknown[]> {
  const values: unknown[] = []
  for (const item of items) values.push(yield* evaluateExpression(item, token, engine, context))
  return values
}

function* evaluateMap(
  map: Extract<Operand, { kind: 'map' }>,
  token: { input: string; file?: string | undefined },
  engine: Liquid,
  context: Context,
): Steps<Record<string, unknown>> {
  const values: [string, unknown][] = []
  for (const { name, value } of map.entries) {
    values.push([name, yield* evaluateExpression(value, token, engine, context)])
  }
  return Object.fromEntries(values)
}

function tagClass(definition: OwnTag): TagClass {
  return class extends Tag {
    readonly #args: TagArguments
    readonly #tagToken: TagToken

    constructor(token: TagToken, remaining: TopLevelToken[], liquid: Liquid) {
      super(token, remaining, liquid)
      this.#tagToken = token
      this.#args = readerOf(token).arguments(definition.plain)
    }

    *render(context: Context, emitter: Emitter): Steps<void> {
      const token = this.#tagToken
      const evaluate: Evaluate = (expression) => evaluateExpression(expression, token, this.liquid, context)
      const [line, column] = token.getPosition()
      const text = token.input
      emitter.write(yield* definition.render(this.#args, evaluate, { line: line!, column: column! }, text))
    }
  }
}

/** `{% render "name", key: value %}`: the partial sees these keys and what every template sees, nothing else. */
function renderTagClass(partials: Record<string, string>): TagClass {
  const parsed = new Map<string, LiquidTemplate[]>()
  return class extends Tag {
    readonly #named: NamedArgument[]
    readonly #partial: string
    readonly #tagToken: TagToken

    constructor(token: TagToken, remaining: TopLevelToken[], liquid: Liquid) {
      super(token, remaining, liquid)
      this.#tagToken = token
      const { plain, named } = readerOf(token).arguments(1)
      const file = plain[0]?.operands[0]
      this.#partial = file?.kind === 'literal' ? String(file.value) : ''
      this.#named = named
    }

    *render(context: Context, emitter: Emitter): Steps<void> {
      const name = this.#partial
      if (!Object.hasOwn(partials, name)) throw new Error(`There is no partial ${JSON.stringify(name)}.`)
      const depth = Number(context.getRegister('depth') ?? 0)
      if (depth >= MAX_RENDER_DEPTH) throw new Error('Partials render each other without end.')
      const child = context.spawn()
      child.setRegister('depth', depth + 1)
      for (const { name: key, value } of this.#named) {
        Object.assign(child.bottom(), {
          [key]: yield* evaluateExpression(value, this.#tagToken, this.liquid, context),
        })
      }
      const templates = parsed.get(name) ?? parseLiquid(this.liquid, partials[name]!, name)
      parsed.set(name, templates)
      yield this.liquid.renderer.renderTemplates(templates, child, emitter)
    }
  }
}
