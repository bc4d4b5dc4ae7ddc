import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import * as fc from 'fast-check'
import { Client } from 'pg'
import { missingPostgres, type Postgres, startPostgres } from '../../../test/postgres.ts'
import { numberArray, textArray } from './arrays.ts'

const missing = await missingPostgres()

suite('arrays as PostgreSQL reads them', { skip: missing ?? false }, () => {
  let postgres: Postgres
  let client: Client
  before(async () => {
    postgres = await startPostgres()
    client = new Client({ connectionString: await postgres.createDatabase(`assay_arrays_${process.pid}`) })
    await client.connect()
  })
  after(async () => {
    await client.end()
    await postgres.dropDatabase(`assay_arrays_${process.pid}`)
    await postgres.stop()
  })

  test('any texts and numbers arrive as they were', async () => {
    const text = fc
      .string({ unit: 'grapheme' })
      .filter((value) => value.isWellFormed() && !value.includes('\0'))
    const number = fc.double({ noDefaultInfinity: true, noNaN: true })
    const pair = fc.record({ text: fc.option(text), number: fc.option(number) })
    await fc.assert(
      fc.asyncProperty(fc.array(pair), async (pairs) => {
        const [texts, numbers] = [pairs.map((one) => one.text), pairs.map((one) => one.number)]
        const { rows } = await client.query<{ texts: (string | null)[]; numbers: (number | null)[] }>(
          'SELECT to_json($1::text[]) AS texts, $2::float8[] AS numbers',
          [textArray(texts), numberArray(numbers)],
        )
        assert.deepEqual(rows[0]!.texts, texts)
        // A zero loses its sign as JavaScript writes it.
        assert.deepEqual(
          rows[0]!.numbers,
          numbers.map((value) => (value === null ? null : value + 0)),
        )
      }),
      { numRuns: 60 },
    )
  })
})
