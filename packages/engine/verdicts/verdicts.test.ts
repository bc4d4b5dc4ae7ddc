import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { CODES } from './codes.ts'
import { measureOf, NO_MEANINGS, readable } from './measure.ts'
import { comparative, verbFor, withArticle } from './nouns.ts'
import { timeInWords } from './times.ts'
import { doubt, gradeOf, verdict } from './verdict.ts'
import {
  amount,
  apartAsTold,
  both,
  boundsOf,
  brief,
  changeOf,
  partNamed,
  quoted,
  shareOf,
  withoutRow,
} from './words.ts'

const plain = measureOf(NO_MEANINGS, 'v')

test('grades follow the adjusted p-value at 0.01 and 0.05', () => {
  assert.deepEqual([0, 0.01, 0.0101, 0.05, 0.0501, 1, null, Number.NaN].map(gradeOf), [
    'firm',
    'firm',
    'likely',
    'likely',
    'unclear',
    'unclear',
    'unclear',
    'unclear',
  ])
})

test('a blocker takes the place of the headline and withholds the claim', () => {
  const told = verdict({
    headline: 'Sales rose.',
    grade: 'firm',
    evidence: 'p = 0.001.',
    doubts: [doubt('days_missing', 'Two days have no row.'), doubt('split_uneven', 'The split is broken.')],
  })
  assert.equal(told.headline, 'The split is broken.')
  assert.equal(told.grade, 'withheld')
  assert.equal(told.summary, 'The split is broken. Two days have no row.')
  assert.deepEqual(told.notes, ['The split is broken.', 'Two days have no row.'])
  assert.deepEqual(
    [told.blockers, told.caveats].map((list) => list.map(({ code }) => code)),
    [['split_uneven'], ['days_missing']],
  )
})

test('a summary holds the headline and what every caveat says, so none can be hidden by printing it', () => {
  const codes = Object.keys(CODES) as (keyof typeof CODES)[]
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...codes), { maxLength: 6 }), (picked) => {
      const doubts = picked.map((code, index) => doubt(code, `Sentence ${index} of ${code}.`))
      const told = verdict({ headline: 'It rose.', grade: 'firm', evidence: '', doubts })
      for (const { says } of doubts) assert.ok(told.summary.includes(says))
      const blocked = picked.some((code) => CODES[code].kind === 'blocker')
      assert.equal(told.grade, blocked ? 'withheld' : 'firm')
      assert.equal(told.summary.startsWith('It rose.'), !blocked)
    }),
  )
})

test('a number in a sentence has at most three significant digits and is within half a percent of the value', () => {
  const number = fc.double({ min: 1e-5, max: 1e14, noNaN: true })
  fc.assert(
    fc.property(number, (value) => {
      const text = brief(value)
      const [digits = '', size] = text.split(' ')
      assert.ok(digits.replaceAll(/[,.]/gu, '').replace(/^0+/u, '').replace(/0+$/u, '').length <= 3, text)
      const scale = { million: 1e6, billion: 1e9, trillion: 1e12 }[size ?? ''] ?? 1
      const read = Number(digits.replaceAll(',', '')) * scale
      assert.ok(Math.abs(read / value - 1) <= 0.00501, `${text} for ${value}`)
    }),
  )
})

test('numbers, shares and changes read as an editor writes them', () => {
  const delay = measureOf(
    new Map([['delay', { label: 'Delay', unit: 'minutes', fmt: null, good: 'down', target: null }]]),
    'Delay',
  )
  const share = measureOf(
    new Map([['late', { label: null, unit: null, fmt: 'pct1', good: 'down', target: null }]]),
    'late',
  )
  const money = measureOf(
    new Map([['r', { label: null, unit: 'EUR', fmt: null, good: 'up', target: null }]]),
    'r',
  )
  const told: [string, string][] = [
    [amount(8.923, delay, 19.2), '9 minutes'],
    [amount(28.1, delay, 19.2), '28 minutes'],
    [amount(1, delay), '1 minute'],
    [changeOf(-19.18, delay), '19.2 minutes'],
    [amount(0.4419, share, 0.006), '44.2 %'],
    [changeOf(-0.0059, share), '0.59 points'],
    [amount(-0.0491, { ...share, fmt: 'pts1' }), 'minus 4.91 points'],
    [both([0.01, 0.0231], { ...share, fmt: 'pts1' }), '1 point to 2.31 points'],
    [both([0.012, 0.0231], { ...share, fmt: 'pts1' }), '1.2 to 2.31 points'],
    [amount(1_234_567, money), '€1.23 million'],
    [amount(0.5, money), '€0.50'],
    [changeOf(-3.34, money, 9), '€3.30'],
    [amount(-3.456, plain), 'minus 3.46'],
    [amount(21_961.39, plain), '22,000'],
    [amount(0, plain), '0'],
    [amount(null, plain), 'unknown'],
    [brief(999.9), '1,000'],
    [brief(0.000123456), '0.000123'],
    [brief(999_999), '1 million'],
    [brief(-Number.MAX_VALUE), '1.8 × 10³⁰⁸'],
    [brief(1.0312e15), '1,030 trillion'],
    [brief(1.0312e-9), '1.03 × 10⁻⁹'],
    [brief(5.6e-17), 'almost 0'],
    [brief(5.6e-17, 1e-15), '6 × 10⁻¹⁷'],
    [amount(-5.6e-17, plain, 2.2), '0'],
    [amount(-0.0004, plain, 0.01), 'minus 0.0004'],
    [amount(129_726, { ...plain, unit: 'thousand' }), '130 million'],
    [changeOf(-0.42, { ...plain, unit: 'million EUR' }), '€420,000'],
    [amount(2.5, { ...plain, unit: 'million tons' }), '2.5 million tons'],
    [shareOf(0.834), '83 %'],
    [shareOf(0.999), 'over 99 %'],
    [shareOf(12.3), '12.3 times'],
    [shareOf(-0.05), '5 %'],
    [quoted('DE'), '"DE"'],
    [quoted(null), 'no value'],
    [partNamed('country', 'DE'), 'country "DE"'],
    [partNamed('country', null), 'the part without a country'],
    [partNamed('age group', null), 'the part without an age group'],
    [partNamed('items', null), 'the part without items'],
    [withArticle('hour'), 'an hour'],
    [withArticle('unit'), 'a unit'],
    // The earlier grade is not named, because a correction for several tests may lower it.
    [withoutRow(['likely', 'unclear'], 'link'), 'there would be no clear link'],
    [withoutRow(['unclear', 'likely'], 'link'), 'there would be a probable link'],
    [withoutRow(['likely', 'firm'], 'link'), 'there would be a clear link'],
    [withoutRow(['firm', 'likely'], 'link'), 'the link would be less certain'],
  ]
  for (const [is, should] of told) assert.equal(is, should)
})

test('two rounded values that would contradict the change that is told beside them are known', () => {
  const share = { ...plain, fmt: 'pct1' }
  assert.ok(!apartAsTold([117_512, 116_418], plain))
  assert.ok(!apartAsTold([116_418, 117_512], plain))
  assert.ok(apartAsTold([129_726, 138_419], plain))
  assert.ok(apartAsTold([0, 12], plain))
  assert.ok(apartAsTold([0.4551, 0.4475], share))
  assert.ok(!apartAsTold([0.99912, 0.99934], share))
})

test('counts end at zero and shares at a hundred, unless a word of the name speaks of what may lie below', () => {
  const bounds = (name: string, unit: string | null = null) =>
    boundsOf({ ...measureOf(NO_MEANINGS, name), unit }, [3, 8, 5]).map(Number.isFinite)
  const counts = [
    'orders',
    'exchanges',
    'votes_against',
    'enterprise_accounts',
    'bargains',
    'glossary',
    'falls',
  ]
  for (const name of counts) assert.deepEqual(bounds(name), [true, false], name)
  for (const name of [
    'net_change',
    'grossMargin',
    'price change',
    'Gain',
    'weight loss',
    'netposition growth',
  ])
    assert.deepEqual(bounds(name), [false, false], name)
  for (const name of ['netIncome', 'account_balance', 'temperature'])
    assert.deepEqual(bounds(name), [false, false], name)
  assert.deepEqual(bounds('compositions'), [true, false])
  assert.deepEqual(bounds('share_of_enterprise', '%'), [true, true])
  assert.deepEqual(bounds('share_change', '%'), [false, false])
})

test('names are made readable where the template gives no label', () => {
  const names = {
    late_share: 'late share',
    avgDelay: 'avg delay',
    GMV: 'GMV',
    low_95: 'low 95',
    v: 'v',
    'Nett Price': 'nett price',
    'Umsatz in €': 'Umsatz in €',
    Größe_der_Bestellung: 'Größe der Bestellung',
    A: 'A',
  }
  for (const [name, text] of Object.entries(names)) assert.equal(readable(name), text)
})

test('dates read as a reader says them', () => {
  assert.equal(timeInWords('2001-06-18'), '18 June 2001')
  assert.equal(timeInWords('2001-06-01', 'month'), 'June 2001')
  assert.equal(timeInWords('2001-06-18', 'week'), 'the week of 18 June 2001')
  assert.equal(timeInWords('2001-06-18T14:30:00Z'), '18 June 2001, 14:30')
  assert.equal(timeInWords(1898), '1898')
})

test('the verb follows the noun before its place', () => {
  const labels = ['jobs outside farming', 'the share of orders', 'orders without a discount', 'revenue']
  assert.deepEqual(
    labels.map((label) => verbFor(label)),
    ['are', 'is', 'are', 'is'],
  )
})

test('what is counted becomes more or fewer, and a size higher or lower', () => {
  const of = (name: string, meaning: object = {}) => ({ ...measureOf(NO_MEANINGS, name), ...meaning })
  assert.equal(comparative(of('rooms'), true), 'more rooms')
  assert.equal(comparative(of('page_views'), false), 'fewer page views')
  assert.equal(comparative(of('returned_orders per customer'), false), 'fewer returned orders per customer')
  assert.equal(comparative(of('prices'), true), 'higher prices')
  assert.equal(comparative(of('unit_costs'), false), 'lower unit costs')
  assert.equal(comparative(of('price'), true), 'higher price')
  assert.equal(comparative(of('orders', { unit: 'EUR' }), true), 'higher orders')
  assert.equal(comparative(of('late_flights', { fmt: 'pct1' }), true), 'higher late flights')
})
