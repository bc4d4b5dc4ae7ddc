import assert from 'node:assert/strict'
import test from 'node:test'
import { DUCKDB } from '../dialects/duckdb.ts'
import { dialectOf } from '../dialects/engines.ts'
import { SqlTextFault } from '../language/sql-tokens.ts'
import { isAdditive, parseAggregate, parseRowExpression } from './expression.ts'
import { printExpression } from './print.ts'

const aggregate = (text: string, kind?: string): string =>
  printExpression(parseAggregate(text), kind === undefined ? DUCKDB : dialectOf(kind))
const row = (text: string, kind?: string): string =>
  printExpression(parseRowExpression(text), kind === undefined ? DUCKDB : dialectOf(kind))

test('expressions are printed with every part in brackets and every name in quotes', () => {
  assert.equal(aggregate('sum(amount - refunded)'), 'sum(("amount" - "refunded"))')
  assert.equal(
    aggregate('count(*) - count(distinct "odd ""name")'),
    '(count(*) - count(distinct "odd ""name"))',
  )
  assert.equal(
    row("a = 1 or b <> 'x' and not c is not null"),
    `(("a" = 1) or (("b" <> 'x') and (not ("c" is not null))))`,
  )
  assert.equal(row("status not in ('a', 'it''s')"), `("status" not in ('a', 'it''s'))`)
  assert.equal(
    aggregate('sum(case when a > 1 then 1 else -1 end)'),
    'sum((case when ("a" > 1) then 1 else (-1) end))',
  )
  assert.equal(row('a - b - c * 2 = 0'), '((("a" - "b") - ("c" * 2)) = 0)')
})

test('division is exact in every engine, and by zero it is null', () => {
  assert.equal(aggregate('sum(a) / count(*)'), '(1e0 * sum("a") / nullif(count(*), 0))')
})

test('names and texts are quoted as each database quotes them', () => {
  assert.equal(row("na`me = 'x'".replace('`', '')), `("name" = 'x')`)
  assert.equal(row(`"a\`b" = 'c\\d'`, 'mysql'), "(`a``b` = 'c\\\\d')")
  assert.equal(row(`"a""b" = 'c\\d'`, 'postgresql'), `("a""b" = 'c\\d')`)
})

test('whatever is not in the grammar is a fault at its place with what to write instead', () => {
  const fault = (read: (text: string) => unknown, text: string): SqlTextFault => {
    try {
      read(text)
    } catch (error) {
      assert.ok(error instanceof SqlTextFault)
      return error
    }
    throw new assert.AssertionError({ message: `${text} has no fault` })
  }
  for (const [text, at, says] of [
    ['sum(amount', 10, /\) is missing/],
    ['median(amount)', 0, /no function median\(\).*/],
    ['amount', 0, /"amount" has a value in each row/],
    ['sum(sum(a))', 4, /inside another/],
    ['1 + 2', 0, /adds up nothing/],
    ['sum(a); drop table x', 6, /";" is not part/],
    ['sum(a) over (order by b)', 7, /"over" cannot stand here/],
    ['sum(distinct a)', 0, /sum\(distinct/],
    ['sum($x)', 4, /cannot stand in a definition/],
    ['(select 1)', 8, /is missing/],
  ] as const) {
    const found = fault(parseAggregate, text)
    assert.match(found.message, says, text)
    assert.equal(found.at, at, text)
    assert.ok(found.remedy.length > 10, text)
  }
  assert.match(fault(parseRowExpression, 'sum(a) > 1').message, /asked of each row/)
  assert.match(fault(parseRowExpression, "a like 'x%'").remedy, /source\.sql/)
  assert.match(fault(parseRowExpression, '('.repeat(100)).message, /too deeply/)
  assert.match(fault(parseRowExpression, `a = '${'x'.repeat(5000)}'`).message, /5006 characters/)
})

test('only sums and counts add up over parts', () => {
  const additive = (text: string): boolean => isAdditive(parseAggregate(text))
  for (const text of ['sum(a)', 'count(*)', 'sum(a) - sum(b)', '2 * sum(a)', 'sum(a) / 100', '-count(b)'])
    assert.ok(additive(text), text)
  for (const text of [
    'avg(a)',
    'count(distinct a)',
    'sum(a) / sum(b)',
    'max(a)',
    'sum(a) + 1',
    'sum(a) * sum(b)',
  ])
    assert.ok(!additive(text), text)
})
