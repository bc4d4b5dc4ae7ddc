/** Tests how selects within selects are printed. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { columnsOf } from '../sufficient/ask.ts'
import { column, counted, double } from './language.ts'
import { POSTGRESQL } from './postgresql.ts'
import { printSelect } from './print.ts'

test('PostgreSQL may flatten columns that are read as they are, and computes any other column once', () => {
  const inner = (of: Parameters<typeof columnsOf>[1]): string =>
    printSelect(
      { from: columnsOf({ query: 'select * from t' }, of), keys: { k: column('a') }, list: { n: counted } },
      POSTGRESQL,
    )
  assert.doesNotMatch(inner({ a: column('region') }), /offset 0/)
  assert.match(inner({ a: double(column('region')) }), /offset 0/)
})
