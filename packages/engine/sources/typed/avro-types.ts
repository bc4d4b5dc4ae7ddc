/** Maps the types of an Avro schema to the engine's, by the specification of Avro 1.12. */
import {
  blobText,
  dayText,
  decimalText,
  fieldType,
  momentText,
  numberJson,
  type Typed,
  timeText,
} from './typed-text.ts'

type Schema = string | Schema[] | ({ type: Schema } & Record<string, unknown>)

/** Says that a type cannot be read. The message continues "cannot be read: ". */
export class NoSuchType extends Error {}

const text: Typed = { type: 'VARCHAR', json: String }
const number = (type: string): Typed => ({ type, json: (value) => numberJson(value as number) })

const PRIMITIVES: Record<string, Typed> = {
  null: { type: 'VARCHAR', json: () => null },
  boolean: { type: 'BOOLEAN', json: Boolean },
  int: number('INTEGER'),
  long: { type: 'BIGINT', json: String },
  float: number('FLOAT'),
  double: number('DOUBLE'),
  bytes: { type: 'BLOB', json: (value) => blobText(value as Buffer) },
  string: text,
}

const moment = (type: string, per: bigint): Typed => ({
  type,
  json: (value) => `${momentText(value as bigint, per)}${type.endsWith('ZONE') ? '+00' : ''}`,
})
const timeOfDay = (per: bigint): Typed => ({
  type: 'TIME',
  // The library gives an int of Avro as a number, and a long as a bigint.
  json: (value) => timeText(BigInt(value as number | bigint), per),
})
const ZONED = 'TIMESTAMP WITH TIME ZONE'

/** The engine's types, by the name of the type and of the logical one. */
const LOGICAL: Record<string, Typed> = {
  'int date': { type: 'DATE', json: (value) => dayText(BigInt(value as number)) },
  'int time-millis': timeOfDay(1000n),
  'long time-micros': timeOfDay(1_000_000n),
  'long timestamp-millis': moment(ZONED, 1000n),
  'long timestamp-micros': moment(ZONED, 1_000_000n),
  'long local-timestamp-millis': moment('TIMESTAMP', 1000n),
  'long local-timestamp-micros': moment('TIMESTAMP', 1_000_000n),
  'long local-timestamp-nanos': moment('TIMESTAMP_NS', 1_000_000_000n),
  'long timestamp-nanos': moment('TIMESTAMP_NS', 1_000_000_000n),
  'string uuid': text,
}

const DIGITS_MOST = 38

function decimal(schema: Record<string, unknown>): Typed | null {
  const { precision, scale = 0 } = schema as { precision?: number; scale?: number }
  if (
    !Number.isInteger(precision) ||
    !Number.isInteger(scale) ||
    precision! > DIGITS_MOST ||
    scale > precision!
  )
    return null
  return {
    type: `DECIMAL(${precision}, ${scale})`,
    json(value) {
      const bytes = value as Buffer
      const unsigned = bytes.length === 0 ? 0n : BigInt(`0x${bytes.toString('hex')}`)
      return decimalText(BigInt.asIntN(8 * bytes.length, unsigned), scale)
    },
  }
}

const DURATION: Typed = {
  type: 'INTERVAL',
  json(value) {
    const [months, days, millis] = [0, 4, 8].map((at) => (value as Buffer).readUInt32LE(at))
    return `${months} months ${days} days ${millis} milliseconds`
  },
}

/**
 * Reads the types of one schema. Values are those of avsc, with wrapped unions, longs as bigints, and maps as lists of `key` and
 * `value`.
 */
export class AvroTypes {
  readonly #named = new Map<string, Typed>()
  /** The types that enclose the present one. */
  readonly #open = new Set<string>()

  /** Reads a type. Throws NoSuchType. `shown`: the column, for the message. */
  read(schema: Schema, shown: string, space = ''): Typed {
    if (Array.isArray(schema)) return this.#union(schema, shown, space)
    if (typeof schema === 'string') return PRIMITIVES[schema] ?? this.#byName(schema, shown, space)
    const { type } = schema
    if (typeof type !== 'string') return this.read(type, shown, space)
    const logical = schema.logicalType as string | undefined
    if (logical === 'decimal' && type === 'bytes') return decimal(schema) ?? PRIMITIVES.bytes!
    if (logical !== undefined && LOGICAL[`${type} ${logical}`]) return LOGICAL[`${type} ${logical}`]!
    if (PRIMITIVES[type]) return PRIMITIVES[type]
    if (type === 'array') return this.#array(schema, shown, space)
    if (type === 'map') return this.#map(schema, shown, space)
    if (['enum', 'fixed', 'record', 'error'].includes(type)) return this.#define(type, schema, shown, space)
    return this.#byName(type, shown, space)
  }

  #byName(name: string, shown: string, space: string): Typed {
    const full = name.includes('.') || space === '' ? name : `${space}.${name}`
    const found = this.#named.get(full) ?? this.#named.get(name)
    if (found) return found
    throw new NoSuchType(
      this.#open.has(full) || this.#open.has(name)
        ? `the column ${JSON.stringify(shown)} holds values within values of its own type. Save the file without it.`
        : `its schema names the type ${JSON.stringify(name)}, which it does not define.`,
    )
  }

  #define(type: string, schema: Record<string, unknown>, shown: string, outer: string): Typed {
    const name = String(schema.name)
    const at = name.lastIndexOf('.')
    const space = at >= 0 ? name.slice(0, at) : ((schema.namespace as string | undefined) ?? outer)
    const full = at >= 0 || space === '' ? name : `${space}.${name}`
    this.#open.add(full)
    const made = this.#made(type, schema, shown, space)
    this.#open.delete(full)
    this.#named.set(full, made)
    return made
  }

  #made(type: string, schema: Record<string, unknown>, shown: string, space: string): Typed {
    if (type === 'enum') return text
    if (type === 'fixed') {
      if (schema.logicalType === 'decimal') return decimal(schema) ?? PRIMITIVES.bytes!
      return schema.logicalType === 'duration' && schema.size === 12 ? DURATION : PRIMITIVES.bytes!
    }
    const fields = this.fields(schema, shown, space)
    if (fields.length === 0)
      throw new NoSuchType(`the column ${JSON.stringify(shown)} holds records without fields.`)
    return {
      type: fieldType(fields),
      json: (value) =>
        Object.fromEntries(
          fields.map(({ name, json }) => [name, json((value as Record<string, unknown>)[name])]),
        ),
    }
  }

  /** Reads the fields of a record. */
  fields(schema: Record<string, unknown>, shown: string | null, space: string): (Typed & { name: string })[] {
    return (schema.fields as { name: string; type: Schema; logicalType?: string }[]).map(({ name, type }) => {
      if (name === '__proto__') throw new NoSuchType('one of its fields is named "__proto__". Rename it.')
      return { name, ...this.read(type, shown ?? name, space) }
    })
  }

  #array(schema: Record<string, unknown>, shown: string, space: string): Typed {
    const { type, json } = this.read(schema.items as Schema, shown, space)
    return { type: `${type}[]`, json: (value) => (value as unknown[]).map((one) => json(one)) }
  }

  #map(schema: Record<string, unknown>, shown: string, space: string): Typed {
    const { type, json } = this.read(schema.values as Schema, shown, space)
    return {
      type: `MAP(VARCHAR, ${type})`,
      json: (entries) =>
        Object.fromEntries(
          (entries as { key: string; value: unknown }[]).map(({ key, value }) => [key, json(value)]),
        ),
    }
  }

  #union(branches: readonly Schema[], shown: string, space: string): Typed {
    const kinds = branches
      .filter((branch) => branch !== 'null')
      .map((branch) => this.read(branch, shown, space))
    const [only] = kinds
    if (!only) return PRIMITIVES.null!
    if (kinds.length > 1)
      throw new NoSuchType(
        `the column ${JSON.stringify(shown)} holds values of several types (${kinds.map(({ type }) => type).join(', ')}). Save it with one type, or as Parquet.`,
      )
    return {
      type: only.type,
      json(value) {
        if (value === null) return null
        const [held] = Object.values(value as Record<string, unknown>)
        return only.json(held)
      },
    }
  }
}
