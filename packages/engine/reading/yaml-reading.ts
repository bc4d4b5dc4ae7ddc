/**
 * Reads YAML 1.2 and keeps the position of each key and value, so that every fault has a line and a column. Length, parts
 * and aliases are bounded: a "billion laughs" file is a fault. Unknown tags and duplicate keys are faults. The work is
 * linear in the text, because this runs in the process that answers requests.
 */

import type { Fault } from '@assay/model/template'
import {
  type Document,
  isCollection,
  isMap,
  isNode,
  isScalar,
  Lexer,
  LineCounter,
  type Pair,
  parseDocument,
  type Scalar,
  visit,
  type YAMLMap,
} from 'yaml'
import { makeFault, type Position } from '../language/fault.ts'

export interface YamlReading {
  /** The value of the text; undefined if it cannot be read. */
  value: unknown
  /**
   * Returns the position of the value (or, with `key`, the key) at the path, or of the nearest node above it if there
   * is none.
   */
  position(path: readonly (string | number)[], what?: 'key' | 'value'): Position
  /**
   * Returns the position of an offset into the text at the path. It is exact in a block (`|`) and on one line; else
   * it is that of the text's start.
   */
  positionInText(path: readonly (string | number)[]): (offset: number) => Position
  faults: Fault[]
}

const MAX_ALIASES = 20
/** The most characters. The parser reads about a million a second. */
const MAX_LENGTH = 100_000
/** The most open brackets and braces. */
const MAX_DEPTH = 64
/** The most brackets, entries and line ends, because many small parts take the parser longest. */
const MAX_PARTS = 20_000
/** The most faults reported. */
const MAX_FAULTS = 100

/** Reads YAML. `firstLine`: the line of the source on which the text begins. */
export function readYaml(text: string, firstLine: number): YamlReading {
  if (text.length > MAX_LENGTH) {
    const position = { line: firstLine, column: 1 }
    const message = `The YAML that begins here has ${text.length} characters.`
    const remedy = `At most ${MAX_LENGTH} are read: keep long lists in a data file.`
    const faults = [makeFault('too_long', position, message, remedy)]
    return { value: undefined, position: () => position, positionInText: () => () => position, faults }
  }
  const over = boundFault(text, firstLine)
  if (over) {
    const position = { line: over.line, column: over.column }
    return {
      value: undefined,
      position: () => position,
      positionInText: () => () => position,
      faults: [over],
    }
  }
  const lines = new LineCounter()
  const document = withoutStacks(() =>
    parseDocument(text, {
      version: '1.2',
      lineCounter: lines,
      prettyErrors: false,
      strict: true,
      // The parser's own search for duplicates is quadratic, since it compares each key with all before it.
      uniqueKeys: false,
      stringKeys: true,
    }),
  )
  const positionAt = (offset: number): Position => {
    const { line, col } = lines.linePos(offset)
    return { line: firstLine + Math.max(line, 1) - 1, column: Math.max(col, 1) }
  }
  const pairOf = pairFinder()
  const position = (path: readonly (string | number)[], what: 'key' | 'value' = 'value'): Position =>
    positionAt(offsetOf(document.contents, path, what, pairOf))
  const positionInText = (path: readonly (string | number)[]) => {
    const node: unknown = document.getIn(path, true)
    const start = position(path)
    return isScalar(node) ? textPositions(node, text, start) : () => start
  }
  const faults = [...document.errors, ...document.warnings]
    .slice(0, MAX_FAULTS)
    .map((error) =>
      makeFault('bad_yaml', positionAt(error.pos[0]), sentence(error.message), 'Correct the YAML.'),
    )
  if (faults.length > 0) return { value: undefined, position, positionInText, faults }
  const found = readValue(document)
  faults.push(
    ...found.faults.map(({ offset, message, remedy }) =>
      makeFault('bad_yaml', positionAt(offset), message, remedy),
    ),
  )
  return { value: faults.length > 0 ? undefined : found.value, position, positionInText, faults }
}

/**
 * Parses without stack traces. The parser makes an error for each fault, up to 20,000, and their stacks, which nobody
 * reads, took most of its time.
 */
function withoutStacks<T>(parse: () => T): T {
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = 0
  try {
    return parse()
  } finally {
    Error.stackTraceLimit = stackTraceLimit
  }
}

/** Marks that the lexer adds before values and documents. They do not belong to the text. */
const LEXER_MARKS = new Set(['\u0002', '\u0018', '\u001f', '\ufeff'])

/**
 * Returns the fault of the first bracket that is one too deep or closes nothing, or of the first part that is one too
 * many. The lexer divides the text in linear time and parses nothing.
 */
function boundFault(text: string, firstLine: number): Fault | null {
  let [parts, depth, offset] = [0, 0, 0]
  for (const part of new Lexer().lex(text)) {
    if (part === '[' || part === '{') depth += 1
    if (part === ']' || part === '}') depth -= 1
    parts += 1
    if (depth < 0 || depth > MAX_DEPTH || parts > MAX_PARTS) break
    if (!LEXER_MARKS.has(part)) offset += part.length
  }
  const before = text.slice(0, offset).split('\n')
  const position = { line: firstLine + before.length - 1, column: before.at(-1)!.length + 1 }
  if (depth < 0) {
    return makeFault(
      'bad_yaml',
      position,
      `The bracket ${text[offset]} has no opening bracket.`,
      'Remove it.',
    )
  }
  if (depth > MAX_DEPTH) {
    const message = `The YAML is nested too deeply: more than ${MAX_DEPTH} brackets are open here.`
    return makeFault('bad_yaml', position, message, 'Write the values with fewer brackets.')
  }
  if (parts <= MAX_PARTS) return null
  const message = `The YAML has more than ${MAX_PARTS} parts (values, keys, marks and line ends) up to here.`
  return makeFault('too_long', position, message, 'Keep long lists in a data file.')
}

function textPositions(node: Scalar, whole: string, start: Position): (offset: number) => Position {
  const value = String(node.value)
  const [from, to] = node.range ?? [0, 0]
  const written = whole.slice(from, to)
  if (node.type === 'BLOCK_LITERAL') {
    // The first line that is not blank shows the indentation of all lines.
    const indent = /\n( *)\S/.exec(written)?.[1]?.length ?? 0
    return (offset) => {
      const before = value.slice(0, offset).split('\n')
      return { line: start.line + before.length, column: indent + before.at(-1)!.length + 1 }
    }
  }
  const quote = node.type === 'PLAIN' ? 0 : 1
  const plain = written.slice(quote, written.length - quote) === value
  return (offset) => (plain ? { line: start.line, column: start.column + quote + offset } : start)
}

const TOO_DEEP = 'It is nested too deeply.'

function readValue(document: Document) {
  try {
    const faults = duplicateKeys(document)
      .slice(0, MAX_FAULTS)
      .map(({ key, offset }) => {
        const message = `The key ${JSON.stringify(key)} is given twice.`
        return { offset, message, remedy: 'Keep one of them.' }
      })
    return { value: document.toJS({ maxAliasCount: MAX_ALIASES }) as unknown, faults }
  } catch (error) {
    const message =
      error instanceof RangeError
        ? TOO_DEEP
        : `The YAML uses an alias that is unknown, or more than ${MAX_ALIASES} of them.`
    return { value: undefined, faults: [{ offset: 0, message, remedy: 'Write the values out.' }] }
  }
}

function sentence(message: string): string {
  const first = /call stack/.test(message) ? TOO_DEEP : message.split('\n')[0]!.trim()
  return /[.!?]$/.test(first) ? first : `${first}.`
}

function keyOf(pair: Pair): unknown {
  return isScalar(pair.key) ? pair.key.value : pair.key
}

function duplicateKeys(document: Document): { key: unknown; offset: number }[] {
  const found: { key: unknown; offset: number }[] = []
  visit(document, {
    Map(_, map) {
      const seen = new Set<unknown>()
      for (const pair of map.items) {
        const key = keyOf(pair)
        if (seen.has(key)) found.push({ key, offset: isNode(pair.key) ? (pair.key.range?.[0] ?? 0) : 0 })
        seen.add(key)
      }
    },
  })
  return found
}

type PairOf = (map: YAMLMap, key: unknown) => Pair | undefined

/** Returns a function that finds pairs by key. It indexes each map once. */
function pairFinder(): PairOf {
  const indexes = new Map<YAMLMap, Map<unknown, Pair>>()
  return (map, key) => {
    let index = indexes.get(map)
    if (!index) {
      index = new Map(map.items.map((pair) => [keyOf(pair), pair]))
      indexes.set(map, index)
    }
    return index.get(key)
  }
}

function offsetOf(
  node: unknown,
  path: readonly (string | number)[],
  what: 'key' | 'value',
  pairOf: PairOf,
): number {
  const own = isNode(node) ? (node.range?.[0] ?? 0) : 0
  const [step, ...rest] = path
  if (step === undefined || !isCollection(node)) return own
  if (!isMap(node)) {
    const item = node.items[Number(step)]
    return isNode(item) ? offsetOf(item, rest, what, pairOf) : own
  }
  const pair = pairOf(node, step)
  if (!pair) return own
  const key = isNode(pair.key) ? (pair.key.range?.[0] ?? own) : own
  if (rest.length === 0 && what === 'key') return key
  if (!isNode(pair.value)) return key
  // An empty value has no text of its own, so its key is the better position.
  const empty = isScalar(pair.value) && pair.value.range?.[0] === pair.value.range?.[1]
  return empty ? key : offsetOf(pair.value, rest, what, pairOf)
}
