/**
 * Describes the outcome of a method as a schema, which stands beside the method. `assay check` uses it to find wrong
 * names, the guide and the editors' schema list it, and a test holds each method's outcomes to it. Any value may be
 * null, which means too little data.
 */
import { GRADES } from '@assay/model/insight'
import { Type } from '@assay/model/schema'
import type { TSchema } from 'typebox'
import { CODE_NAMES } from '../../verdicts/codes.ts'

/** The fields of an outcome, of an object or of one row, by name. */
export type Fields = Record<string, TSchema>

const orNull = (schema: TSchema): TSchema => Type.Union([schema, Type.Null()])

export const number = orNull(Type.Number())
export const integer = orNull(Type.Integer())
export const text = orNull(Type.String())
/** A date or a timestamp in ISO form, or a number such as a year. */
export const moment = Type.Union([Type.String(), Type.Number(), Type.Null()])
/** A value of the data: text, a number, true or false. */
export const cell = Type.Union([Type.String(), Type.Number(), Type.Boolean(), Type.Null()])
/** The p-value corrected for the tests of the whole insight. It is there only beside another test. */
export const pAdjusted = Type.Optional(number)

export const list = (items: TSchema): TSchema => Type.Array(items)
export const object = (fields: Fields): TSchema => Type.Object(fields, { additionalProperties: false })
export const rowsWith = (columns: Fields): TSchema => list(object(columns))

/** Returns the schema of an object for each name that `option`, a list of columns, holds. */
export const perName = (option: string, fields: Fields): TSchema =>
  Type.Record(Type.String(), object(fields), { keysFrom: option })

/** Returns the schema with a mark of ours. Optional fields stay optional. */
function marked(schema: TSchema, mark: Record<string, string>): TSchema {
  const found: TSchema = Type.Unsafe({ ...schema, ...mark })
  return Type.IsOptional(schema) ? Type.Optional(found) : found
}

/** Returns fields that exist only if the option is given. */
export function whereGiven(option: string, fields: Fields): Fields {
  return Object.fromEntries(
    Object.entries(fields).map(([name, schema]) => [name, marked(schema, { whereGiven: option })]),
  )
}

/** Returns fields that exist only if the option is not given. */
function unlessGiven(option: string, fields: Fields): Fields {
  return Object.fromEntries(
    Object.entries(fields).map(([name, schema]) => [name, marked(schema, { unlessGiven: option })]),
  )
}

const doubts = list(object({ code: Type.Enum(CODE_NAMES), says: Type.String() }))

/** The fields of every outcome. */
export const COMMON: Fields = {
  summary: Type.String(),
  headline: Type.String(),
  grade: Type.Enum([...GRADES]),
  blockers: doubts,
  caveats: doubts,
  evidence: Type.String(),
  n: Type.Integer(),
  method: Type.String(),
  notes: list(Type.String()),
}

/**
 * Returns the fields of a method that gives one outcome for each value of the column that `option` names. They have
 * `groups` in place of the method's own fields. Optional fields stay optional. `scan` holds the fields if `option` is a
 * list.
 */
export function groupedOutcome(fields: Fields, option: string, scan: Fields = {}): Fields {
  const ofMetric = {
    label: Type.Optional(Type.String()),
    fmt: Type.Optional(Type.String()),
    tests: Type.Optional(Type.Integer()),
    events: Type.Optional(rowsWith({ date: Type.String(), label: Type.String() })),
  }
  const groups = rowsWith({ by: Type.String(), ...ofMetric, ...COMMON, ...fields, p_adjusted: pAdjusted })
  const { groups: own, ...rest } = unlessGiven(option, fields)
  const several = Object.keys(scan).length > 0
  const either = own
    ? { groups: Type.Unsafe({ ...fields.groups, groupedBy: option, grouped: groups }) }
    : whereGiven(option, { groups: several ? Type.Optional(groups) : groups })
  const scanned = Object.entries(scan).map(([name, schema]) => [
    name,
    name in fields ? Type.Optional(schema) : whereGiven(option, { [name]: Type.Optional(schema) })[name],
  ])
  return { ...rest, ...either, ...(Object.fromEntries(scanned) as Fields) }
}

/** The diagnosis of a series (series/diagnosis.ts), for the methods over time. */
export const diagnosis: TSchema = object({
  step: text,
  time_zone: Type.String(),
  first: moment,
  last: moment,
  partial_last: Type.Boolean(),
  gaps: object({ n: Type.Integer(), treated: Type.Enum(['missing', 'zero']) }),
  seasons: rowsWith({ period: number, strength: number }),
  autocorrelation: number,
  autocorrelated: Type.Boolean(),
  log_scale: Type.Boolean(),
  heavy_tails: Type.Boolean(),
  counts: Type.Boolean(),
  sparse: Type.Boolean(),
  level_shifts: rowsWith({ index: integer, time: moment }),
})

/** The parts of a schema that the checks and the guide read. */
export interface FieldSchema {
  type?: string
  items?: FieldSchema
  properties?: Record<string, FieldSchema>
  patternProperties?: Record<string, FieldSchema>
  anyOf?: FieldSchema[]
  whereGiven?: string
  unlessGiven?: string
  /** The option that, if given, makes the schema `grouped`. */
  groupedBy?: string
  grouped?: FieldSchema
  keysFrom?: string
}

/** Returns the schema of the outcomes that a method gives with these options. */
export function outcomeSchema(fields: Fields, options: Record<string, unknown>): TSchema {
  return resolved(object({ ...COMMON, ...fields }), options)
}

function resolved(given: TSchema, options: Record<string, unknown>): TSchema {
  const { groupedBy, grouped } = given as FieldSchema
  const schema = groupedBy !== undefined && options[groupedBy] !== undefined ? (grouped as TSchema) : given
  const { type, items, properties, patternProperties, keysFrom } = schema as FieldSchema
  if (type === 'array') {
    const found = list(resolved(items as TSchema, options))
    return Type.IsOptional(schema) ? Type.Optional(found) : found
  }
  const [each] = Object.values(patternProperties ?? {})
  if (each && keysFrom !== undefined) {
    const names = options[keysFrom]
    const item = resolved(each, options)
    return Array.isArray(names)
      ? object(Object.fromEntries(names.map((name) => [String(name), item])))
      : schema
  }
  if (!properties) return schema
  const kept = Object.entries(properties).filter(
    ([, { whereGiven: option, unlessGiven: other }]) =>
      (option === undefined || options[option] !== undefined) &&
      (other === undefined || options[other] === undefined),
  )
  const found = object(
    Object.fromEntries(kept.map(([name, field]) => [name, resolved(field as TSchema, options)])),
  )
  return Type.IsOptional(schema) ? Type.Optional(found) : found
}

/** The causes of a change, of drivers and of a scan. */
export const CAUSES = rowsWith({
  where: Type.Record(Type.String(), cell),
  kind: Type.Optional(text),
  weight_before: Type.Optional(number),
  weight_after: Type.Optional(number),
  before: number,
  after: number,
  change: number,
  expected: number,
  share: number,
  low: number,
  high: number,
  q: number,
})
