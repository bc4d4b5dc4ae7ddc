/**
 * Maps SQLite's columns to the engine's. SQLite's values have types, its columns do not: the words of a column's
 * declaration decide, as in SQLite's affinities, and common names such as DATE. For expressions and decimals the first
 * values decide how the column is written (Misjudged if later ones differ), and all values decide its final type.
 */
import { Buffer } from 'node:buffer'
import { BIGINT, BLOB, BOOLEAN, DATE, DOUBLE, type DuckDBType, TIMESTAMP, VARCHAR } from '@duckdb/node-api'
import { Misjudged, type RemoteColumn } from '../kind.ts'
import { PackedColumn } from '../rows/columns.ts'
import { LooseNumeric, LooseValues } from '../rows/loose-values.ts'
import { PackedText } from '../rows/packed-text.ts'
import { daysFromText, microsFromText } from '../rows/text-values.ts'

/** A value of SQLite that is not null. */
export type Value = bigint | number | string | Uint8Array

export interface Column extends RemoteColumn {
  data: PackedColumn | PackedText
  /** Writes a value into a row. Throws RangeError for a value that the type cannot hold. */
  take(value: Value, row: number): void
}

type Made = Omit<Column, 'name'>

/** Makes the column. `first`: the first values, if known. Without them a column of unknown type is written as text. */
export function columnOf(name: string, declared: string, rows: number, first: readonly Value[]): Column {
  return { name, ...made(declared.toUpperCase(), rows, first) }
}

/** Tells whether the column's type depends on its values. */
export function isLoose(declared: string): boolean {
  return made(declared.toUpperCase(), 0, []).settle !== undefined
}

function made(word: string, rows: number, first: readonly Value[]): Made {
  if (/BOOL/.test(word)) return booleans(rows)
  if (/JSON/.test(word)) return { ...texts(rows), declared: 'json' }
  if (/INT/.test(word)) return integers(rows, integerOf)
  if (/CHAR|CLOB|TEXT/.test(word)) return texts(rows)
  if (/BLOB/.test(word)) return blobs(rows)
  if (/REAL|FLOA|DOUB/.test(word)) return doubles(rows, numberOf)
  if (/^DATE$/.test(word)) return dates(rows)
  if (/DATETIME|TIMESTAMP/.test(word)) return timestamps(rows)
  if (/NUMERIC|DECIMAL/.test(word)) return numerics(rows, first)
  return expressions(rows, first)
}

function booleans(rows: number): Made {
  const data = new PackedColumn(1, rows)
  return { type: BOOLEAN, data, take: (value, row) => (data.bytes[row] = Number(booleanOf(value))) }
}

function integers(rows: number, read: (value: Value) => bigint): Made {
  const data = new PackedColumn(8, rows)
  return { type: BIGINT, data, take: (value, row) => (data.bigs[row] = read(value)) }
}

function doubles(rows: number, read: (value: Value) => number): Made {
  const data = new PackedColumn(8, rows)
  return { type: DOUBLE, data, take: (value, row) => (data.doubles[row] = read(value)) }
}

function texts(rows: number, read: (value: Value) => string = textOf): Made {
  const data = new PackedText(rows)
  return { type: VARCHAR, data, take: (value, row) => data.setText(row, read(value)) }
}

function blobs(rows: number): Made {
  const data = new PackedText(rows)
  const take = (value: Value, row: number): void => {
    const bytes = value instanceof Uint8Array ? value : Buffer.from(String(value))
    data.setBytes(row, bytes, 0, bytes.length)
  }
  return { type: BLOB, data, take }
}

function dates(rows: number): Made {
  const data = new PackedColumn(4, rows)
  const days = (value: Value): number => daysFromText(textOf(value).slice(0, 10))
  return { type: DATE, data, take: (value, row) => (data.words[row] = days(value)) }
}

/** Makes a column of timestamps: "2024-01-31 10:00:00.123", a day alone, or seconds since 1970. */
function timestamps(rows: number): Made {
  const data = new PackedColumn(8, rows)
  const take = (value: Value, row: number): void => {
    const text = typeof value === 'bigint' ? new Date(Number(value) * 1000).toISOString() : textOf(value)
    const day = text.length === 10 && /^\d{4}-\d\d-\d\d$/.test(text)
    data.setWhole(row, microsFromText(day ? `${text} 00:00:00` : text, false))
  }
  return { type: TIMESTAMP, data, take }
}

const PLAIN = /^-?\d+(\.\d+)?$/

/** Makes a column of decimals, which SQLite stores as doubles. Their shortest text is the value that was stored. */
function numerics(rows: number, first: readonly Value[]): Made {
  const loose = new LooseNumeric()
  const settle = (): DuckDBType => loose.settled()
  const guess = new LooseNumeric()
  if (first.length > 0 && first.every((value) => isNumber(value) && guess.noteDouble(Number(value)))) {
    const read = (value: Value): number => {
      const number = isNumber(value) ? Number(value) : Number.NaN
      if (loose.noteDouble(number)) return number
      plainOf(value)
      throw new Misjudged()
    }
    return { ...doubles(rows, read), settle }
  }
  return { ...texts(rows, (value) => loose.note(plainOf(value))), settle }
}

function plainOf(value: Value): string {
  const text = textOf(value)
  if (!PLAIN.test(text)) throw new RangeError(text)
  return text
}

/**
 * Makes a column of expressions. Integers and reals together become DOUBLE; with any text among them all become text.
 */
function expressions(rows: number, first: readonly Value[]): Made {
  const loose = new LooseValues()
  for (const value of first) if (!(value instanceof Uint8Array)) loose.note(value)
  const likely = first.some((value) => value instanceof Uint8Array) ? VARCHAR : loose.settled()
  const misjudged = (value: Value): never => {
    textOf(value)
    throw new Misjudged()
  }
  if (likely === BIGINT) {
    const made = integers(rows, (value) => (typeof value === 'bigint' ? value : misjudged(value)))
    return { ...made, settle: () => BIGINT }
  }
  if (likely === DOUBLE) {
    const made = doubles(rows, (value) => (isNumber(value) ? Number(value) : misjudged(value)))
    return { ...made, settle: () => DOUBLE }
  }
  const all = new LooseValues()
  const made = texts(rows, (value) => {
    if (value instanceof Uint8Array) throw new RangeError('bytes')
    return all.note(value)
  })
  return { ...made, settle: () => all.settled() }
}

function isNumber(value: Value): value is number | bigint {
  return typeof value === 'number' || typeof value === 'bigint'
}

function textOf(value: Value): string {
  if (typeof value === 'string') return value
  if (value instanceof Uint8Array) throw new RangeError('bytes')
  return String(value)
}

function integerOf(value: Value): bigint {
  if (typeof value === 'bigint') return value
  throw new RangeError(String(value))
}

function numberOf(value: Value): number {
  if (isNumber(value)) return Number(value)
  throw new RangeError(String(value))
}

function booleanOf(value: Value): boolean {
  if (value === 0n || value === 1n) return value === 1n
  throw new RangeError(String(value))
}
