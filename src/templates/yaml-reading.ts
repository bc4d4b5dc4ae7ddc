/**
 * Reads YAML 1.2 and keeps where each key and value stands, so that every fault bears a line and a column. Aliases are
 * bounded (a "billion laughs" file is a fault, not an outage), unknown tags and duplicate keys are faults.
 */
import { isCollection, isMap, isNode, isPair, isScalar, LineCounter, parseDocument } from 'yaml'
import type { Fault } from '../template.ts'
import { makeFault, type Place } from './fault.ts'

export interface YamlReading {
  /** What the text says; undefined where it cannot be read. */
  value: unknown
  /** Where the value (or, with `key`, the key) at the path stands; the nearest place above it where there is none. */
  place(path: readonly (string | number)[], what?: 'key' | 'value'): Place
  faults: Fault[]
}

const MAX_ALIASES = 20

/** `firstLine`: the line of the source on which the text begins. */
export function readYaml(text: string, firstLine: number): YamlReading {
  const lines = new LineCounter()
  const document = parseDocument(text, {
    version: '1.2',
    lineCounter: lines,
    prettyErrors: false,
    strict: true,
    uniqueKeys: true,
    stringKeys: true,
  })
  const placeAt = (offset: number): Place => {
    const { line, col } = lines.linePos(offset)
    return { line: firstLine + Math.max(line, 1) - 1, column: Math.max(col, 1) }
  }
  const place = (path: readonly (string | number)[], what: 'key' | 'value' = 'value'): Place =>
    placeAt(offsetOf(document.contents, path, what))
  const faults = [...document.errors, ...document.warnings].map((error) =>
    makeFault('bad_yaml', placeAt(error.pos[0]), sentence(error.message), 'Correct the YAML.'),
  )
  if (faults.length > 0) return { value: undefined, place, faults }
  try {
    return { value: document.toJS({ maxAliasCount: MAX_ALIASES }), place, faults }
  } catch {
    const message = `The YAML uses an alias that is unknown, or more than ${MAX_ALIASES} of them.`
    faults.push(makeFault('bad_yaml', placeAt(0), message, 'Write the values out.'))
    return { value: undefined, place, faults }
  }
}

function sentence(message: string): string {
  const first = message.split('\n')[0]!.trim()
  return /[.!?]$/.test(first) ? first : `${first}.`
}

function offsetOf(node: unknown, path: readonly (string | number)[], what: 'key' | 'value'): number {
  const own = isNode(node) ? (node.range?.[0] ?? 0) : 0
  const [step, ...rest] = path
  if (step === undefined || !isCollection(node)) return own
  if (!isMap(node)) {
    const item = node.items[Number(step)]
    return isNode(item) ? offsetOf(item, rest, what) : own
  }
  const pair = node.items.find(
    (item) => isPair(item) && (isScalar(item.key) ? item.key.value : item.key) === step,
  )
  if (!pair) return own
  const key = isNode(pair.key) ? (pair.key.range?.[0] ?? own) : own
  if (rest.length === 0 && what === 'key') return key
  if (!isNode(pair.value)) return key
  // An empty value has no text of its own: its key is the better place.
  const empty = isScalar(pair.value) && pair.value.range?.[0] === pair.value.range?.[1]
  return empty ? key : offsetOf(pair.value, rest, what)
}
