/**
 * Makes the numbers of a text clickable. A click shows where the number comes from. Each gets its place in the
 * Markdown, and in a marked table its cell, before the table sorts.
 */
import { marksIn } from '@assay/model/places'
import type { Mark } from '@assay/model/provenance'
import { isShortCell } from '@assay/model/shown-table'
import type { Element, ElementContent, Root, RootContent, Text } from 'hast'
import type { Insight } from '../../insights.ts'
import type { Spot } from '../../trace.ts'
import { textIn } from './hast-text.ts'

const NUMBERS = /(?<![\w.,-])[+\-−]?\d[\d,]*(?:\.\d+)?(?: ?%)?(?![\w-]|[.,]\d)/g
/** Elements whose numbers are not traced. */
const APART = new Set(['thead', 'code', 'pre', 'a'])

function numberElement({ start, end, line, column }: Spot, children: ElementContent[]): Element {
  const spot = [start, end, ...(line === undefined || column === undefined ? [] : [line, column])]
  const properties = { className: ['number'], dataSpot: spot.join(' ') }
  return { type: 'element', tagName: 'span', properties, children }
}

/** Returns the place of an element that `numberElement` made. */
export function spotOf({ dataset }: HTMLElement): Spot {
  const [start = 0, end = 0, line, column] = (dataset.spot ?? '').split(' ').map(Number)
  return line === undefined || column === undefined ? { start, end } : { start, end, line, column }
}

const placeOf = ({ position }: Text | Element): Spot | null => {
  const [start, end] = [position?.start.offset, position?.end.offset]
  return start === undefined || end === undefined ? null : { start, end }
}

/**
 * Splits a text at its numbers. A text that a rule of links has cut has no place, so its numbers are not clickable.
 */
function splitNumbers(text: Text, markdown: string): ElementContent[] {
  const place = placeOf(text)
  const at = place && alignedTo(markdown.slice(place.start, place.end), text.value)
  if (!place || !at) return [text]
  const parts: ElementContent[] = []
  let from = 0
  for (const { 0: number, index } of text.value.matchAll(NUMBERS)) {
    if (index > from) parts.push({ type: 'text', value: text.value.slice(from, index) })
    from = index + number.length
    const spot = { start: place.start + at[index]!, end: place.start + at[from]! }
    parts.push(numberElement(spot, [{ type: 'text', value: number }]))
  }
  if (from < text.value.length) parts.push({ type: 'text', value: text.value.slice(from) })
  return parts
}

const ESCAPED = /\\[!-/:-@[-`{-~]/y
const ENTITY = /&(?:#\d{1,7}|#x[\da-f]{1,6}|[a-z][\da-z]*);/iy
const MARGIN = /[ \t>]*/y
const BLANKS = /[ \t]*/y

function matchAt(pattern: RegExp, source: string, at: number): string {
  pattern.lastIndex = at
  return pattern.exec(source)?.[0] ?? ''
}

/**
 * Returns the position in the source of each character of a text, and of its end. Backslashes, entities and the
 * margins of lines are only in the source. Returns null if the text is not that of the source.
 */
function alignedTo(source: string, text: string): number[] | null {
  const found: number[] = []
  let at = 0
  while (found.length < text.length) {
    const index = found.length
    if (/[\r\n]/.test(text[index]!)) at += matchAt(BLANKS, source, at).length
    else if (index > 0 && /[\r\n]/.test(text[index - 1]!)) at += matchAt(MARGIN, source, at).length
    const entity = matchAt(ENTITY, source, at)
    // An unknown entity stays as it is. Only these entities can give the sign with which they begin.
    if (entity !== '' && (/^&(amp;|#)/i.test(entity) || !text.startsWith(entity, index))) {
      const units = text.codePointAt(index)! > 0xffff ? 2 : 1
      for (let unit = 0; unit < units; unit++) found.push(at)
      at += entity.length
      continue
    }
    const escaped = matchAt(ESCAPED, source, at)
    if ((escaped === '' ? source[at] : escaped[1]) !== text[index]) return null
    found.push(at)
    at += Math.max(1, escaped.length)
  }
  return [...found, at]
}

/**
 * Marks the cells of a table. The rows are in the order of the Markdown here; the mark says which rows of the block
 * they are.
 */
function markCells(table: Element, place: Spot, { from }: Mark): void {
  table.properties.dataBlock = from[0]?.block
  const rows = table.children
    .flatMap((part) => (part.type === 'element' && part.tagName === 'tbody' ? part.children : []))
    .filter((part) => part.type === 'element')
  for (const [line, row] of rows.entries()) {
    const cells = row.children.filter((part) => part.type === 'element')
    for (const [column, cell] of cells.entries()) {
      keepShort(cell)
      if (/\d/.test(textIn(cell))) cell.children = [numberElement({ ...place, line, column }, cell.children)]
    }
  }
}

function keepShort(cell: Element): void {
  if (isShortCell(textIn(cell))) cell.properties.className = ['short']
}

/** Makes numbers clickable. It runs after sanitising, so that no text can choose a place. */
export function withNumbers({ markdown, provenance = [] }: Insight) {
  const split = (child: RootContent): RootContent[] => {
    if (child.type === 'text') return splitNumbers(child, markdown)
    if (child.type !== 'element' || APART.has(child.tagName)) return [child]
    if (child.tagName === 'td') keepShort(child)
    const place = child.tagName === 'table' ? placeOf(child) : null
    const mark = place && marksIn(provenance, place).find(({ table }) => table)
    if (mark) markCells(child, place, mark)
    else child.children = child.children.flatMap((inner) => split(inner) as ElementContent[])
    return [child]
  }
  return () =>
    (tree: Root): void => {
      tree.children = tree.children.flatMap(split)
    }
}
