import assert from 'node:assert/strict'
import test from 'node:test'
import { readMetric } from './definition.ts'
import { importDbt } from './import-dbt.ts'

const TARGET = { connection: 'shop', schema: 'marts' }
const MODELS = `
semantic_models:
  - name: orders
    model: ref('fct_orders')
    defaults: { agg_time_dimension: ordered_at }
    entities: [ { name: order, type: primary, expr: order_id } ]
    dimensions:
      - { name: ordered_at, type: time, expr: created, type_params: { time_granularity: day } }
      - { name: status, type: categorical }
      - { name: is_large, type: categorical, expr: "amount > 100" }
    measures:
      - { name: amount, agg: sum }
      - { name: orders, agg: count, expr: 1 }
      - { name: buyers, agg: count_distinct, expr: customer_id }
      - { name: middle, agg: median, expr: amount }
      - { name: odd, agg: sum, expr: "coalesce(amount, 0)" }
`
const simple = (name: string, measure: string, more = ''): string =>
  `  - { name: ${name}, label: A label, type: simple, type_params: { measure: ${measure} }${more} }\n`

test('simple, ratio and derived metrics are taken over with their filters', () => {
  const { metrics, left } = importDbt(
    `${MODELS}metrics:\n${simple('revenue', 'amount', `, filter: "{{ Dimension('order__status') }} = 'paid'"`)}${simple('orders', 'orders')}` +
      `  - { name: order_value, type: ratio, type_params: { numerator: revenue, denominator: orders } }\n` +
      `  - { name: per_buyer, type: derived, type_params: { expr: a / b, metrics: [ { name: revenue, alias: a }, { name: buyers_all, alias: b } ] } }\n` +
      simple('buyers_all', 'buyers'),
    TARGET,
  )
  assert.deepEqual(left, [])
  const definitions = Object.fromEntries(
    metrics.map(({ metric, source }) => [metric, readMetric(metric, source)]),
  )
  for (const { faults } of Object.values(definitions)) assert.deepEqual(faults, [])
  const { revenue, order_value, orders } = definitions
  assert.deepEqual(revenue!.metric!.source.table, 'marts.fct_orders')
  assert.deepEqual(revenue!.metric!.time.column, 'created')
  assert.deepEqual(revenue!.metric!.dimensions, ['status'])
  assert.equal(order_value!.metric!.adding, 'ratio')
  assert.match(metrics[0]!.source, /value: sum\(case when \(status = 'paid'\) then amount end\)/)
  assert.match(metrics[1]!.source, /value: count\(\*\)/)
  assert.equal(orders!.metric!.label, 'A label')
  assert.match(metrics[3]!.source, /value: \(sum\(.*\)\) \/ \(count\(distinct customer_id\)\)/)
})

test('what cannot be taken over is listed with the reason, and the rest is taken', () => {
  const { metrics, left } = importDbt(
    `${MODELS}metrics:\n${simple('ok', 'amount')}${simple('middle', 'middle')}${simple('odd', 'odd')}${simple('lost', 'nowhere')}` +
      simple('large', 'amount', `, filter: "{{ Dimension('order__is_large') }}"`) +
      simple('when', 'amount', `, filter: "{{ TimeDimension('order__ordered_at', 'day') }} > '2024-01-01'"`) +
      '  - { name: running, type: cumulative, type_params: { measure: amount } }\n' +
      '  - { name: growth, type: derived, type_params: { expr: a - b, metrics: [ { name: ok, alias: a }, { name: ok, alias: b, offset_window: 1 month } ] } }\n',
    TARGET,
  )
  assert.deepEqual(
    metrics.map(({ metric }) => metric),
    ['ok'],
  )
  const reasons = Object.fromEntries(left.map(({ name, reason }) => [name, reason]))
  assert.match(reasons.middle!, /"median" has no counterpart/)
  assert.match(reasons.odd!, /no function coalesce\(\)/)
  assert.match(reasons.lost!, /"nowhere" is not in this file/)
  assert.match(reasons.large!, /not a column of its model/)
  assert.match(reasons.when!, /cannot be read/)
  assert.match(reasons.running!, /"cumulative"/)
  assert.match(reasons.growth!, /offset_window/)
})

test('models of the latest form carry metrics that aggregate by themselves', () => {
  const { metrics, left } = importDbt(
    `models:
  - name: fct_orders
    semantic_model: true
    agg_time_dimension: created
    columns:
      - { name: created, granularity: day, dimension: { type: time } }
      - { name: status, dimension: { type: categorical } }
    metrics:
      - { name: revenue, type: simple, agg: sum, expr: amount }
`,
    TARGET,
  )
  assert.deepEqual(left, [])
  assert.match(metrics[0]!.source, /value: sum\(amount\)\ndimensions:\n {2}- status/)
})

test('a file that is not YAML of dbt is refused with its line', () => {
  assert.throws(() => importDbt('metrics: [', TARGET), /^Error: line 1: /)
  assert.throws(() => importDbt('metrics: [ { label: x } ]', TARGET), /name/)
  assert.throws(() => importDbt('version: 2', TARGET), /no metrics in it/)
})
