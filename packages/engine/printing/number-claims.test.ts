import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { GivenNumbers, numbersIn, unknownNumbers } from './number-claims.ts'

const GIVEN = {
  summary: 'delay falls by 3.2 (95% interval 1.1 to 5.3).',
  n: 1_234_567,
  share: 0.2231,
  change: -3.2,
  rows: [
    { day: '2001-06-30', value: 12.345 },
    { day: '2001-07-01', value: 7 },
  ],
}
const given = numbersIn(GIVEN)

test('a number that is given holds, as it stands or rounded, with separators, in percent, in millions', () => {
  for (const text of [
    'It fell by 3.2, and by 3 to be short.',
    'There were 1,234,567 flights, about 1.2 million, or 1,235 thousand.',
    '22.3% of them, that is 22 percent.',
    'On 30 June 2001 it was 12.3; 12.35 to two places.',
    'The interval of 95% goes from 1.1 to 5.3; both days are in the table.',
    'Two rows.',
  ])
    assert.deepEqual(unknownNumbers(text, given), [], text)
})

test('a number that is not given is found, in digits and in words', () => {
  for (const [text, wrong] of [
    ['It fell by 3.3.', ['3.3']],
    ['Up 42% in 2002.', ['42%', '2002']],
    ['About 1.3 million.', ['1.3 million']],
    ['It doubled.', []],
    ['Five airports stand out, and half of them twice.', ['Five', 'half']],
    ['12.36 is wrong, 12.30 too.', ['12.36', '12.30']],
    ['USD99 and £98, Q8 and 97x.', ['99', '98', '8', '97']],
    ['½ of it, ٣١٢ or ３１２, Ⅻ, 9², ① and 7½.', ['9', '½', '٣١٢', '３１２', 'Ⅻ', '²', '①', '½']],
  ] as const)
    assert.deepEqual(unknownNumbers(text, given), [...wrong], text)
})

test('whatever numbers are given, each holds in every usual spelling, and one far off does not', () => {
  const number = fc.double({ min: 0.01, max: 1e9, noNaN: true })
  fc.assert(
    fc.property(number, fc.integer({ min: 0, max: 3 }), (value, decimals) => {
      const known = numbersIn({ value })
      const shown = value.toFixed(decimals)
      const grouped = Number(shown).toLocaleString('en-US', {
        minimumFractionDigits: decimals,
        maximumFractionDigits: decimals,
      })
      assert.deepEqual(unknownNumbers(`It is ${shown}.`, known), [])
      assert.deepEqual(unknownNumbers(`It is ${grouped} now`, known), [])
      assert.deepEqual(unknownNumbers(`It is -${shown}`, known), [])
      assert.equal(unknownNumbers(`It is ${(value * 2 + 3).toFixed(decimals)}.`, known).length, 1)
    }),
  )
})

test('many claims beside many given numbers are each found by halves', () => {
  const many = numbersIn(Array.from({ length: 200_000 }, (_, index) => index * 10 + 0.25))
  const text = Array.from({ length: 4_000 }, (_, index) => `${index * 10 + 7}.25`).join(' ')
  assert.equal(unknownNumbers(text, many).length, 4_000)
  const numbers = fc.array(fc.double({ min: 0, max: 1000, noNaN: true }), { maxLength: 20 })
  fc.assert(
    fc.property(
      numbers,
      fc.double({ min: 0, max: 1000, noNaN: true }),
      fc.double({ min: 0, max: 5, noNaN: true }),
      (list, at, room) => {
        const found = new GivenNumbers(list).hasWithin(at - room, at + room)
        assert.equal(
          found,
          list.some((one) => one >= at - room && one <= at + room),
        )
      },
    ),
  )
})
