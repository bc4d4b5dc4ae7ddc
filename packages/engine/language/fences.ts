/**
 * Takes the front matter and the fences `sql NAME`, `metric NAME` and `analysis NAME` out of a template before its prose is
 * read. Empty lines replace them, so line numbers stay those of the source. Other fences, and fences in Liquid's `comment`
 * or `raw`, are prose.
 */
import type { BlockDays, Fault } from '@assay/model/template'
import { makeFault } from './fault.ts'

export interface Fence {
  kind: 'sql' | 'metric' | 'analysis'
  name: string
  text: string
  /** The line number of the first line of text. */
  line: number
  /** The connection of `sql NAME at: CONNECTION`, in whose database the SQL runs; null if there is none. */
  at: string | null
  /** Of such a fence: the days by which its rows are kept; null if each run reads all rows. */
  days: BlockDays | null
  /** The position of the name. */
  opening: { line: number; column: number }
}

export interface Pieces {
  /** The front matter; null if there is none. Its first line is line 2 of the source. */
  front_matter: string | null
  fences: Fence[]
  body: string
  faults: Fault[]
}

const BLOCK_NAME = /^[a-z_][a-z0-9_]{0,62}$/
const OPENING = /^( {0,3})(`{3,}|~{3,})[ \t]*(.*)$/
/** Names with another meaning in prose. */
export const RESERVED = new Set(
  'vars run reader forloop true false nil null empty blank and or not contains'.split(' '),
)

/**
 * Replaces each kind of line end by a line feed, and removes a byte order mark. Line numbers stay.
 */
export function normaliseNewlines(source: string): string {
  return source.replace(/^\uFEFF/, '').replace(/\r\n?/g, '\n')
}

export function splitTemplate(source: string): Pieces {
  const lines = normaliseNewlines(source).split('\n')
  const faults: Fault[] = []
  const front = takeFrontMatter(lines, faults)
  const fences = takeFences(lines, front.next, faults)
  return { front_matter: front.text, fences, body: lines.join('\n'), faults }
}

function takeFrontMatter(lines: string[], faults: Fault[]): { text: string | null; next: number } {
  if (lines[0]?.trimEnd() !== '---') return { text: null, next: 0 }
  const end = lines.findIndex((line, index) => index > 0 && /^(---|\.\.\.)\s*$/.test(line))
  if (end < 0) {
    const remedy = 'Close it with a line "---".'
    faults.push(
      makeFault('unclosed_front_matter', { line: 1, column: 1 }, 'The front matter has no end.', remedy),
    )
    return { text: null, next: lines.length }
  }
  const text = lines.slice(1, end).join('\n')
  lines.fill('', 0, end + 1)
  return { text, next: end + 1 }
}

function takeFences(lines: string[], from: number, faults: Fault[]): Fence[] {
  const fences: Fence[] = []
  let hidden: string | null = null
  for (let index = from; index < lines.length; index++) {
    const line = lines[index]!
    const opening = hidden === null ? OPENING.exec(line) : null
    if (!opening || (opening[2]!.startsWith('`') && opening[3]!.includes('`'))) {
      hidden = hiddenAfter(line, hidden)
      continue
    }
    const end = closingLine(lines, index, opening[2]!)
    const fence = readInfo(opening, index, faults)
    if (end < 0) {
      const position = { line: index + 1, column: opening[1]!.length + 1 }
      const remedy = `Close it with a line "${opening[2]}".`
      faults.push(makeFault('unclosed_fence', position, 'The fence that opens here has no end.', remedy))
      if (fence) lines.fill('', index)
      return fences
    }
    if (fence) {
      fence.text = lines.slice(index + 1, end).join('\n')
      fences.push(fence)
    }
    if (fence || isBlockFence(opening[3]!)) lines.fill('', index, end + 1)
    index = end
  }
  return fences
}

/** Returns the Liquid `comment` or `raw` that is open after the line; null if none is. */
function hiddenAfter(line: string, before: string | null): string | null {
  let hidden = before
  for (const [, end, name] of line.matchAll(/\{%-?\s*(end)?(comment|raw)\b/g)) {
    if (end === undefined) hidden ??= name!
    else if (hidden === name) hidden = null
  }
  return hidden
}

function closingLine(lines: string[], opening: number, mark: string): number {
  const closing = new RegExp(`^ {0,3}${mark[0] === '~' ? '~' : '`'}{${mark.length},}[ \\t]*$`)
  for (let index = opening + 1; index < lines.length; index++) if (closing.test(lines[index]!)) return index
  return -1
}

/** Tells whether a fence is a block. `analysis` always is, `sql` or `metric` only with a name. */
function isBlockFence(info: string): boolean {
  return /^(analysis(\s|$)|(?:sql|metric)\s+\S)/.test(info.trim())
}

function readInfo(opening: RegExpExecArray, index: number, faults: Fault[]): Fence | null {
  const info = opening[3]!
  if (!isBlockFence(info)) return null
  const [kind, name, ...rest] = info.trim().split(/\s+/) as [Fence['kind'], string | undefined, ...string[]]
  const start = opening[0].indexOf(info)
  const position = {
    line: index + 1,
    column: 1 + (name === undefined ? start : opening[0].indexOf(name, start + kind.length)),
  }
  const refuse = (code: string, message: string, remedy: string): null => {
    faults.push(makeFault(code, position, message, remedy))
    return null
  }
  if (name === undefined) {
    return refuse('unnamed_block', 'An analysis block needs a name.', 'Write ```analysis NAME.')
  }
  if (!BLOCK_NAME.test(name)) {
    const message = `${JSON.stringify(name)} cannot name a block.`
    return refuse('bad_name', message, 'Use lower-case letters, digits and underscores, a letter first.')
  }
  if (RESERVED.has(name)) {
    return refuse('reserved_name', `"${name}" has a meaning of its own.`, 'Choose another name.')
  }
  const after = rest.join(' ')
  const place = rest.length === 0 ? { at: null, days: null } : kind === 'sql' ? placeIn(after) : null
  if (place === null) {
    const message = `Nothing may follow the block's name: ${JSON.stringify(after)}.`
    const remedy = kind === 'sql' && /^at\b/.test(after) ? remedyOf(after) : 'Remove it.'
    return refuse('leftover_text', message, remedy)
  }
  return { kind, name, text: '', line: index + 2, ...place, opening: position }
}

const remedyOf = (after: string): string =>
  /\b(?:day|reopen|deletes|changed):/.test(after)
    ? 'Write ```sql NAME at: CONNECTION day: COLUMN reopen: 3d deletes: none, or deletes: marked changed: COLUMN.'
    : 'Write ```sql NAME at: CONNECTION.'

/** Reads "at: shop", or "at: shop day: paid_on reopen: 3d deletes: none". Returns null for any other text. */
function placeIn(text: string): Pick<Fence, 'at' | 'days'> | null {
  const pairs = [...text.matchAll(/([a-z]+): ?([^\s:]+)(?: |$)/g)]
  const given = new Map(pairs.map(([, key, value]) => [key!, value!]))
  const isWhole = pairs.map(([pair]) => pair).join('') === text && given.size === pairs.length
  const at = given.get('at')
  if (!isWhole || at === undefined || !/^[a-z_][a-z0-9_-]*$/.test(at)) return null
  given.delete('at')
  if (given.size === 0) return { at, days: null }
  const days = daysIn(given)
  return days && { at, days }
}

function daysIn(given: ReadonlyMap<string, string>): BlockDays | null {
  const { day, reopen = '', deletes, changed = null, ...others } = Object.fromEntries(given)
  const isKnown = deletes === 'none' || deletes === 'marked'
  if (day === undefined || !/^\d{1,3}d$/.test(reopen) || !isKnown || Object.keys(others).length > 0)
    return null
  if ((deletes === 'marked') !== (changed !== null)) return null
  return { column: day, rules: { reopen_days: Number.parseInt(reopen, 10), deletes, changed } }
}
