import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { fileFormat, normalPath, otherCapitals, vetNewPath, vetUploadPath } from './file.ts'

test('takes names of files in folders, in any script', () => {
  for (const path of [
    'a.csv',
    'sales/2024/Q1.parquet',
    'Käufe (neu) [1].csv.gz',
    '売上.json',
    'a.b.jsonl',
    "d'or.tsv",
  ])
    assert.equal(vetUploadPath(path), null, path)
})

test('refuses what leads out, hides, or means something to a system', () => {
  for (const path of [
    '',
    '/a.csv',
    '../a.csv',
    'a/../b.csv',
    './a.csv',
    'a//b.csv',
    'a.csv/',
    '.a.csv',
    'a/.b/c.csv',
    'a\\b.csv',
    'c:a.csv',
    '*.csv',
    'a\n.csv',
    'a\u202e.csv',
    'a\0.csv',
    ' a.csv',
    'a /b.csv',
    'a./b.csv',
    `${'a/'.repeat(8)}b.csv`,
    `${'ä'.repeat(101)}.csv`,
    `${'a'.repeat(150)}/${'b'.repeat(150)}/${'c'.repeat(150)}/${'d'.repeat(150)}.csv`,
    'a.exe',
    'a',
    'csv',
  ])
    assert.notEqual(vetUploadPath(path), null, JSON.stringify(path))
})

test('a new upload has no name that a system takes for a device, whatever folder it lies in', () => {
  for (const path of ['CON.csv', 'a/aux.csv', 'nul.tar.csv', 'lpt1/b.csv', 'Com9.json'])
    assert.match(vetNewPath(path) ?? '', /takes for a device/, path)
  for (const path of ['console.csv', 'common/a.csv', 'auxiliary.csv', 'com.csv'])
    assert.equal(vetNewPath(path), null, path)
  assert.match(vetNewPath('../a.csv') ?? '', /begins with a dot/)
})

test('names that differ in capitals alone are told, in folders too', () => {
  const present = ['Sales/a.csv', 'b.csv', 'sales2/c.csv']
  assert.equal(otherCapitals(present, 'B.csv'), 'b.csv')
  assert.equal(otherCapitals(present, 'sales/new.csv'), 'Sales')
  assert.equal(otherCapitals(present, 'Sales/A.csv'), 'Sales/a.csv')
  for (const path of ['Sales/a.csv', 'Sales/b.csv', 'c.csv', 'b.csv.gz'])
    assert.equal(otherCapitals(present, path), null, path)
})

test('whatever it takes stays below its folder, is not hidden, and has a format', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: fc.constantFrom('.', '/', '\\', 'a', ' ', '~', '%', '\u0301', 'e', ':') }),
      (name) => {
        const path = normalPath(`${name}.csv`)
        if (vetUploadPath(path) !== null) return
        const resolved = new URL(path.split('/').map(encodeURIComponent).join('/'), 'file:///base/')
        assert.ok(resolved.pathname.startsWith('/base/'))
        assert.ok(path.split('/').every((step) => step !== '' && !step.startsWith('.')))
        assert.ok(fileFormat(path))
        assert.equal(normalPath(path), path)
      },
    ),
    { numRuns: 2000 },
  )
})
