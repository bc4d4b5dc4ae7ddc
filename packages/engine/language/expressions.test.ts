import assert from 'node:assert/strict'
import test from 'node:test'
import * as fc from 'fast-check'
import { markdown } from '../rendering/render-fixture.ts'
import { type Expression, Reader } from './expressions.ts'
import { OffsetFault } from './fault.ts'

function read(text: string): Expression {
  const reader = new Reader(text)
  const expression = reader.expression()
  reader.finish()
  return expression
}

function faultAt(text: string, plain?: number): number {
  try {
    const reader = new Reader(text)
    if (plain === undefined) reader.expression()
    else reader.arguments(plain)
    reader.finish()
  } catch (error) {
    assert.ok(error instanceof OffsetFault)
    return error.offset
  }
  throw new Error(`nothing is wrong with ${text}`)
}

test('reads paths, literals, operators and filters with their places', () => {
  const { operands, operators, filters, begin, end } = read(
    ' a.b[0]["c d"] == -1.5 and not x contains "y" | f: 1, k: "v" | g ',
  )
  assert.deepEqual([operators, operands.length, begin, end], [['==', 'and', 'not', 'contains'], 4, 1, 65])
  assert.deepEqual(
    operands[0]?.kind === 'path' && operands[0].steps.map((step) => step.kind === 'literal' && step.value),
    ['b', 0, 'c d'],
  )
  assert.deepEqual(
    filters.map(({ name, args }) => [name, args.map((one) => one.name)]),
    [
      ['f', [null, 'k']],
      ['g', []],
    ],
  )
})

test('arguments of tags: lists, maps, filters whose own arguments end before the next name', () => {
  const text = 'rows | where: "a", 1, limit: 5, y: ["a", b | first: "c"], fmt: { d: "num0", "e f": vars.x }'
  const { plain, named } = new Reader(text).arguments(1)
  assert.equal(text.slice(plain[0]!.begin, plain[0]!.end), 'rows | where: "a", 1')
  assert.deepEqual(
    named.map(({ name, value }) => [name, text.slice(value.begin, value.end)]),
    [
      ['limit', '5'],
      ['y', '["a", b | first: "c"]'],
      ['fmt', '{ d: "num0", "e f": vars.x }'],
    ],
  )
})

test('text left over and broken text is a fault at its place', () => {
  const cases: [string, number, number?][] = [
    ['a b', 2],
    ['a ==', 4],
    ['a | ', 4],
    ['a |', 3],
    ['a.', 2],
    ['a[b c]', 4],
    ['"abc', 0],
    ['1e21', 0],
    ['99999999999999999999', 0],
    ['(1..', 4],
    ['a <> b', 4],
    ['[1]', 0],
    ['a, b', 3, 1],
    ['a, x: 1, x: 2', 9, 1],
    ['a, x: 1, b', 9, 1],
    ['a x: 1', 2, 1],
    ['a,', 2, 1],
    ['a, m: { b 1 }', 10, 1],
    ['a, m: [1 2]', 9, 1],
    ['['.repeat(30), 20, 1],
  ]
  for (const [text, offset, plain] of cases) assert.equal(faultAt(text, plain), offset, text)
})

test('any text is read or refused within its bounds', () => {
  const part = fc.constantFrom(
    'a',
    '.',
    '[',
    ']',
    '"',
    "'",
    '|',
    ':',
    ',',
    '1',
    '-',
    '{',
    '}',
    '(',
    '..',
    ')',
    '==',
    ' and ',
    ' ',
    'ü',
    '\n',
  )
  fc.assert(
    fc.property(
      fc.array(part, { maxLength: 20 }).map((parts) => parts.join('')),
      fc.boolean(),
      (text, tag) => {
        try {
          const reader = new Reader(text)
          if (tag) reader.arguments(1)
          else reader.expression()
          reader.finish()
        } catch (error) {
          assert.ok(error instanceof OffsetFault, String(error))
          assert.ok(error.offset >= 0 && error.offset <= text.length)
        }
      },
    ),
    { numRuns: 1000 },
  )
})

test('the reader gives each text the meaning that liquidjs gave it', () => {
  const vars = { a: { 'b c': [1, 2, 3] }, n: 2, s: 'it\'s "x"' }
  const cases: [string, string][] = [
    ['vars.a["b c"][1]', '2'],
    ["vars.a['b c'] | first", '1'],
    ['vars.a["b c"][vars.n]', '3'],
    ['-1.5', '-1.5'],
    ['"q\\"uote"', 'q"uote'],
    ['vars.s | replace: "\'", "-"', 'it-s "x"'],
    ['vars.n == 2 and vars.a["b c"] contains 3', 'true'],
    ['not vars.n', 'false'],
  ]
  for (const [text, wanted] of cases) assert.equal(markdown(`{{ ${text} | raw }}`, { vars }), wanted, text)
})
