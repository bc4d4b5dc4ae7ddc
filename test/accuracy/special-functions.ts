/** Compares the special functions with the values of an arbitrary-precision tool. */
import { readFileSync } from 'node:fs'
import path from 'node:path'
import * as distributions from '../../packages/engine/numeric/distributions.ts'
import { erfc } from '../../packages/engine/numeric/error-function.ts'
import { logGamma } from '../../packages/engine/numeric/gamma.ts'

const FILE = path.join(import.meta.dirname, '../../packages/engine/numeric/fixtures/special-functions.json')

const FUNCTIONS: Record<string, (a: number, b: number, c: number) => number> = {
  ...distributions,
  logGamma,
  erfc,
  fQuantile: (upper, df1, df2) => distributions.fQuantile(1 - upper, df1, df2, upper),
  chiSquareQuantile: (upper, df) => distributions.chiSquareQuantile(1 - upper, df, upper),
}

export function specialFunctionErrors(): {
  tool: string
  rows: { name: string; values: number; worst: number }[]
} {
  const { tool, ...tables } = JSON.parse(readFileSync(FILE, 'utf8')) as { tool: string } & Record<
    string,
    (number | string)[][]
  >
  const rows = Object.entries(tables).map(([name, table]) => {
    const errors = table.map((row) => {
      const [a = 0, b = 0, c = 0] = row.slice(0, -1).map(Number)
      const expected = Number(row.at(-1))
      return Math.abs(FUNCTIONS[name]!(a, b, c) - expected) / Math.abs(expected || 1)
    })
    return { name, values: table.length, worst: Math.max(...errors) }
  })
  return { tool, rows }
}
