/**
 * Tables whose rows stay the JSON text in which they arrived, in pieces. Code that only passes them on neither parses
 * them nor writes their text again.
 */
import type { Cell, Table } from '../insight.ts'

/** A text that is JSON already. */
export class JsonText {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

/** For each table the texts of its pieces, without the brackets of the list. */
const KEPT = new WeakMap<Table, readonly string[]>()

/** Gives the table rows that are parsed at the first read. They must not be changed. */
export function keepRows(table: Table, pieces: readonly string[]): void {
  KEPT.set(table, pieces)
  let rows: Cell[][] | undefined
  Object.defineProperty(table, 'rows', {
    configurable: true,
    enumerable: true,
    get() {
      rows ??= pieces.flatMap((piece) => JSON.parse(`[${piece}]`) as Cell[][])
      return rows
    },
  })
}

/**
 * Yields the parts of the JSON text of an object. `text` returns the text of the member `name`. The parts are not
 * joined, because that would copy them.
 */
function* objectParts<Value extends object>(
  value: Value,
  name: keyof Value,
  text: () => Iterable<string>,
): Generator<string> {
  let before = '{'
  for (const key of Object.keys(value)) {
    const told = key === name ? text() : JSON.stringify(value[key as keyof Value])
    if (told === undefined) continue
    yield `${before}${JSON.stringify(key)}:`
    if (typeof told === 'string') yield told
    else yield* told
    before = ','
  }
  yield before === '{' ? '{}' : '}'
}

function* rowsParts(pieces: readonly string[]): Generator<string> {
  for (const [nth, piece] of pieces.entries()) {
    yield nth === 0 ? '[' : ','
    yield piece
  }
  yield ']'
}

function* tablesParts(tables: Readonly<Record<string, Table>>): Generator<string> {
  let before = '{'
  for (const [name, table] of Object.entries(tables)) {
    yield `${before}${JSON.stringify(name)}:`
    const pieces = KEPT.get(table)
    if (pieces === undefined) yield JSON.stringify(table)
    else yield* objectParts(table, 'rows', () => rowsParts(pieces))
    before = ','
  }
  yield before === '{' ? '{}' : '}'
}

/** Returns the JSON text of the tables, equal to that of JSON.stringify. */
export function tablesText(tables: Readonly<Record<string, Table>>): string {
  return [...tablesParts(tables)].join('')
}

/** Returns the JSON text of an object with tables, equal to that of JSON.stringify. */
export function withTablesText(value: { tables: Readonly<Record<string, Table>> }): JsonText {
  return new JsonText([...objectParts(value, 'tables', () => tablesParts(value.tables))].join(''))
}
