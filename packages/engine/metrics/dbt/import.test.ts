import assert from 'node:assert/strict'
import test from 'node:test'
import { readMetric } from '../definition.ts'
import { type Imported, importDbt } from './import.ts'

const TARGET = { connection: 'shop', schema: 'marts' }
const importText = (...texts: string[]): Imported =>
  importDbt(
    texts.map((text, index) => ({ name: `${index}.yml`, text })),
    TARGET,
  )
const told = (list: Imported['left']) => Object.fromEntries(list.map(({ name, reason }) => [name, reason]))
const read = ({ metrics }: Imported) =>
  Object.fromEntries(metrics.map(({ metric, source }) => [metric, readMetric(metric, source).metric!]))
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
      - { name: odd, agg: sum, expr: "round(amount, 0)" }
      - { name: big, agg: count, expr: case when amount > 9 then amount end }
`
const simple = (name: string, measure: string, more = ''): string =>
  `  - { name: ${name}, label: A label, type: simple, type_params: { measure: ${measure} }${more} }\n`

test('simple, ratio and derived metrics are taken over with their filters', () => {
  const found = importText(
    `${MODELS}metrics:\n${simple('revenue', 'amount', `, filter: "{{ Dimension('order__status') }} = 'paid'"`)}${simple('orders', 'orders')}` +
      `  - { name: order_value, type: ratio, type_params: { numerator: revenue, denominator: orders } }\n` +
      `  - { name: per_buyer, type: derived, type_params: { expr: a / b, metrics: [ { name: revenue, alias: a }, { name: buyers_all, alias: b } ] } }\n` +
      simple('buyers_all', 'buyers'),
  )
  assert.deepEqual(found.left, [])
  const { revenue, order_value, orders } = read(found)
  assert.equal(revenue!.source.table, 'marts.fct_orders')
  assert.equal(revenue!.time.column, 'created')
  assert.deepEqual(revenue!.dimensions, ['status'])
  assert.equal(order_value!.adding, 'ratio')
  const [first, second, third, fourth] = found.metrics
  assert.match(first!.source, /value: sum\(amount\)\nwhere: \(status = 'paid'\)/)
  assert.match(second!.source, /value: count\(\*\)/)
  assert.match(third!.source, /numerator: sum\(case when \(status = 'paid'\) then amount end\)/)
  assert.equal(orders!.label, 'A label')
  assert.match(fourth!.source, /value: \(sum\(.*\)\) \/ \(count\(distinct customer_id\)\)/)
})

test('what cannot be taken over is listed with the reason, and the rest is taken', () => {
  const found = importText(
    `${MODELS}metrics:\n${simple('ok', 'amount')}${simple('middle', 'middle')}${simple('odd', 'odd')}${simple('lost', 'nowhere')}` +
      simple('large', 'amount', `, filter: "{{ Dimension('order__is_large') }}"`) +
      simple('joined', 'amount', `, filter: "{{ Dimension('customer__status') }} = 'new'"`) +
      simple('when', 'amount', `, filter: "{{ TimeDimension('order__ordered_at', 'day') }} > '2024-01-01'"`) +
      '  - { name: running, type: cumulative, type_params: { measure: amount } }\n' +
      '  - { name: buys, type: conversion, type_params: { conversion_type_params: { base_measure: orders, conversion_measure: buyers, entity: order } } }\n' +
      '  - { name: growth, type: derived, type_params: { expr: a - b, metrics: [ { name: ok, alias: a }, { name: ok, alias: b, offset_window: 1 month } ] } }\n' +
      '  - { name: ring, type: derived, type_params: { expr: ring + 1, metrics: [ring] } }\n' +
      'saved_queries: [ { name: weekly, query_params: { metrics: [ok] } } ]\n',
  )
  assert.deepEqual(
    found.metrics.map(({ metric }) => metric),
    ['ok', 'large'],
  )
  assert.match(found.metrics[1]!.source, /where: \(\(amount > 100\)\)/)
  const reasons = told(found.left)
  assert.match(reasons.middle!, /"median" has no counterpart/)
  assert.match(reasons.odd!, /no function round\(\)/)
  assert.match(reasons.lost!, /"nowhere" is not in these files/)
  assert.match(reasons.joined!, /"customer__status", which lies in another model/)
  assert.match(reasons.when!, /over a time/)
  assert.match(reasons.running!, /"cumulative" have no counterpart: add up/)
  assert.match(reasons.buys!, /"conversion" have no counterpart: use the method "funnel"/)
  assert.match(reasons.growth!, /offset_window/)
  assert.match(reasons.ring!, /made of itself/)
  const rest = told(found.notRead)
  assert.match(rest['saved_queries: weekly']!, /no such part/)
  assert.match(rest['orders: dimension is_large']!, /computed/)
  assert.match(rest['measure big']!, /no metric is made of it/)
})

test('files of a project are read together, and a file without metrics stops none', () => {
  const found = importText(
    `---\nmetrics:\n${simple('rate', 'x').replace('{ measure: x }', '{ numerator: revenue, denominator: orders }').replace('type: simple', 'type: RATIO')}`,
    'models: [ { name: fct_orders, columns: [ { name: order_id, data_tests: [unique, not_null, { relationships: { to: x } }] }, { name: status, tests: [ { accepted_values: { values: [paid, open] } }, { unique: { config: { severity: warn } } } ] } ] } ]',
    `${MODELS}metrics:\n${simple('revenue', '{ name: amount, fill_nulls_with: 0 }')}${simple('orders', 'orders')}`,
    'metrics: [',
  )
  assert.deepEqual(found.left, [])
  const { rate, revenue } = read(found)
  assert.equal(rate!.adding, 'ratio')
  assert.deepEqual([rate!.missing, revenue!.missing], ['gap', 'zero'])
  assert.deepEqual(
    revenue!.tests.map(({ kind }) => kind),
    ['unique', 'not_null', 'accepted'],
  )
  const rest = told(found.notRead)
  assert.match(rest['fct_orders.order_id: test relationships']!, /not_null, unique, accepted and fresh/)
  assert.match(rest['fct_orders.status: test unique']!, /only warns/)
  assert.match(rest['the file']!, /^line 1: /)
})

test('a time that is cut in the model is its column, with the step of its granularity', () => {
  const step = (expr: string, granularity: string) => {
    const text = MODELS.replace(
      'expr: created, type_params: { time_granularity: day }',
      `expr: "${expr}", type_params: { time_granularity: ${granularity} }`,
    )
    const found = importText(`${text}metrics:\n${simple('revenue', 'amount')}`)
    return { time: read(found).revenue?.time, rest: told(found.notRead), left: told(found.left) }
  }
  for (const expr of [
    'cast(created as DATE)',
    'created::date',
    "date_trunc('day', created)",
    'date(created)',
  ])
    assert.deepEqual(step(expr, 'day').time, { column: 'created', grain: 'day', zone: 'UTC' })
  assert.equal(step('created', 'month').time!.grain, 'month')
  assert.equal(step("date_trunc('week', created)", 'day').time!.grain, 'week')
  const fine = step('created', 'second')
  assert.equal(fine.time!.grain, 'hour')
  assert.match(fine.rest['revenue: granularity second']!, /an hour is the finest/)
  assert.match(step('created', 'fiscal').rest['revenue: granularity fiscal']!, /days are taken/)
  assert.match(step('dateadd(day, 1, created)', 'day').left.revenue!, /is computed/)
})

test('expressions of derived metrics lose casts and take their parts by name or alias', () => {
  const derived = (expr: string) =>
    importText(
      `${MODELS}metrics:\n${simple('revenue', 'amount')}${simple('orders', 'orders')}` +
        `  - { name: both, type: derived, type_params: { expr: "${expr}", metrics: [revenue, { name: orders, alias: n }] } }\n` +
        '  - { name: twice, type: derived, type_params: { expr: 2 * both, metrics: [both] } }\n',
    )
  const value = (expr: string) => {
    const { both, twice } = read(derived(expr))
    return { adding: both!.adding, numerator: both!.ratio?.numerator.kind, twice: twice!.adding }
  }
  const ratio = { adding: 'ratio', numerator: 'aggregate', twice: 'ratio' }
  assert.deepEqual(value('revenue / n'), ratio)
  assert.deepEqual(value('cast(revenue as float) / nullif(n, 0)'), ratio)
  assert.deepEqual(value('100.0 * revenue / n'), { ...ratio, numerator: 'binary' })
  assert.equal(value('revenue - n').adding, 'sum')
  assert.equal(value('coalesce(revenue, 0) + n').adding, 'none')
  assert.match(told(derived('greatest(revenue, n)').left).both!, /names "greatest"/)
})

test('models of the latest form carry metrics that aggregate by themselves', () => {
  const found = importText(
    `models:
  - name: fct_orders
    semantic_model: { enabled: true, name: orders }
    agg_time_dimension: placed
    config: { alias: orders_final }
    columns:
      - { name: id, entity: { type: primary, name: order } }
      - { name: created, granularity: hour, dimension: { type: time, name: placed } }
      - { name: status, dimension: { type: categorical } }
    derived_semantics: { dimensions: [ { name: is_large, type: categorical, expr: amount > 100 } ] }
    metrics:
      - { name: revenue, type: simple, agg: sum, expr: amount, fill_nulls_with: 0, config: { meta: { a: b } } }
      - { name: large, type: simple, agg: count, expr: 1, filter: "{{ Dimension('order__is_large') }}" }
      - { name: middle, type: simple, agg: percentile, expr: amount, percentile: 50 }
      - { name: value_of_large, type: ratio, numerator: { name: revenue, filter: "{{ Dimension('order__is_large') }}" }, denominator: large }
      - { name: profit, type: derived, expr: a - 2, input_metrics: [ { name: revenue, alias: a } ] }
      - { name: month_to_date, type: cumulative, input_metric: revenue, grain_to_date: month }
      - { name: grown, type: derived, expr: a, input_metrics: [ { name: revenue, alias: a, offset_to_grain: month } ] }
      - { name: bought, type: conversion, entity: order, base_metric: large, conversion_metric: revenue }
  - { name: old, semantic_model: { enabled: false }, agg_time_dimension: at, metrics: [ { name: gone, agg: sum } ] }
`,
  )
  const { revenue, large, value_of_large: value, profit } = read(found)
  assert.equal(revenue!.source.table, 'marts.orders_final')
  assert.deepEqual(revenue!.time, { column: 'created', grain: 'hour', zone: 'UTC' })
  assert.deepEqual([revenue!.missing, revenue!.dimensions], ['zero', ['status']])
  assert.deepEqual([large!.adding, value!.adding, profit!.adding], ['sum', 'ratio', 'none'])
  const source = found.metrics.find(({ metric }) => metric === 'value_of_large')!.source
  assert.match(source, /numerator: sum\(amount\)\n {4}denominator: count\(\*\)\nwhere: /)
  const reasons = told(found.left)
  assert.deepEqual(Object.keys(reasons), ['middle', 'month_to_date', 'grown', 'bought', 'gone'])
  assert.match(reasons.grown!, /offset_to_grain/)
  assert.match(reasons.gone!, /disabled/)
  assert.match(told(found.notRead)['revenue: config']!, /no such key/)
})

test('what grows with each step into itself is left out, and the rest is taken', () => {
  const nested = (depth: number): string => (depth === 0 ? 'amount' : `coalesce(${nested(depth - 1)}, 0)`)
  const doubled = (name: string, of: string): string =>
    `  - { name: ${name}, type: derived, type_params: { expr: a + b, metrics: [ { name: ${of}, alias: a }, { name: ${of}, alias: b } ] } }\n`
  const steps = Array.from({ length: 40 }, (_, step) => doubled(`m${step + 1}`, `m${step}`)).join('')
  const chain = Array.from(
    { length: 200 },
    (_, step) =>
      `  - { name: c${step + 1}, type: derived, type_params: { expr: a, metrics: [ { name: c${step}, alias: a } ] } }\n`,
  ).join('')
  const found = importText(
    `${MODELS.replace('expr: "round(amount, 0)"', `expr: "${nested(60)}"`)}metrics:\n${simple('odd', 'odd')}${simple('m0', 'amount')}${simple('c0', 'amount')}${steps}${chain}`,
  )
  const reasons = told(found.left)
  assert.match(reasons.odd!, /no function coalesce\(\)/)
  assert.match(reasons.m40!, /more than (100 measures|20 metrics within each other)/)
  assert.match(reasons.c200!, /more than 20 metrics within each other/)
  assert.deepEqual(
    ['m0', 'm1', 'c0', 'c9'].filter((name) => !found.metrics.some(({ metric }) => metric === name)),
    [],
  )
  const long = importText(
    `${MODELS.replace('round(amount, 0)', 'a'.repeat(30_000))}metrics:\n${simple('odd', 'odd')}`,
  )
  assert.match(told(long.left).odd!, /more than 20000 characters once it is written out/)
})
