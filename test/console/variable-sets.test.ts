import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { VariableView } from '@assay/model/template'
import * as fc from 'fast-check'
import { readSets, SETS_MOST } from '../../packages/console/src/drafts/variable-sets.ts'

const variable = (name: string, type: VariableView['type']) => ({ name, type }) as VariableView
const VARIABLES = [variable('origin', 'string'), variable('arms', 'list')]
const read = (text: string) => readSets(text, VARIABLES)
const faultOf = (text: string): string => {
  const found = read(text)
  return 'fault' in found ? found.fault : ''
}

test('reads CSV, what a spreadsheet puts on the clipboard, and a list in a cell', () => {
  const two = { columns: ['origin', 'arms'], sets: [{ origin: 'ORD', arms: ['a', 'b'] }, { origin: 'SFO' }] }
  assert.deepEqual(read('origin,arms\nORD,"a, b"\nSFO,\n'), two)
  assert.deepEqual(read('\uFEFForigin; arms\r\nORD;a,b\r\n;\r\nSFO\r\n'), two)
  assert.deepEqual(read('origin\tarms\nORD\ta,b\nSFO\t'), two)
  assert.deepEqual(read('"a;b",origin\n1,2'), {
    columns: ['a;b', 'origin'],
    sets: [{ 'a;b': '1', origin: '2' }],
  })
  assert.deepEqual(read(' \n'), { columns: [], sets: [] })
  assert.deepEqual(read('origin'), { columns: ['origin'], sets: [] })
})

test('reads JSON as it is: a list, one object, an object on each line', () => {
  const list = { columns: ['origin', 'top'], sets: [{ origin: 'ORD' }, { origin: null, top: 3 }] }
  assert.deepEqual(read('[{"origin": "ORD"}, {"origin": null, "top": 3}]'), list)
  assert.deepEqual(read('{"origin": "ORD"}\n{"origin": null, "top": 3}\n'), list)
  assert.deepEqual(read('{"arms": ["x"]}'), { columns: ['arms'], sets: [{ arms: ['x'] }] })
})

test('says what is wrong with a text, and where', () => {
  assert.match(faultOf('origin,origin\n1,2'), /names “origin” twice/)
  assert.match(faultOf('origin,\n1,2'), /^A name in the first row is empty/)
  assert.match(faultOf('origin\n"a\nb"\nx,y'), /^Line 4 has 2 cells/)
  assert.match(faultOf('origin\nORD\n"SFO\nJFK'), /^Line 3: a quote/)
  assert.match(faultOf('[1]'), /^Item 1 of the list/)
  assert.match(faultOf('{"a": 1}\n{"a": }'), /^This is not JSON: line 2:/)
  assert.match(faultOf('[{"a": 1},'), /^This is not JSON/)
  assert.match(
    faultOf(`origin\n${'ORD\n'.repeat(SETS_MOST + 1)}`),
    /1,001 sets; one call takes at most 1,000/,
  )
})

test('gives back every cell that was written by the rules of CSV, whatever stands in it', () => {
  const cell = fc
    .string({ unit: fc.constantFrom('a', '"', ',', ';', '\t', '\n', ' ', 'é') })
    .map((text) => text.trim())
  const table = fc.array(fc.tuple(cell, cell), { minLength: 1, maxLength: 5 })
  const quoted = (text: string): string => `"${text.replaceAll('"', '""')}"`
  fc.assert(
    fc.property(table, fc.constantFrom(',', ';', '\t'), (cells, divider) => {
      const text = [['x', 'y'], ...cells].map((row) => row.map(quoted).join(divider)).join('\n')
      const found = read(text)
      assert.ok('sets' in found)
      const kept = cells.filter((row) => row.some((one) => one !== ''))
      assert.deepEqual(
        found.sets.map((set) => [set.x ?? '', set.y ?? '']),
        kept,
      )
    }),
  )
})
