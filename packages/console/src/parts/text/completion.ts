/** Completes a place of a template: tables, columns, methods with their options and fields, filters and tags. Pure. */
import { FILTERS, METHODS, OUTCOME, TAGS } from './words.generated.ts'

export interface Completion {
  /** The offset at which the completed word begins. */
  from: number
  words: { label: string; detail: string }[]
}

export interface Block {
  kind: string
  name: string
  /** The text without the fence. */
  text: string
  start: number
  end: number
}

const FENCE = /^(`{3,}|~{3,})(\w+)[ \t]+(\w+)[ \t]*\n([\s\S]*?)(?:^\1|$(?![\s\S]))/gm
const FRONT = /^---\n[\s\S]*?^---$/m

export function blocksOf(source: string): Block[] {
  return [...source.matchAll(FENCE)].map(({ 0: all, 2: kind, 3: name, 4: text, index }) => {
    const start = index + all.indexOf('\n') + 1
    return { kind: kind!, name: name!, text: text!, start, end: start + text!.length }
  })
}

/** Returns the sources with a file by name: "orders: { file: orders.csv }". */
export function sourcesOf(source: string): [name: string, file: string][] {
  const front = FRONT.exec(source)?.[0] ?? ''
  const found = front.matchAll(/([A-Za-z_]\w*):\s*\{?\s*file:\s*(?:"([^"]*)"|([^\s,}]+))/g)
  return [...found].map(([, name, quoted, plain]) => [name!, quoted ?? plain ?? ''])
}

function variablesOf(source: string): string[] {
  const front = FRONT.exec(source)?.[0] ?? ''
  return [...front.matchAll(/([A-Za-z_]\w*):\s*\{\s*type:/g)].map(([, name]) => name!)
}

/** Returns the columns that the SQL of a block names: "as time", "country". */
function columnsOf({ kind, text }: Block): string[] {
  if (kind === 'metric') return ['time', 'value']
  const named = [...text.matchAll(/\bas\s+"?([A-Za-z_]\w*)"?|"([^"\n]+)"/gi)].map((one) => one[1] ?? one[2]!)
  return [...new Set(named)]
}

const methodOf = ({ text }: Block): string => /\bmethod:\s*(\w+)/.exec(text)?.[1] ?? ''

type Words = Completion['words']
const as = (detail: string, labels: readonly string[]): Words =>
  [...new Set(labels)].map((label) => ({ label, detail }))

/** Returns the completion. `columns`: those of the sources, as far as they are known. */
export function completionAt(
  source: string,
  position: number,
  columns: readonly string[],
): Completion | null {
  const line = source.slice(source.lastIndexOf('\n', position - 1) + 1, position)
  const word = /\w*$/.exec(line)![0]
  const before = line.slice(0, line.length - word.length)
  const blocks = blocksOf(source)
  const inside = blocks.find(({ start, end }) => position >= start && position <= end)
  const words = inside
    ? inBlock(source, inside, blocks, before, columns)
    : inLiquid(before)
      ? inProse(source, blocks, before)
      : []
  return words.length === 0 ? null : { from: position - word.length, words }
}

const inLiquid = (before: string): boolean =>
  Math.max(before.lastIndexOf('{{'), before.lastIndexOf('{%')) >
  Math.max(before.lastIndexOf('}}'), before.lastIndexOf('%}'))

function inBlock(
  source: string,
  block: Block,
  blocks: readonly Block[],
  before: string,
  columns: readonly string[],
): Words {
  const earlier = blocks.filter(({ start }) => start < block.start)
  const tables = earlier.filter(({ kind }) => kind !== 'analysis')
  const names = [
    ...as(
      'source',
      sourcesOf(source).map(([name]) => name),
    ),
    ...as(
      'block',
      tables.map(({ name }) => name),
    ),
  ]
  if (block.kind === 'sql') return [...names, ...as('column', [...columns, ...tables.flatMap(columnsOf)])]
  if (block.kind !== 'analysis') return []
  const key = /(\w+):\s*[[{]?[\w\s,]*$/.exec(before)?.[1]
  if (key === 'method') return as('method', Object.keys(METHODS))
  if (key === 'of') return names
  const method = METHODS[methodOf(block)]
  if (key === undefined) return as('option', ['method', 'of', ...(method?.options ?? [])])
  const of = /\bof:\s*(\w+)/.exec(block.text)?.[1]
  const read = tables.find(({ name }) => name === of)
  return as('column', read ? columnsOf(read) : columns)
}

function inProse(source: string, blocks: readonly Block[], before: string): Words {
  if (/\|\s*$/.test(before)) return as('filter', FILTERS)
  if (/\{%-?\s*$/.test(before)) return as('tag', TAGS)
  const owner = /(\w+)\.$/.exec(before)?.[1]
  if (owner === 'vars') return as('variable', variablesOf(source))
  if (owner !== undefined) {
    const block = blocks.find(({ name }) => name === owner)
    if (!block) return []
    if (block.kind !== 'analysis') return as('column', [...columnsOf(block), 'size'])
    return as('field', [...OUTCOME, ...(METHODS[methodOf(block)]?.fields ?? [])])
  }
  return [
    ...as(
      'block',
      blocks.map(({ name }) => name),
    ),
    ...as('', ['vars', 'run']),
  ]
}
