/** Maps PostgreSQL's types to the engine's. Other types become the text that PostgreSQL prints. */
import {
  BIGINT,
  BLOB,
  BOOLEAN,
  DATE,
  DECIMAL,
  DOUBLE,
  type DuckDBType,
  type DuckDBValue,
  FLOAT,
  INTEGER,
  INTERVAL,
  LIST,
  listValue,
  SMALLINT,
  TIME,
  TIMESTAMP,
  TIMESTAMPTZ,
  TIMETZ,
  UINTEGER,
  UUID,
  VARCHAR,
} from '@duckdb/node-api'
import { LooseNumeric } from '../rows/loose-values.ts'
import * as values from '../rows/text-values.ts'
import type { Packing } from './binary.ts'
import * as binary from './binary.ts'

/** A column as the server describes it. `modifier` holds precision and scale. */
export interface Field {
  name: string
  oid: number
  modifier: number
}

/** The way in which a column is read. */
export interface Mapped {
  type: DuckDBType
  /** Reads a value from its text. */
  read: values.FromText
  /** The packing, if the column comes in binary form and is packed. */
  packing?: Packing
  /** True if the value is the text as received. */
  plain?: boolean
  settle?: () => DuckDBType
}

const text: values.FromText = (value) => value
const map = (type: DuckDBType, read: values.FromText, packing?: Packing): Mapped => ({
  type,
  read,
  ...(packing ? { packing } : {}),
})

const TEXT: Mapped = { type: VARCHAR, read: text, plain: true }

const NUMERIC = 1700

const BY_OID: Record<number, Mapped> = {
  16: map(BOOLEAN, (value) => value === 't', binary.BOOLEAN_BYTE),
  17: map(BLOB, values.bytesFromHex),
  20: map(BIGINT, values.bigintFromText, binary.INT64),
  21: map(SMALLINT, values.numberFromText, binary.INT16),
  23: map(INTEGER, values.numberFromText, binary.INT32),
  26: map(UINTEGER, values.numberFromText, binary.INT32),
  700: map(FLOAT, values.numberFromText, binary.FLOAT32),
  701: map(DOUBLE, values.numberFromText, binary.FLOAT64),
  1082: map(DATE, values.dateFromText, binary.DAYS),
  1083: map(TIME, values.timeFromText, binary.INT64),
  1114: map(TIMESTAMP, values.timestampFromText, binary.MOMENT),
  1184: map(TIMESTAMPTZ, values.timestampTzFromText, binary.MOMENT),
  1186: map(INTERVAL, values.intervalFromText),
  1266: map(TIMETZ, values.timeTzFromText),
  2950: map(UUID, values.uuidFromText, binary.UUID_BYTES),
}

const JSON_OIDS = new Set([114, 3802])

/** The built-in array types and the types of their items. The server is asked for user-defined ones. */
const ITEMS: Record<number, number> = {
  1000: 16,
  1001: 17,
  1002: 18,
  1003: 19,
  1005: 21,
  1007: 23,
  1009: 25,
  1014: 1042,
  1015: 1043,
  1016: 20,
  1021: 700,
  1022: 701,
  1028: 26,
  1041: 869,
  1115: 1114,
  1182: 1082,
  1183: 1083,
  1185: 1184,
  1187: 1186,
  1231: NUMERIC,
  1270: 1266,
  2951: 2950,
  199: 114,
  3807: 3802,
}

/** Object ids from here on are user-defined types: enums, domains, extensions' types and their arrays. */
export const FIRST_OWN_OID = 16_384

/** Returns how a column is read. `items`: the item types of user-defined arrays. */
export function mapField(field: Field, items: ReadonlyMap<number, number>): Mapped {
  const item = ITEMS[field.oid] ?? items.get(field.oid)
  if (item !== undefined) return mapArray(item, field.modifier)
  if (field.oid === NUMERIC) return mapNumeric(field.modifier)
  return BY_OID[field.oid] ?? TEXT
}

/** Tells whether the engine declares the column as JSON. */
export function isJson(oid: number): boolean {
  return JSON_OIDS.has(oid)
}

/** Reads the modifier of a numeric: 4 + (precision << 16 | scale in 11 bits, signed). */
function precisionOf(modifier: number): { width: number; scale: number } | null {
  if (modifier < 4) return null
  const width = ((modifier - 4) >> 16) & 0xffff
  const scale = (((modifier - 4) & 0x7ff) ^ 1024) - 1024
  return width <= 38 && scale >= 0 && scale <= width ? { width, scale } : null
}

function mapNumeric(modifier: number): Mapped {
  const precision = precisionOf(modifier)
  if (precision) {
    const { width, scale } = precision
    return map(DECIMAL(width, scale), values.decimalReader(width, scale), binary.decimalPacking(width, scale))
  }
  const loose = new LooseNumeric()
  return { type: VARCHAR, read: (value) => loose.note(value), settle: () => loose.settled() }
}

/** Maps arrays of one dimension. Their numerics without precision become doubles. */
function mapArray(item: number, modifier: number): Mapped {
  const precision = item === NUMERIC ? precisionOf(modifier) : null
  const mapped = precision
    ? mapNumeric(modifier)
    : item === NUMERIC
      ? map(DOUBLE, values.numberFromText)
      : (BY_OID[item] ?? map(VARCHAR, text))
  return map(LIST(mapped.type), (value) => listValue(readArray(value, mapped.read)))
}

/** Reads "{1,NULL,\"a b\"}", with "[2:3]=" in front if the first index is not 1. */
function readArray(written: string, read: values.FromText): DuckDBValue[] {
  const items: DuckDBValue[] = []
  let at = written.indexOf('{') + 1
  while (at < written.length && written[at] !== '}') {
    if (written[at] === '{') throw new RangeError(written)
    if (written[at] === '"') {
      let item = ''
      for (at += 1; written[at] !== '"'; at += 1) {
        if (written[at] === '\\') at += 1
        item += written[at]!
      }
      items.push(read(item))
      at += 1
    } else {
      let end = at
      while (written[end] !== ',' && written[end] !== '}') end += 1
      const item = written.slice(at, end)
      items.push(item === 'NULL' ? null : read(item))
      at = end
    }
    if (written[at] === ',') at += 1
  }
  return items
}
