/** Compares the builders of schemas with typebox's own. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Type as Typebox } from 'typebox'
import { nullable, Type } from './schema.ts'

type Builders = typeof Type

const made: Record<keyof Builders, (type: Builders) => unknown> = {
  Array: (type) => type.Array(type.Integer({ minimum: 1 }), { minItems: 1, maxItems: 3 }),
  Boolean: (type) => type.Boolean({ default: false }),
  Enum: (type) => type.Enum(['a', 'b', 3], { description: 'One of three' }),
  Integer: (type) => type.Integer({ minimum: 0, maximum: 9 }),
  IsOptional: (type) => [type.IsOptional(type.Optional(type.Null())), type.IsOptional(type.Null())],
  Literal: (type) => [type.Literal('auto'), type.Literal(3), type.Literal(true, { title: 'Yes' })],
  Null: (type) => type.Null(),
  Number: (type) => type.Number({ exclusiveMinimum: 0 }),
  Object: (type) => [
    type.Object({}),
    type.Object({ a: type.Optional(type.String()) }),
    type.Object(
      { a: type.String(), b: type.Optional(type.Object({ c: type.Null() })) },
      { title: 'Ab', additionalProperties: false },
    ),
  ],
  Optional: (type) => type.Optional(type.Optional(type.String({ format: 'uuid' }))),
  Partial: (type) =>
    type.Partial(type.Object({ a: type.String(), b: type.Optional(type.Number()) }, { title: 'Ab' })),
  Record: (type) => type.Record(type.String(), type.Unknown(), { maxProperties: 5 }),
  String: (type) => [type.String(), type.String({ minLength: 1, pattern: '^a' })],
  Union: (type) => type.Union([type.String(), type.Null()], { description: 'A text or null' }),
  Unknown: (type) => type.Unknown({ description: 'Anything' }),
  Unsafe: (type) => type.Unsafe({ ...type.String(), keysFrom: 'by' }),
}

/** Returns a value with the properties that JSON.stringify leaves out, in their order. */
function whole(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(whole)
  const all = Object.entries(Object.getOwnPropertyDescriptors(value))
  const shown = all.filter(([, { enumerable }]) => enumerable)
  const hidden = all.filter(([, { enumerable }]) => !enumerable)
  return {
    shown: shown.map(([name, { value: own }]) => [name, whole(own)]),
    hidden: Object.fromEntries(hidden.map(([name, { value: own }]) => [name, whole(own)])),
  }
}

test('each builder makes what the builder of that name makes in typebox', () => {
  assert.deepEqual(Object.keys(made).toSorted(), Object.keys(Type).toSorted())
  for (const [name, make] of Object.entries(made))
    assert.deepEqual(whole(make(Type)), whole(make(Typebox as unknown as Builders)), name)
})

test('a schema that may be null holds both forms', () => {
  assert.equal(JSON.stringify(nullable(Type.String())), '{"anyOf":[{"type":"string"},{"type":"null"}]}')
})
