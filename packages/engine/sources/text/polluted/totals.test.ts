/**
 * Tests that a row of totals below a table is never counted without a message, and that rows that only look like one
 * are left as they are.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { read, refusal } from './read-fixture.ts'

const rows = (n: number, of = (at: number) => `2023-01-${10 + (at % 19)},x${at % 3},${at + 1}`): string =>
  `day,city,amount\n${Array.from({ length: n }, (_, at) => of(at)).join('\n')}\n`

test('a last row of totals is refused with both lines to write, wherever its label stands', async () => {
  for (const last of ['Total,,55', ',Gesamt:,55', ',,55', 'Grand total,x,60', ',"Sum",1']) {
    const reason = await refusal(`${rows(10)}${last}\n\n`)
    assert.match(reason, /line 12 seems to hold the totals.*"totals: skip".*"totals: keep"/, last)
  }
  assert.match(await refusal(`${rows(30_000)}Total,,9\n`), /its last row seems to hold the totals/)
})

test('rows of totals are left out or kept as the source says, in each encoding and packing', async () => {
  const skip = { dialect: { totals: 'skip' } } as const
  const texts: [string | Buffer, string][] = [
    [`${rows(10)}Total,,55\n`, 'a.csv'],
    [`${rows(10)}Subtotal,,50\nTotal,,55\n\n`, 'a.csv'],
    [Buffer.from(`${rows(10)}Total,ü,55\n`, 'latin1'), 'a.csv'],
    [gzipSync(`${rows(10)}Total,,55\n`), 'a.csv.gz'],
  ]
  for (const [text, name] of texts) {
    const found = await read(text, { ...skip, name })
    assert.deepEqual([found.total, found.types[0]], [10, 'day DATE'])
  }
  const long = await read(`${rows(30_000)}Total,,9\n`, skip)
  assert.deepEqual([long.total, long.types[0]], [30_000, 'day DATE'])
  const utf16 = Buffer.from(`\ufeff${rows(30_000)}Total,,9\n`, 'utf16le')
  assert.equal((await read(utf16, skip)).total, 30_000)
  const kept = await read(`${rows(10)},Total,55\n`, { dialect: { totals: 'keep' } })
  assert.deepEqual([kept.total, kept.types[2]], [11, 'amount BIGINT'])
})

test('a value like a label is a row of the table where it comes again, has no number, or is one of few rows', async () => {
  const groups = ['men', 'women', 'Total', 'men', 'women', 'Total']
  const each = (labels: string[]) => `sex,n\n${labels.map((label, at) => `${label},${at * at}`).join('\n')}\n`
  assert.equal((await read(each(groups))).total, 6)
  assert.equal((await read(each(['a', 'b', 'Total']))).total, 3)
  assert.equal((await read(`${rows(10)}2023-02-01,Total Wine,3\n`)).total, 11)
  assert.equal((await read(`${rows(10)}2023-02-01,Total,\n`)).total, 11)
  assert.equal((await read(`${rows(10)}2023-02-01,,7\n`)).total, 11)
})
