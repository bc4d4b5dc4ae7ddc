/** Tests the page of a metric: its series as a chart, its tests, its reports, and its definition in an earlier one. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { stand } from './stand.ts'
import { apiOf, assertAccessible, link, refusal, runJob } from './steps.ts'

const here = stand()

const definition = (value: string): string => `metric: revenue
label: revenue
source: { file: uploads/orders.csv }
time: { column: day }
value: ${value}
unit: EUR
target: { value: 300, per: month }
events: [ { date: 2025-02-10, label: New price list } ]
tests: [ { not_null: amount }, { fresh: 2d } ]
`

const ORDERS = Array.from({ length: 90 }, (_, at) => {
  const day = new Date(Date.UTC(2025, 0, 1 + at)).toISOString().slice(0, 10)
  return `${day},${5 + (at % 11)}`
}).join('\n')

test('shows a metric as a chart with its target and events, and its definition in an earlier report', async () => {
  const { page } = here.watched
  const api = apiOf(here.service.url)
  await api.files.put('orders.csv', `day,amount\n${ORDERS}\n`)
  await api.metrics.put('revenue', definition('sum(amount)'))
  const job = await runJob(here.service.url, 'brief', { metrics: ['revenue'], period: '2025-03' })
  assert.equal(job.job_status, 'completed', JSON.stringify(job.error))
  await api.metrics.put('revenue', definition('sum(amount) / 2'))

  await page.goto('/metric/revenue')
  await page.getByText('The newest month is 2025-03-01. Steps with values: 3.').waitFor()
  const chart = page.locator('figure.chart')
  await chart.locator('.drawing').first().getByText('Target 300 EUR').first().waitFor()
  await chart.locator('.drawing').first().getByText('New price list').first().waitFor()
  await page.getByText(/: fails\. Revenue must not be read as of now/).waitFor()
  await page.getByLabel('One value for each').selectOption('day')
  await page.getByText('The newest day is 2025-03-31. Steps with values: 90.').waitFor()
  await assertAccessible(page, 'a metric')

  await link(page, 'Definition of revenue in Brief, March 2025').click()
  await page.getByRole('heading', { name: 'revenue as it was', level: 1 }).waitFor()
  await page.getByText('It has changed since.').waitFor()
  const changed = await page.locator('dd').allInnerTexts()
  assert.deepEqual(
    changed.map((text) => text.trim()),
    ['value: sum(amount)', 'value: sum(amount) / 2'],
  )
  await assertAccessible(page, 'a metric as it was')
  await api.metrics.delete('revenue')
  await page.reload()
  await page.getByText('The metric has been deleted since.').waitFor()
  here.assertSilent([refusal(404)])
})
