/**
 * Reads sets of variables from one text: CSV, TSV or a spreadsheet's clipboard, whose first row names the variables; or
 * JSON, a list of objects or one object on each line. Pure.
 */
import type { VariableView } from '@assay/model/template'
import { splitList } from '../values.ts'

/** The most sets of one call. */
export const SETS_MOST = 1000

export interface VariableSets {
  /** The columns, in the order of their first use. */
  columns: string[]
  sets: Record<string, unknown>[]
}

export type SetsOrFault = VariableSets | { fault: string }

interface Row {
  line: number
  cells: string[]
}

/**
 * Parses RFC 4180 with any separator; a quote is doubled within quotes. For a quote that is never closed, it returns
 * its line as `open`.
 */
function rowsOf(text: string, divider: string): Row[] | { open: number } {
  const rows: Row[] = []
  let [cell, cells, line, quoted, begun]: [string, string[], number, number, number] = ['', [], 1, 0, 1]
  const endRow = (): void => {
    cells.push(cell)
    if (cells.some((one) => one.trim() !== '')) rows.push({ line: begun, cells })
    ;[cell, cells] = ['', []]
  }
  for (let at = 0; at < text.length; at += 1) {
    const sign = text[at]!
    if (sign === '\n') line += 1
    if (quoted > 0) {
      if (sign !== '"') cell += sign
      else if (text[at + 1] === '"') [cell, at] = [`${cell}"`, at + 1]
      else quoted = 0
    } else if (sign === '"' && cell.trim() === '') [cell, quoted] = ['', line]
    else if (sign === divider) {
      cells.push(cell)
      cell = ''
    } else if (sign === '\n') {
      endRow()
      begun = line
    } else cell += sign
  }
  if (quoted > 0) return { open: quoted }
  endRow()
  return rows
}

/** Returns the separator of the first row: a tab if there is one, else a semicolon, else a comma. */
function dividerOf(text: string): string {
  const head = /^(?:"(?:[^"]|"")*"|[^"\r\n])*/.exec(text)![0].replaceAll(/"(?:[^"]|"")*"/g, '')
  return ['\t', ';'].find((sign) => head.includes(sign)) ?? ','
}

function readTable(text: string): SetsOrFault {
  const rows = rowsOf(text, dividerOf(text))
  if ('open' in rows) return { fault: `Line ${rows.open}: a quote is not closed.` }
  const [head, ...body] = rows
  const columns = (head?.cells ?? []).map((name) => name.trim())
  if (columns.includes(''))
    return { fault: 'A name in the first row is empty: each cell of the first row names a variable.' }
  const twice = columns.find((name, index) => columns.indexOf(name) !== index)
  if (twice !== undefined) return { fault: `The first row names “${twice}” twice.` }
  const long = body.find(({ cells }) => cells.length > columns.length)
  if (long)
    return {
      fault: `Line ${long.line} has ${long.cells.length} cells, and the first row names ${columns.length}.`,
    }
  const sets = body.map(({ cells }) => {
    const given = columns.map((name, index) => [name, (cells[index] ?? '').trim()] as const)
    return Object.fromEntries(given.filter(([, value]) => value !== ''))
  })
  return { columns, sets }
}

function isSet(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (whole) {
    if (!text.startsWith('{')) throw whole
    const lines = text.split('\n').filter((line) => line.trim() !== '')
    return lines.map((line, index) => {
      try {
        return JSON.parse(line) as unknown
      } catch (error) {
        throw new Error(`line ${index + 1}: ${(error as Error).message}`, { cause: error })
      }
    })
  }
}

function readJson(text: string): SetsOrFault {
  let value: unknown
  try {
    value = parsed(text)
  } catch (error) {
    return { fault: `This is not JSON: ${(error as Error).message}.` }
  }
  const sets: unknown[] = Array.isArray(value) ? value : [value]
  const wrong = sets.findIndex((one) => !isSet(one))
  if (wrong >= 0) return { fault: `Item ${wrong + 1} of the list is not an object of variables by name.` }
  const columns = [...new Set((sets as object[]).flatMap((one) => Object.keys(one)))]
  return { columns, sets: sets as Record<string, unknown>[] }
}

/** Returns a set with typed values. A list is one cell, separated by commas. */
function typed(set: Record<string, unknown>, variables: readonly VariableView[]): Record<string, unknown> {
  const lists = variables.filter(({ name, type }) => type === 'list' && typeof set[name] === 'string')
  return { ...set, ...Object.fromEntries(lists.map(({ name }) => [name, splitList(set[name] as string)])) }
}

export function readSets(given: string, variables: readonly VariableView[]): SetsOrFault {
  const text = given
    .replace(/^\uFEFF/, '')
    .replaceAll(/\r\n?/g, '\n')
    .trim()
  if (text === '') return { columns: [], sets: [] }
  const read = /^[[{]/.test(text) ? readJson(text) : readTable(text)
  if ('fault' in read) return read
  const { columns, sets } = read
  if (sets.length > SETS_MOST)
    return {
      fault: `It holds ${sets.length.toLocaleString('en')} sets; one call takes at most ${SETS_MOST.toLocaleString('en')}: divide them.`,
    }
  return { columns, sets: sets.map((set) => typed(set, variables)) }
}
