/**
 * Maps the types of Arrow to the engine's, and reads the values of a column. Counts of time and decimals are read as
 * whole numbers, exactly.
 */
import { type Data, type DataType, makeVector, Type, type Vector } from 'apache-arrow'
import { blobText, dayText, decimalText, fieldType, momentText, numberJson, timeText } from './typed-text.ts'

/** Says that a type cannot be read. The message continues "cannot be read: ". */
export class NoArrowType extends Error {}

const DIGITS_MOST = 38
const BYTES = new Set([Type.Binary, Type.LargeBinary, Type.BinaryView, Type.FixedSizeBinary])
const TEXTS = new Set([Type.Utf8, Type.LargeUtf8, Type.Utf8View])
const LISTS = new Set([Type.List, Type.LargeList, Type.FixedSizeList])
/** The steps in a second, by the unit: seconds, milliseconds, microseconds, nanoseconds. */
const PER = [1n, 1000n, 1_000_000n, 1_000_000_000n] as const

const PLAIN: Partial<Record<Type, string>> = {
  [Type.Null]: 'VARCHAR',
  [Type.Bool]: 'BOOLEAN',
  [Type.Date]: 'DATE',
  [Type.Time]: 'TIME',
  [Type.Duration]: 'INTERVAL',
}

/** Returns the engine's type. Throws NoArrowType. `shown`: the column, for the message. */
export function typeOf(type: DataType, shown: string): string {
  const { typeId } = type
  const plain = PLAIN[typeId]
  if (plain !== undefined) return plain
  if (TEXTS.has(typeId)) return 'VARCHAR'
  if (BYTES.has(typeId)) return 'BLOB'
  if (typeId === Type.Int) return integerType(type)
  if (typeId === Type.Float) return type.precision === 2 ? 'DOUBLE' : 'FLOAT'
  if (typeId === Type.Decimal && type.precision! <= DIGITS_MOST && type.scale! >= 0)
    return `DECIMAL(${type.precision}, ${type.scale})`
  if (typeId === Type.Timestamp) return timestampType(type)
  if (typeId === Type.Dictionary) return typeOf(type.dictionary!, shown)
  const children = type.children ?? []
  if (LISTS.has(typeId)) return `${typeOf(children[0]!.type, shown)}[]`
  if (typeId === Type.Struct && children.length > 0)
    return fieldType(children.map((child) => ({ name: child.name, type: typeOf(child.type, shown) })))
  if (typeId === Type.Map) return mapType(children[0]!.type, shown)
  throw new NoArrowType(
    `the column ${JSON.stringify(shown)} is of the type ${String(type)}, which has no like here. Save it as Parquet, or leave the column out.`,
  )
}

function integerType({ bitWidth, isSigned }: DataType): string {
  const name = { 8: 'TINYINT', 16: 'SMALLINT', 32: 'INTEGER', 64: 'BIGINT' }[bitWidth!]!
  return isSigned ? name : `U${name}`
}

function timestampType({ timezone, unit }: DataType): string {
  if (timezone) return 'TIMESTAMP WITH TIME ZONE'
  return unit === 3 ? 'TIMESTAMP_NS' : 'TIMESTAMP'
}

function mapType(entries: DataType, shown: string): string {
  const [key, value] = entries.children!
  if (TEXTS.has(key!.type.typeId)) return `MAP(VARCHAR, ${typeOf(value!.type, shown)})`
  throw new NoArrowType(
    `the column ${JSON.stringify(shown)} is a map whose keys are not texts. Save it as Parquet.`,
  )
}

/** The values of one part of a column. */
export class ArrowColumn {
  readonly #data: Data
  readonly #vector: Vector
  readonly #json: (row: number) => unknown

  constructor(data: Data) {
    this.#data = data
    this.#vector = makeVector(data)
    this.#json = this.#reader()
  }

  json(row: number): unknown {
    return this.#data.type.typeId === Type.Null || !this.#data.getValid(row) ? null : this.#json(row)
  }

  #reader(): (row: number) => unknown {
    const { type, values } = this.#data
    const { typeId } = type
    const whole = (row: number): bigint => BigInt(values[row] as unknown as number | bigint)
    const per = PER[type.unit ?? 0] ?? 1n
    if (typeId === Type.Int) return type.bitWidth === 64 ? (row) => String(values[row]) : (row) => values[row]
    if (typeId === Type.Float) return (row) => numberJson(this.#vector.get(row) as number)
    if (typeId === Type.Date)
      return (row) => dayText(type.unit === 0 ? whole(row) : BigInt.asIntN(64, whole(row) / 86_400_000n))
    if (typeId === Type.Time) return (row) => timeText(whole(row), per)
    if (typeId === Type.Duration) return (row) => `${(whole(row) * 1_000_000n) / per} microseconds`
    if (typeId === Type.Timestamp)
      return (row) => `${momentText(...coarse(whole(row), per, type))}${type.timezone ? '+00' : ''}`
    if (typeId === Type.Decimal) return (row) => decimalText(this.#unscaled(row), type.scale!)
    if (BYTES.has(typeId)) return (row) => blobText(this.#vector.get(row) as Uint8Array)
    if (typeId === Type.Dictionary) return this.#dictionary()
    if (LISTS.has(typeId)) return this.#list()
    if (typeId === Type.Struct) return this.#struct()
    if (typeId === Type.Map) return this.#map()
    return (row) => this.#vector.get(row)
  }

  /** Reads a decimal from words of 32 bits, the lowest first. */
  #unscaled(row: number): bigint {
    const { values, type } = this.#data
    const words = (type.bitWidth ?? 128) / 32
    let value = 0n
    for (let word = words - 1; word >= 0; word -= 1)
      value = (value << 32n) | BigInt((values[row * words + word] as unknown as number) >>> 0)
    return BigInt.asIntN(32 * words, value)
  }

  /** Returns a reader of the dictionary, which makes each value once. */
  #dictionary(): (row: number) => unknown {
    const parts = (this.#data.dictionary?.data ?? []).map((data) => ({ data, column: new ArrowColumn(data) }))
    const all = parts.flatMap(({ data, column }) =>
      Array.from({ length: data.length }, (_, row) => column.json(row)),
    )
    return (row) => all[Number(this.#data.values[row])]
  }

  #span(row: number): [number, number] {
    const { type, valueOffsets } = this.#data
    if (type.typeId === Type.FixedSizeList) return [row * type.listSize!, (row + 1) * type.listSize!]
    return [Number(valueOffsets[row]), Number(valueOffsets[row + 1])]
  }

  #list(): (row: number) => unknown {
    const inner = new ArrowColumn(this.#data.children[0]!)
    return (row) => {
      const [from, to] = this.#span(row)
      return Array.from({ length: to - from }, (_, at) => inner.json(from + at))
    }
  }

  #struct(): (row: number) => unknown {
    const fields = this.#data.children.map((child, index) => ({
      name: this.#data.type.children![index]!.name,
      column: new ArrowColumn(child),
    }))
    return (row) => Object.fromEntries(fields.map(({ name, column }) => [name, column.json(row)]))
  }

  #map(): (row: number) => unknown {
    const [keys, values] = this.#data.children[0]!.children.map((child) => new ArrowColumn(child))
    return (row) => {
      const [from, to] = this.#span(row)
      return Object.fromEntries(
        Array.from({ length: to - from }, (_, at) => [
          String(keys!.json(from + at)),
          values!.json(from + at),
        ]),
      )
    }
  }
}

/** Returns microseconds. The engine keeps only these of a time with a zone, so finer digits are cut off. */
function coarse(count: bigint, per: bigint, { timezone }: DataType): [bigint, bigint] {
  if (!timezone || per <= 1_000_000n) return [count, per]
  const rest = ((count % 1000n) + 1000n) % 1000n
  return [(count - rest) / 1000n, 1_000_000n]
}
