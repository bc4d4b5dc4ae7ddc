/**
 * Reads the shape of a number column: moments about the mean, computed inside DuckDB, and its values in rising order on
 * request.
 */
import { numberSql } from './columns.ts'
import type { Relation } from './method.ts'
import { finite } from './sentence.ts'
import { double, powerAbove } from './sums.ts'

export interface Shape {
  n: number
  /** Rows without a finite number. */
  left: number
  constant: boolean
  mean: number | null
  sd: number | null
  /** The third moment over the second's power, and the fourth over the second's square. */
  g1: number | null
  b2: number | null
  /** G1 and G2, the adjusted forms (Joanes and Gill, The Statistician 47, 1998), as Excel and pandas give them. */
  skewness: number | null
  kurtosis: number | null
  /** A power of two above every size. `values` are divided by it. */
  unit: number
  /** Returns at most `most` values in rising order, evenly spaced among all. */
  values(most: number): Promise<number[]>
}

export async function readShape(table: Relation, name: string, option = 'value'): Promise<Shape> {
  const source = `(select ${numberSql(table, option, name)} as x from ${table.relation})`
  const [range] = await table.query(
    `select count(*) as rows, count(*) filter (isfinite(x)) as n, max(abs(x)) filter (isfinite(x)) as size from ${source}`,
  )
  const n = range!.n as number
  const unit = powerAbove((range!.size as number | null) ?? 0)
  const kept = `(select x / ${double(unit)} as v from ${source} where isfinite(x))`
  const [row] = await table.query(
    `with c as (select favg(v) as m, max(v) - min(v) as width from ${kept}), u as (select (v - m) / nullif(width, 0) as u from ${kept}, c)
     select (select m from c) as mean, (select width from c) as width, favg(u) as rest, favg(u * u) as m2, favg(u ** 3) as m3, favg(u ** 4) as m4 from u`,
  )
  const [mean, width, m2, m3, m4] = ['mean', 'width', 'm2', 'm3', 'm4'].map(
    (key) => (row![key] as number | null) ?? 0,
  ) as [number, number, number, number, number]
  const varies = n > 1 && m2 > 0
  const g1 = varies ? finite(m3 / m2 ** 1.5) : null
  const b2 = varies ? finite(m4 / m2 ** 2) : null
  return {
    n,
    left: (range!.rows as number) - n,
    constant: n > 0 && !(width > 0),
    mean: n > 0 ? finite(mean * unit) : null,
    sd: varies ? finite(Math.sqrt((m2 * n) / (n - 1)) * width * unit) : n > 1 ? 0 : null,
    g1,
    b2,
    skewness: g1 !== null && n > 2 ? (Math.sqrt(n * (n - 1)) / (n - 2)) * g1 : null,
    kurtosis: b2 !== null && n > 3 ? ((n - 1) / ((n - 2) * (n - 3))) * ((n + 1) * (b2 - 3) + 6) : null,
    unit,
    async values(most) {
      const step = Math.max(1, Math.ceil(n / most))
      const rows = await table.query(
        step === 1
          ? `select v from ${kept} order by v`
          : `select v from (select v, row_number() over (order by v) as i from ${kept}) where i % ${step} = ${Math.floor(step / 2)} order by v`,
      )
      return rows.map((one) => one.v as number)
    },
  }
}
