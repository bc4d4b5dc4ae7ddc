import assert from 'node:assert/strict'
import test from 'node:test'
import type { Mark, Origin } from '@assay/model/provenance'
import * as fc from 'fast-check'
import { compare } from './compare.ts'
import type { Marked } from './printed.ts'

type Part = string | [text: string, mark: Omit<Mark, 'start' | 'end'>]

/** Makes a marked text from texts, and values with their origins. */
function marked(...parts: Part[]): Marked {
  let markdown = ''
  const provenance: Mark[] = []
  for (const part of parts) {
    const start = markdown.length
    markdown += typeof part === 'string' ? part : part[0]
    if (typeof part !== 'string') provenance.push({ start, end: markdown.length, ...part[1] })
  }
  return { markdown, provenance }
}

const cell = (row: number, column = 'n'): { from: Origin[] } => ({ from: [{ block: 'q', row, column }] })
const field = (name: string): { from: Origin[] } => ({ from: [{ block: 'a', field: name }] })
const compared = (before: Marked, now: Marked) => compare(before, now, (piece) => [piece])

test('a value is compared with the one at its place of the template, whatever row it comes from', () => {
  const before = marked('Most is ', ['7', cell(3)], ', the slope ', ['2.5', field('slope')], '.')
  const now = marked('Most is ', ['7', cell(5)], ', the slope ', ['2.6', field('slope')], '.')
  const { total, hold, changed, words } = compared(before, now)
  assert.deepEqual([total, hold, words], [2, 1, []])
  assert.deepEqual(changed, [{ was: '2.5', is: '2.6', line: 1, ...field('slope') }])
})

test('a sentence that came or went takes no value of another place', () => {
  const same: Part[] = ['\nIn all ', ['9', field('n')], '.']
  const before = marked('It rose by ', ['4', field('slope')], '.', ...same)
  const { hold, changed, added, words } = compared(before, marked('It is ', ['4', cell(0)], '.', ...same))
  assert.equal(hold, 1)
  assert.deepEqual([changed.length, changed[0]!.is, added.length], [1, null, 1])
  assert.deepEqual(words, [{ line: 1, was: 'It rose by . In all', is: 'It is . In all' }])
})

test('cells that change places in a table are all told', () => {
  const columns = ['name', 'n'].map((name) => ({ name, fmt: null }))
  const grid = (...rows: [string, number][]): Marked =>
    marked([
      ['| name | n |', '| --- | --: |', ...rows.map((row) => `| ${row.join(' | ')} |`)].join('\n'),
      { from: [{ block: 'q' }], table: { columns, rows: [[0, rows.length - 1]] } },
    ])
  const { total, changed, added } = compared(
    grid(['a\\|b', 1], ['c', 2]),
    grid(['c', 2], ['a\\|b', 1], ['d', 3]),
  )
  assert.equal(total, 4)
  assert.deepEqual(
    changed.map(({ was, is, line, from }) => [was, is, line, from[0]!.row, from[0]!.column]),
    [
      ['a\\|b', 'c', 3, 0, 'name'],
      ['1', '2', 3, 0, 'n'],
      ['c', 'a\\|b', 4, 1, 'name'],
      ['2', '1', 4, 1, 'n'],
    ],
  )
  assert.deepEqual(
    added.map(({ is }) => is),
    ['d', '3'],
  )
})

test('a chart may stand in any form, and one with other values is told by its id', () => {
  const around = (chart: string): Marked =>
    marked('As drawn:\n\n', chart, '\n\nIn all ', ['9', field('n')], '.')
  const now = around('\u2063chart:delays\u2063')
  const filled = (piece: string): string[] =>
    ['bars 1 2', '![bars](chart:delays)'].map((form) => piece.replace(/\u2063.*\u2063/, form))
  for (const [chart, charts, words] of [
    ['bars 1 2', [], 0],
    ['![bars](chart:delays)', [], 0],
    ['bars 1 3', ['delays'], 0],
  ] as const) {
    const found = compare(around(chart), now, filled)
    assert.deepEqual([found.charts, found.words.length], [charts, words])
  }
  const other = marked('Drawn otherwise:\n\nbars 1 2\n\nIn all ', ['9', field('n')], '.')
  assert.equal(compare(other, now, filled).words.length, 1)
})

test('what a language model wrote cannot be checked, and how it was computed is not compared', () => {
  const of = (text: string, lineage: string, by?: 'model'): Marked =>
    marked([text, { from: [{ block: 'q' }], ...(by ? { by } : {}) }], '\n\n', [
      lineage,
      { from: [], by: 'lineage' },
    ])
  const found = compared(of('About 3.', '## How, version 1', 'model'), of('', '## How, version 2'))
  assert.deepEqual([found.total, found.hold, found.changed, found.words], [1, 0, [], []])
  assert.equal(found.unchecked[0]!.reason, 'a language model wrote it')
})

test('of any text compared with itself all holds, and of one with a changed value all but that one', () => {
  const value = fc
    .tuple(fc.nat(99), fc.constantFrom(cell(0), cell(1), cell(2, 'v'), field('slope')))
    .map(([number, mark]): Part => [String(number), mark])
  const parts = fc.array(fc.oneof(value, fc.constantFrom('one ', ' two\n', '| 3 ')), {
    minLength: 1,
    maxLength: 30,
  })
  fc.assert(
    fc.property(parts, fc.nat(), (list, pick) => {
      const values = list.flatMap((part, index) => (typeof part === 'string' ? [] : [index]))
      const whole = compared(marked(...list), marked(...list))
      assert.deepEqual([whole.total, whole.hold, whole.words], [values.length, values.length, []])
      if (values.length === 0) return
      const at = values[pick % values.length]!
      const now = list.map((part, index): Part => (index === at ? ['other', part[1] as never] : part))
      const { changed, hold, added, words } = compared(marked(...list), marked(...now))
      assert.deepEqual([hold, added, words], [values.length - 1, [], []])
      assert.deepEqual(
        changed.map(({ was, is }) => [was, is]),
        [[list[at]![0], 'other']],
      )
    }),
    { seed: 3, numRuns: 200 },
  )
})
