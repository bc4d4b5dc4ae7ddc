/**
 * Builders of JSON Schemas whose TypeScript types are typebox's. The functions are made here, because typebox's own are 373
 * modules, which every process would load (docs/decisions/0085-builders-of-schemas.md).
 */
import type {
  TEnum,
  TEnumValue,
  TObject,
  TObjectOptions,
  TPartial,
  TRecord,
  TSchema,
  TSchemaOptions,
  TString,
  TStringKey,
  Type as Typebox,
} from 'typebox'

type Same =
  | 'Array'
  | 'Boolean'
  | 'Integer'
  | 'IsOptional'
  | 'Literal'
  | 'Null'
  | 'Number'
  | 'Object'
  | 'Optional'
  | 'String'
  | 'Union'
  | 'Unknown'
  | 'Unsafe'

/** The signatures of typebox. Three of them accept less than typebox does. */
interface Builders extends Pick<typeof Typebox, Same> {
  /** Enum declarations of TypeScript are not accepted. */
  Enum<Values extends TEnumValue[]>(values: readonly [...Values], options?: TSchemaOptions): TEnum<Values>
  /** Only an object is accepted, and its own options are left out. */
  Partial<Schema extends TObject>(schema: Schema): TPartial<Schema>
  /** Any text is accepted as a key. */
  Record<Value extends TSchema>(
    key: TString,
    value: Value,
    options?: TObjectOptions,
  ): TRecord<TStringKey, Value>
}

type Keywords = Record<string, unknown>

/** Adds a property by which typebox tells schemas apart. JSON.stringify leaves it out. */
function mark(schema: object, name: '~kind' | '~optional' | '~unsafe', value: unknown): object {
  return Object.defineProperty(schema, name, { value, configurable: true, writable: true, enumerable: false })
}

const make = (kind: string, keywords: Keywords, options?: Keywords): object =>
  mark({ ...keywords, ...options }, '~kind', kind)

const copyOf = (schema: object): object =>
  Object.defineProperties({}, Object.getOwnPropertyDescriptors(schema))

const isOptional = (schema: object): boolean => '~optional' in schema

const optional = (schema: object): object => mark(copyOf(schema), '~optional', true)

function objectOf(properties: Record<string, object>, options?: Keywords): object {
  const required = Object.keys(properties).filter((name) => !isOptional(properties[name]!))
  const needed = required.length > 0 ? { required } : {}
  return make('Object', { type: 'object', ...needed, properties }, options)
}

function partial({ properties }: { properties: Record<string, object> }): object {
  return objectOf(
    Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, optional(schema)])),
  )
}

const builders = {
  Array: (items: object, options?: Keywords) => make('Array', { type: 'array', items }, options),
  Boolean: (options?: Keywords) => make('Boolean', { type: 'boolean' }, options),
  Enum: (values: readonly unknown[], options?: Keywords) => make('Enum', { enum: values }, options),
  Integer: (options?: Keywords) => make('Integer', { type: 'integer' }, options),
  IsOptional: isOptional,
  Literal: (value: unknown, options?: Keywords) =>
    make('Literal', { type: typeof value, const: value }, options),
  Null: (options?: Keywords) => make('Null', { type: 'null' }, options),
  Number: (options?: Keywords) => make('Number', { type: 'number' }, options),
  Object: objectOf,
  Optional: optional,
  Partial: partial,
  Record: (_key: object, value: object, options?: Keywords) =>
    make('Record', { type: 'object', patternProperties: { '^.*$': value } }, options),
  String: (options?: Keywords) => make('String', { type: 'string' }, options),
  Union: (anyOf: readonly object[], options?: Keywords) => make('Union', { anyOf }, options),
  Unknown: (options?: Keywords) => make('Unknown', {}, options),
  Unsafe: (schema: object) => mark(copyOf(schema), '~unsafe', null),
}

/** The builders. Each makes the same schema as typebox's function of that name (schema.test.ts). */
export const Type = builders as unknown as Builders

/** Returns the schema of the given values or null. */
export const nullable = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()])
