/**
 * Counts how often a cause is named beside a forecast of orders with a season, growth and noise, in which nothing was
 * planted.
 */
import { METHODS } from '../../packages/engine/methods/catalog.ts'
import { seasonal } from '../../packages/engine/methods/drivers-fixture.ts'
import { outcomeOf } from '../../packages/engine/methods/relation-fixture.ts'

const NOW = '2026-01-15T00:00:00.000Z'

/**
 * Tries `tables` tables each by the month, the week and the day. Resolves with the rows of the page, and the largest
 * share.
 */
export async function forecastTable(tables: number, seed: number): Promise<{ rows: string[]; most: number }> {
  const rows: string[] = []
  let most = 0
  for (const period of tables > 0 ? ['month', 'week', 'day'] : []) {
    let named = 0
    for (let index = 0; index < tables; index++) {
      const table = await seasonal('1', `${seed} ${index}`)
      const options = {
        value: 'orders',
        by: ['country', 'channel'],
        time: 'day',
        period,
        compare_with: 'forecast',
      }
      const { causes } = await outcomeOf(METHODS.drivers!, table, options, NOW)
      if ((causes as unknown[]).length > 0) named += 1
    }
    rows.push(
      `beside a forecast by the ${period}, nothing planted: a cause named in ${named} of ${tables} tables`,
    )
    most = Math.max(most, named / tables)
  }
  return { rows, most }
}
