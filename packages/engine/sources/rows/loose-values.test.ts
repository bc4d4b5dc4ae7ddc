import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { openEngine } from '../../duckdb/duckdb.ts'
import { LooseNumeric } from './loose-values.ts'

const decimals = fc
  .tuple(fc.integer({ min: -1_000_000_000, max: 1_000_000_000 }), fc.nat(8))
  .map(([units, scale]) => units / 10 ** scale)
const values = fc.array(
  fc.oneof(decimals, fc.double({ noNaN: true, noDefaultInfinity: true }), fc.integer()),
  {
    minLength: 1,
    maxLength: 40,
  },
)

test('numbers noted as doubles become the decimals that their texts become', async () => {
  const engine = await openEngine()
  await fc.assert(
    fc.asyncProperty(values, async (given) => {
      const byText = new LooseNumeric()
      const byDouble = new LooseNumeric()
      const taken = given.filter((value) => byDouble.noteDouble(value))
      for (const value of taken) byText.note(String(value))
      assert.equal(byDouble.settled().toString(), byText.settled().toString())
      if (taken.length === 0) return
      const literals = taken.map((value) => `(${value}::double, '${value}')`)
      const type = byDouble.settled().toString()
      const result = await engine.connection.run(
        `select count(*)::int from (values ${literals.join(', ')}) t(d, s) where d::${type} is distinct from s::${type}`,
      )
      assert.deepEqual(await result.getRowsJS(), [[0]])
    }),
    { numRuns: 100 },
  )
  engine.close()
})
