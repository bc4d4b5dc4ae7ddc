import assert from 'node:assert/strict'
import { test } from 'node:test'
import { columnOf, type Declared, read, refusal } from '../polluted/read-fixture.ts'

const column = async (values: readonly string[], given: Declared = {}) => {
  const found = await read(`x;y\n${values.map((value) => `${value};a`).join('\n')}\n`, given)
  return {
    type: found.types[0]!.slice(2),
    values: found.rows.map(([value]) => value),
    of: columnOf(found, 'x'),
  }
}

test('numbers as people write them for people are numbers, and the reading says what stood around them', async () => {
  const cases: [string[], string, unknown[]][] = [
    [['$1,234.50', '-$2', '$ 0.50'], 'DOUBLE', [1234.5, -2, 0.5]],
    [['1.234,50 €', '2 €', '-3,25 €'], 'DOUBLE', [1234.5, 2, -3.25]],
    [['1\u00a0234,50\u00a0€', '2,00\u00a0€'], 'DOUBLE', [1234.5, 2]],
    [['(1,234.00)', '5,678.25', '0'], 'DOUBLE', [-1234, 5678.25, 0]],
    [['$(12)', '($13)', '$14'], 'BIGINT', [-12, -13, 14]],
    [['1.234,50-', '20,00', '3,00-'], 'DOUBLE', [-1234.5, 20, -3]],
    [['\u22125', '7', '\u20133'], 'BIGINT', [-5, 7, -3]],
    [['+5', '-3', '+0'], 'BIGINT', [5, -3, 0]],
    [['12.5%', '-3 %', '0', '12.3%'], 'DOUBLE', [0.125, -0.03, 0, 0.123]],
    [['(1.5%)', '2.5%'], 'DOUBLE', [-0.015, 0.025]],
    [['1 234', '5\u00a0678', '9\u202f012'], 'BIGINT', [1234, 5678, 9012]],
    [["1'234.5", '2’000'], 'DOUBLE', [1234.5, 2000]],
    [['₹12,34,567.00', '₹1,00,000.50'], 'DOUBLE', [1234567, 100000.5]],
    [['EUR 12', 'EUR 1,5', 'EUR -3'], 'DOUBLE', [12, 1.5, -3]],
    [['12 kr', '13,50 kr', 'n/a'], 'DOUBLE', [12, 13.5, null]],
    [['US$5', 'US$7.25'], 'DOUBLE', [5, 7.25]],
  ]
  for (const [values, type, numbers] of cases) {
    const found = await column(values)
    assert.deepEqual([found.type, found.values], [type, numbers], values.join(' | '))
  }
  assert.deepEqual((await column(['$1.50', '$2'])).of?.currency, { is: '$', sure: 'settled' })
  assert.deepEqual((await column(['5%', '2%'])).of?.percent, { is: 'share', sure: 'likely' })
  assert.deepEqual((await column(['(5)', '2'])).of?.minus, { is: 'brackets', sure: 'likely' })
})

test('what a % or a bracket means is the word of the source', async () => {
  const percent = await column(['12.5%', '3%'], { dialect: { percent: 'number' } })
  assert.deepEqual([percent.values, percent.of?.percent], [[12.5, 3], { is: 'number', sure: 'declared' }])
  const own = { dialect: { columns: { x: { minus: 'brackets' as const } } } }
  assert.deepEqual((await column(['(1)', '(2)'], own)).values, [-1, -2])
  const texts = await column(['(1)', '2'], { dialect: { minus: 'front' } })
  assert.deepEqual([texts.values, texts.of?.doubt], [['(1)', '2'], undefined])
  const typed = await read('x\n"$1,250.5"\n$3\n', { columns: { x: 'decimal(10,2)' } })
  assert.deepEqual(typed.types, ['x DECIMAL(10,2)'])
})

test('where what stands around numbers can mean two things the column stays text, with both lines', async () => {
  const brackets = await column(['(1,234.50)', '(20.00)'])
  assert.deepEqual(brackets.values, ['(1,234.50)', '(20.00)'])
  assert.equal(
    brackets.of?.doubt?.says,
    'Brackets stand around its numbers, which may mean that they are negative: "(1,234.50)" is -1,234.50 (write minus: brackets), or a text (write minus: front).',
  )
  assert.equal((await column(['1', '2-', '3'])).of?.doubt?.kind, 'two_readings', 'marks of a school')
  assert.equal((await column(['-1', '(2)'])).of?.doubt?.kind, 'two_readings')
  assert.match((await column(['$1,234', '$2,345'])).of!.doubt!.says, /"\$1,234" is 1,234 .*, or 1\.234/)
  assert.match((await column(['$5', '€6'])).of!.doubt!.says, /several currencies \(\$ and €\)/)
  assert.match((await column(['5%', '6'])).of!.doubt!.says, /Some of its numbers have a %/)
})

test('texts that only look like such numbers stay texts without a doubt', async () => {
  for (const values of [
    ['+491701234567', '+33123456789'],
    ['RON 95', 'RON 98'],
    ['TOP 10', 'TOP 5'],

    ['$5 a day', '$6'],
    ['50-60%', '3%'],
    ['A$', '%'],
    ['(12', '13)'],
    ['-$-5', '$6'],
  ]) {
    const found = await column(values)
    assert.deepEqual([found.type, found.of], ['VARCHAR', undefined], values.join(' | '))
  }
})

test('such a number far below the sample changes the reading of its column, and one that fits nothing makes it text', async () => {
  const rows = (last: string): string => `x,y\n${'12,a\n'.repeat(4_000)}${last},b\n`
  assert.deepEqual((await read(rows('$5'))).types, ['x BIGINT', 'y VARCHAR'])
  assert.deepEqual((await read(rows('(5)'))).types, ['x BIGINT', 'y VARCHAR'])
  assert.deepEqual((await read(rows('5%'))).types, ['x VARCHAR', 'y VARCHAR'])
  const dollars = (last: string): string => `x,y\n${'$12.5,a\n'.repeat(4_000)}${last},b\n`
  assert.deepEqual((await read(dollars('€5'))).types, ['x VARCHAR', 'y VARCHAR'])
  assert.deepEqual((await read(dollars('5'))).types, ['x DOUBLE', 'y VARCHAR'])
})

test('random numbers are read back from every way in which people write them', async () => {
  let state = 7
  const next = (below: number): number => {
    state = (state * 48_271) % 2_147_483_647
    return state % below
  }
  const styles: ((digits: string, negative: boolean) => string)[] = [
    (digits, negative) => `${negative ? '-' : ''}$${digits}`,
    (digits, negative) => (negative ? `(${digits})` : digits),
    (digits, negative) => `${digits}${negative ? '-' : ''}`,
    (digits, negative) => `${negative ? '\u2212' : ''}${digits} EUR`,
    (digits, negative) => (negative ? `$(${digits})` : `$ ${digits}`),
  ]
  for (const style of styles) {
    const cents = [12_345_678, ...Array.from({ length: 4 }, () => next(99_999_999) - 50_000_000)]
    const texts = cents.map((value) => {
      const digits = (Math.abs(value) / 100).toLocaleString('en-US', { minimumFractionDigits: 2 })
      return `"${style(digits, value < 0)}"`
    })
    const { rows } = await read(`x,y\n${texts.map((text) => `${text},a`).join('\n')}\n`)
    assert.deepEqual(
      rows.map(([value]) => value),
      cents.map((value) => value / 100),
      texts.join(' '),
    )
  }
})

test('a row of totals in a currency is refused as any other, and names such as 5% are names', async () => {
  assert.match(await refusal('item,paid\na,$5\nb,$7\nc,$8\nTotal,$20\n'), /totals: skip/)
  const wide = await read('name,5%,95%\na,1.5,2\nb,1.75,3\n')
  assert.deepEqual(wide.types, ['name VARCHAR', '5% DOUBLE', '95% BIGINT'])
})

test('numbers with one unit behind stay text, and the doubt says how a block takes it off', async () => {
  const doubtOf = async (values: readonly string[]) => (await column(values)).of?.doubt?.says
  assert.equal(
    await doubtOf(['12 kg', '13.5 kg', 'NA']),
    `Each value is a number with "kg" behind it (such as "12 kg"), so all stay text. Take the unit off in the file, or in a block: cast(replace(COLUMN, 'kg', '') as double).`,
  )
  assert.match((await doubtOf(['20°C', '-3°C']))!, /Take the unit off in the file, or in a block/)
  assert.match((await doubtOf(['12,5 kg', '3 kg']))!, /Take the unit off in the file\.$/)
  assert.match((await doubtOf(['1.234 kg', '3 kg']))!, /Take the unit off in the file\.$/)
  const codes = [
    ['12A', '13A'],
    ['5 Mar', '6 Apr'],
    ['1st', '2nd'],
    ['12 kg', '3 lb'],
  ]
  for (const values of codes) assert.equal(await doubtOf(values), undefined, values.join(' | '))
})

test('strings of JSON with a currency, a % or a unit are read as those of a table in text', async () => {
  const rows = [
    { paid: '$1,250.75', share: '12.5 %', id: '012', no: '12', weight: '3 kg', of: { paid: '$5' } },
    { paid: '$5', share: '3 %', id: '013', no: '13', weight: '4 kg', of: { paid: '$6' } },
  ]
  const found = await read(JSON.stringify(rows), { name: 'amounts.json' })
  assert.deepEqual(found.types, [
    'paid DOUBLE',
    'share DOUBLE',
    'id VARCHAR',
    'no VARCHAR',
    'weight VARCHAR',
    'of STRUCT("paid" VARCHAR)',
  ])
  assert.deepEqual(found.rows[0]!.slice(0, 2), [1250.75, 0.125])
  assert.deepEqual(columnOf(found, 'paid')?.currency, { is: '$', sure: 'settled' })
  assert.match(columnOf(found, 'weight')!.doubt!.says, /with "kg" behind it/)
  const open = await read(JSON.stringify([{ x: '1.234 €' }]), { name: 'amounts.json' })
  assert.equal(columnOf(open, 'x')?.doubt?.kind, 'two_readings')
  const told = { name: 'amounts.json', dialect: { decimal: ',' as const } }
  assert.deepEqual((await read(JSON.stringify([{ x: '1.234 €' }]), told)).rows, [[1234]])
})
