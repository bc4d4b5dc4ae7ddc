import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CONNECTION_NAME } from '@assay/model/connection'
import { Type } from '@assay/model/schema'
import { TEMPLATE_ID } from '@assay/model/template'
import * as fc from 'fast-check'
import { Id, Time } from './fields.ts'
import { invalid, queryValidator, textFaults, validator } from './validate.ts'

const ID = '0198c0de-0000-7000-8000-00000000000a'
const Body = Type.Object({
  payload: Type.Object({
    type: Type.Literal('template'),
    template_vars: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
    priority: Type.Optional(Type.Integer({ minimum: -100, maximum: 100 })),
    at: Type.Optional(Type.Union([Time, Type.Null()])),
    id: Type.Optional(Id),
  }),
})
const check = validator(Body)

test('tells every fault at once, each with its path', () => {
  const { faults } = check({ payload: { type: 'x', priority: 101, id: 'nope', at: 'soon' }, more: 1 }, '')
  assert.deepEqual(faults.map((fault) => fault.path).toSorted(), [
    'more',
    'payload.at',
    'payload.id',
    'payload.priority',
    'payload.type',
  ])
  assert.equal(faults.find((fault) => fault.path === 'payload.type')?.message, 'must be "template"')
})

test('names an unknown key and the known one that is nearest', () => {
  const { faults } = check({ payload: { type: 'template', template_var: {} } }, '')
  assert.deepEqual(faults, [
    { path: 'payload.template_var', message: 'is not a known key; did you mean "template_vars"?' },
  ])
})

test('names what is missing', () => {
  assert.deepEqual(check({}, '').faults, [{ path: 'payload', message: 'is required' }])
  assert.deepEqual(check(null, '').faults, [{ path: 'body', message: 'must be an object' }])
})

test('takes null for an optional member that does not accept null as leaving it out, in lists too', () => {
  const payload = { type: 'template', template_vars: null, priority: null, at: null, id: null }
  assert.deepEqual(check({ payload }, ''), { value: { payload: { type: 'template', at: null } }, faults: [] })
  const list = validator(Type.Array(Type.Object({ a: Type.Optional(Type.String()), b: Type.String() })))
  assert.deepEqual(list([{ a: null, b: 'x' }], ''), { value: [{ b: 'x' }], faults: [] })
  assert.deepEqual(list([{ b: null }], '').faults, [{ path: '0.b', message: 'must be a string' }])
  const free = validator(Type.Object({ any: Type.Optional(Type.Unknown()) }))
  assert.deepEqual(free({ any: null }, '').value, { any: null })
})

test("takes JSON's quotes off an id wherever it stands", () => {
  const { value, faults } = check({ payload: { type: 'template', id: `"${ID.toUpperCase()}"` } }, '')
  assert.deepEqual(faults, [])
  assert.equal((value as { payload: { id: string } }).payload.id, ID)
})

test('brings times to UTC with milliseconds and refuses those that no database keeps', () => {
  const at = (text: unknown) => check({ payload: { type: 'template', at: text } }, '')
  const value = at('2026-01-31t12:00:00.5+02:00').value as { payload: { at: string } }
  assert.equal(value.payload.at, '2026-01-31T10:00:00.500Z')
  assert.deepEqual(at(null).faults, [])
  const refused = [
    '2026-01-31',
    '2026-02-30T25:00:00Z',
    '2026-02-30T12:00:00Z',
    '2026-04-31T12:00:00Z',
    '1969-12-31T23:59:59Z',
    '9999-12-31T23:59:59-12:00',
  ]
  for (const text of [...refused, '2026-06-30T23:59:60Z', '', 17])
    assert.equal(at(text).faults.length, 1, String(text))
})

test('does not turn a body’s text into numbers', () => {
  assert.equal(
    check({ payload: { type: 'template', priority: '5' } }, '').faults[0]?.message,
    'must be a whole number',
  )
})

test('reads query parameters as their types, and refuses repeated ones', () => {
  const query = queryValidator(
    Type.Object({ wait: Type.Optional(Type.Integer()), all: Type.Optional(Type.Boolean()) }),
  )
  assert.deepEqual(query({ wait: '5', all: 'true' }, '').value, { wait: 5, all: true })
  for (const wait of ['', ' 5', '5.0', '0x5', '1e3', '99999999999999999'])
    assert.equal(query({ wait }, '').faults.length, 1, wait)
  assert.deepEqual(query({ wait: ['1', '2'] }, '').faults, [
    { path: 'wait', message: 'was given more than once' },
  ])
})

test('finds text that no database keeps and keys that reach a prototype, at any depth', () => {
  const body: unknown = JSON.parse('{"a": ["ok", "b\\u0000c"], "d": {"__proto__": 1}, "e": "\\ud800"}')
  const paths = textFaults(body, '').map((fault) => fault.path)
  assert.deepEqual(paths.toSorted(), ['a.1', 'd', 'e'])
  let deep: unknown = 1
  for (let level = 0; level < 100_000; level += 1) deep = [deep]
  assert.match(textFaults(deep, '')[0]!.message, /nested deeper/)
})

test('never throws, whatever JSON it is given', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (body) => {
      const { faults } = check(body, '')
      for (const fault of faults) assert.ok(fault.path.length > 0 && fault.message.length > 0)
    }),
  )
})

test('shows at most a hundred faults of one request', () => {
  const many = Array.from({ length: 500 }, (_, index) => ({
    path: `k${index}`,
    message: 'is not a known key',
  }))
  const error = invalid(many)
  assert.equal(error.errors?.length, 100)
  assert.match(error.message, /and 499 more/)
})

test('says what a bound is in words', () => {
  const check = validator(
    Type.Object({
      text: Type.String({ minLength: 1, maxLength: 3 }),
      list: Type.Array(Type.Integer({ minimum: 1, maximum: 9 }), { minItems: 1, uniqueItems: true }),
    }),
  )
  const messages = (value: unknown) =>
    check(value, '').faults.map(({ path, message }) => `${path} ${message}`)
  assert.deepEqual(messages({ text: '', list: [] }), ['text must not be empty', 'list must not be empty'])
  assert.deepEqual(messages({ text: 'long', list: [0, 10, 10] }), [
    'text must have at most 3 characters',
    'list.0 must be at least 1',
    'list.1 must be at most 9',
    'list.2 must be at most 9',
    'list must not hold the same item twice',
  ])
})

test('says what a name may be in words', () => {
  const message = (pattern: string) =>
    validator(Type.Object({ name: Type.String({ pattern }) }))({ name: 'A b' }, '').faults[0]?.message
  assert.equal(
    message(TEMPLATE_ID),
    'must be at most 128 of a-z, 0-9, "-" and "_", beginning with a letter or a digit',
  )
  assert.equal(
    message(CONNECTION_NAME),
    'must be at most 63 of a-z, 0-9, "-" and "_", beginning with a letter or "_"',
  )
  assert.equal(message('^x+$'), 'must match the pattern ^x+$')
})

test('puts no full stop after a question', () => {
  const detail = (...messages: string[]) =>
    invalid(messages.map((message) => ({ path: 'a', message }))).message
  assert.equal(detail('did you mean "b"?'), 'a: did you mean "b"? Correct what errors lists.')
  assert.equal(detail('is required', 'x'), 'a: is required. (and 1 more) Correct what errors lists.')
})
