import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Outcome } from '@assay/model/insight'
import * as fc from 'fast-check'
import { fisherTwoByTwo } from '../numeric/tests/fisher.ts'
import type { Meanings } from '../verdicts/measure.ts'
import { abTest } from './ab-test.ts'
import { columnsOf, outcomeOf, relation } from './relation-fixture.ts'
import { type Comparison, compareRates } from './shared/arms.ts'

const codes = (outcome: Outcome) => ({
  blockers: outcome.blockers.map(({ code }) => code),
  caveats: outcome.caveats.map(({ code }) => code),
})
const ask = async (sql: string, options: Record<string, unknown>, meanings: Meanings = new Map()) =>
  outcomeOf(abTest, await relation(sql), { group: 'g', ...options }, undefined, { meanings })
const meaning = (label: string, unit: string | null = null, good: 'up' | 'down' = 'up') =>
  ({ label, unit, fmt: null, good, target: null }) as const

/** Makes `a` + `b` rows in groups a and b, of which `ofA` and `ofB` succeed. */
const counts = (a: number, ofA: number, b: number, ofB: number) =>
  `select if(k < ${a}, 'a', 'b') as g, if(k < ${a}, k < ${ofA}, k - ${a} < ${ofB}) as s from range(${a + b}) r(k)`

test('the headline names the measure, the direction, the size and how sure it is', async () => {
  const meanings: Meanings = new Map([['s', meaning('next-day retention')]])
  const told = async (sql: string, more = {}) => ask(sql, { success: 's', ...more }, meanings)
  const none = await told(counts(44_700, 20_034, 45_489, 20_119))
  assert.equal(
    none.headline,
    'The test cannot tell whether "b" changed next-day retention: 44.2 % against 44.8 % for "a".',
  )
  assert.equal(none.grade, 'unclear')
  const fell = await told(counts(44_700, 8502, 45_489, 8279))
  assert.equal(
    fell.headline,
    'Next-day retention is clearly lower with "b" than with "a", for the worse, by 0.82 points: 18.2 % against 19 %.',
  )
  assert.equal(fell.grade, 'firm')
  const probably = await told(counts(1000, 200, 1000, 240))
  assert.match(
    probably.headline,
    /^Next-day retention is probably higher with "b" than with "a", for the better, by 4 points/,
  )
  const delay: Meanings = new Map([['v', meaning('delay', 'minutes', 'down')]])
  const { headline } = await ask(
    "select if(k % 2 = 0, 'old', 'new') as g, 20 - 5 * (k % 2) + k % 7 as v from range(400) r(k)",
    { value: 'v', control: 'old' },
    delay,
  )
  assert.equal(
    headline,
    'The average of delay is clearly lower with "new" than with "old", for the better, by 5.02 minutes: 18 against 23 minutes.',
  )
})

test('groups that nobody drew by chance may have any size, and their difference is an association', async () => {
  const uneven = counts(1000, 300, 3000, 1500)
  const found = await ask(uneven, { success: 's', planned: 'none' })
  assert.deepEqual(codes(found), { blockers: [], caveats: [] })
  assert.equal(found.grade, 'firm')
  assert.equal(found.sample_ratio_p, null)
  assert.match(found.headline, /among "b" than among "a".*not drawn by chance, so this is an association/)
  assert.doesNotMatch(found.headline, /test|changed/)
})

test('a split that differs from the planned shares withholds the result, whatever the difference', async () => {
  const uneven = counts(1000, 300, 2000, 1000)
  const broken = await ask(uneven, { success: 's' })
  assert.equal(broken.grade, 'withheld')
  assert.deepEqual(codes(broken).blockers, ['split_uneven'])
  assert.match(broken.headline, /1,000 rows in "a" where 50 % were planned/)
  assert.doesNotMatch(broken.summary, /higher|lower/)
  const planned = await ask(uneven, { success: 's', planned: { a: 1, b: 2 } })
  assert.equal(planned.grade, 'firm')
  assert.equal(planned.sample_ratio_p, 1)
  const unknown = await ask(uneven, { success: 's', planned: { a: 0.3, c: 0.7 } })
  assert.deepEqual(codes(unknown).blockers, ['split_uneven'])
  const missing = await ask(
    "select if(k % 2 = 0, 'a', 'b') g, if(k % 2 = 1 and k < 900, null, k) v from range(1000) r(k)",
    {
      value: 'v',
    },
  )
  assert.ok(!codes(missing).blockers.includes('split_uneven'), 'rows without a value were drawn, too')
})

test('rows of one unit are one observation: ten rows a user find something in 5 % of nulls, not in 40 %', async () => {
  const users = 60
  let rows = 0
  let units = 0
  const runs = 50
  for (let run = 0; run < runs; run++) {
    // A user's rows share most of their value.
    const table = await relation(
      `select if(u % 2 = 0, 'a', 'b') as g, u, (hash(u * 7919 + ${run} * 104729) % 1000) / 100.0 + (hash(u * 31 + i * 37 + ${run} * 1009) % 1000) / 300.0 as v
       from range(${users}) r(u), range(10) s(i)`,
    )
    const asked = { group: 'g', value: 'v' }
    if (((await outcomeOf(abTest, table, asked)).comparisons as Comparison[])[0]!.p! < 0.05) rows += 1
    const outcome = await outcomeOf(abTest, table, { ...asked, unit: 'u' })
    assert.equal(outcome.n, users)
    assert.deepEqual(codes(outcome).caveats.includes('unit_repeated'), true)
    if ((outcome.comparisons as Comparison[])[0]!.p! < 0.05) units += 1
  }
  assert.ok(units / runs <= 0.14, `${units} of ${runs} by units`)
  assert.ok(rows / runs > 0.3, `${rows} of ${runs} by rows`)
})

test('rows of users that nobody named are tested by user, always with a caveat; independent rows get none', async () => {
  const runs = 60
  let claims = 0
  for (let run = 0; run < runs; run++) {
    const found = await ask(
      `select if(u % 2 = 0, 'a', 'b') as g, 'u' || u as user_id, (hash(u * 7919 + ${run} * 104729) % 1000) / 100.0 + (hash(u * 31 + i * 37 + ${run} * 1009) % 1000) / 300.0 as v
       from range(60) r(u), range(10) s(i)`,
      { value: 'v' },
    )
    assert.ok(codes(found).caveats.includes('unit_repeated'))
    assert.deepEqual(codes(found).blockers, [])
    assert.match(found.summary, /600 rows belong to 60 users \("user_id"\), and rows of one user are alike/)
    if (found.grade !== 'unclear') claims += 1
    // Each user is in a session of its own, and the arms are dealt row by row.
    const alone = await ask(
      `select if(hash(k * 31 + ${run}) % 2 = 0, 'a', 'b') as g, k as session_id, hash(k + ${run} * 17) % 50 as user_id, (hash(k * 7919 + ${run} * 104729) % 1000) / 100.0 as v
       from range(600) r(k)`,
      { value: 'v' },
    )
    assert.ok(!codes(alone).caveats.includes('unit_repeated'))
  }
  assert.ok(claims / runs <= 0.14, `${claims} of ${runs}`)
})

test('errors by users keep the averages and rates of rows, and the split is that of users', async () => {
  const uneven = `select if(u % 2 = 0, 'a', 'b') as g, u as customer_id, (u * 7 + i) % 5 < 2 + u % 2 as s
    from range(200) r(u), range(1 + 9 * (u % 2)) t(i)`
  const found = await ask(uneven, { success: 's' })
  // Group b has ten times the rows, and as many users.
  assert.deepEqual(codes(found).blockers, [])
  assert.equal(found.sample_ratio_p, 1)
  assert.equal(found.n, 1100)
  const [a, b] = found.arms as { n: number; rate: number }[]
  assert.deepEqual([a!.n, b!.n], [100, 1000])
  const [one] = found.comparisons as Comparison[]
  assert.ok(Math.abs(one!.estimate! - (b!.rate - a!.rate)) < 1e-12)
  assert.equal(one!.test, "Welch's t test by customer")
  assert.ok(one!.df! < 200)
})

test('one row a user, names of the groups and few categories are no repeated units', async () => {
  const without = async (columns: string) => {
    const found = await ask(
      `select if(k % 2 = 0, 'a', 'b') as g, ${columns}, hash(k) % 100 as v from range(400) r(k)`,
      { value: 'v' },
    )
    return !codes(found).caveats.includes('unit_repeated')
  }
  assert.ok(await without('k as user_id'))
  assert.ok(await without("if(k % 2 = 0, 'old', 'new') as user_id"))
  assert.ok(await without('k % 4 as plan_id'))
  assert.ok(await without('k // 4 * 2 + k % 2 as height'))
  assert.ok(!(await without('k // 4 * 2 + k % 2 as plan_id')))
  assert.ok(!(await without('k // 4 * 2 + k % 2 as "playerId"')))
  const mixed = await ask(
    `select if(k % 2 = 0, 'a', 'b') as g, if(k < 200, null, k // 4 * 2 + k % 2) as userid, hash(k) % 100 as v from range(400) r(k)`,
    { value: 'v' },
  )
  assert.match(mixed.summary, /200 rows belong to 100 users/)
  assert.match(mixed.evidence, /n = 150/)
})

test('units are named in German, French and Spanish too, and a number of visitors is none', async () => {
  const people = async (column: string, of = 'k // 4 * 2 + k % 2') => {
    const found = await ask(
      `select if(k % 2 = 0, 'a', 'b') as g, ${of} as "${column}", hash(k) % 100 as v from range(400) r(k)`,
      { value: 'v' },
    )
    return /400 rows belong to \d+ (\w+)/.exec(found.summary)?.[1]
  }
  const names = {
    Kunde: 'customers',
    Kundennummer: 'customers',
    kunden_nr: 'customers',
    nutzer_id: 'users',
    BenutzerID: 'users',
    besucher_id: 'visitors',
    Gerätekennung: 'devices',
    id_client: 'clients',
    utilisateur: 'users',
    'Numéro de client': 'clients',
    "Nom de l'élève": 'pupils',
    id_cliente: 'customers',
    usuario: 'users',
    id_persona: 'people',
    sesión: 'sessions',
  }
  for (const [name, nouns] of Object.entries(names)) assert.equal(await people(name), nouns, name)
  for (const name of ['Besucher', 'persona', 'compte', 'Menge', 'kunden', 'nombre'])
    assert.equal(await people(name), undefined, name)
  assert.equal(await people('Besucher', "'b' || (k // 4 * 2 + k % 2)"), 'visitors')
})

test('an id of products counts only where chance would put more of them into several groups', async () => {
  // Nineteen in twenty rows are of one group, so most products stand there alone by chance.
  const products = (group: string, product: string) =>
    ask(`select ${group} as g, ${product} as product_id, hash(k * 7919) % 100 as v from range(2000) r(k)`, {
      value: 'v',
      planned: 'none',
    })
  const dealt = await products("if(hash(k * 31) % 40 = 0, 'b', 'a')", 'k // 2')
  assert.ok(!codes(dealt).caveats.includes('unit_repeated'), dealt.summary)
  const nested = await products("if(k // 2 % 20 = 0, 'b', 'a')", 'k // 2')
  assert.ok(codes(nested).caveats.includes('unit_repeated'), nested.summary)
})

test('a unit in two groups withholds the result', async () => {
  const found = await ask(
    "select if(k % 2 = 0, 'a', 'b') as g, k % 999 as u, k % 5 as v from range(1000) r(k)",
    { value: 'v', unit: 'u' },
  )
  assert.deepEqual(codes(found).blockers, ['unit_repeated'])
  assert.match(found.headline, /^1 unit is in more than one group/)
})

test('one row that makes the difference is named', async () => {
  const found = await ask(
    "select if(k % 2 = 0, 'gate_30', 'gate_40') as g, if(k = 100, 49854, k * 7919 % 101) as rounds from range(90000) r(k)",
    { value: 'rounds' },
  )
  assert.ok(codes(found).caveats.includes('one_row_decides'))
  assert.ok(codes(found).caveats.includes('tails_heavy'))
  assert.match(found.summary, /Without one single row of "gate_30", at 49,900, the difference would be/)
  const plain = await ask(
    "select if(k % 2 = 0, 'a', 'b') as g, 2 * (k % 2) + k * 7919 % 101 as v from range(9000) r(k)",
    { value: 'v' },
  )
  assert.deepEqual(codes(plain).caveats, [])
})

test('constants that differ do differ, equal ones cannot, and six rows are too few', async () => {
  const pair = (v: string, n: number) =>
    `select if(k % 2 = 0, 'a', 'b') as g, ${v} as v from range(${n}) r(k)`
  const differ = await ask(pair('1 + k % 2', 2000), { value: 'v' })
  assert.equal(differ.grade, 'firm')
  assert.equal(
    differ.headline,
    'The average of v is clearly higher with "b" than with "a", by 1: 2 against 1.',
  )
  const same = await ask(pair('7', 2000), { value: 'v' })
  assert.deepEqual(codes(same).blockers, ['constant'])
  assert.match(same.headline, /all values are 7/)
  const few = await ask(pair('1 + k % 2', 6), { value: 'v' })
  assert.deepEqual(codes(few).blockers, ['too_few'])
  for (const outcome of [differ, same, few]) assert.doesNotMatch(JSON.stringify(outcome), /unknown/)
})

test('too little data is an answer that says what there is', async () => {
  const table = "select 'g' || (k % 2) as g, k::double as v from range(60) r(k)"
  const outcome = await ask(table, { value: 'v', control: 'old' })
  assert.equal(outcome.summary, 'The control, "old", has no values; there are "g0" and "g1".')
  assert.deepEqual(outcome.comparisons, [])
  assert.equal(outcome.control, null)
  assert.equal((outcome.arms as unknown[]).length, 2)
  const single = await ask("select 'g' || k as g, k as v from range(2) r(k)", { value: 'v' })
  assert.deepEqual(codes(single).blockers, ['too_few'])
})

test('several arms are counted, corrected together, and the farthest is named', async () => {
  const sql =
    "select case k % 3 when 0 then 'control' else 'arm ' || (k % 3) end as g, (k % 3) * 10 + k % 7 as v from range(300) r(k)"
  const all = await ask(sql, { value: 'v' })
  assert.match(
    all.headline,
    /^Both other groups clearly differ from "control" in the average of v; the farthest is "arm 2", 20 higher: 23 against/,
  )
  assert.deepEqual(codes(all).caveats, ['many_tests'])
  const same = "select ['control', 'b', 'c'][1 + k % 3] as g, k * 7919 % 101 as v from range(300) r(k)"
  const first = async (sqlOf: string): Promise<Comparison> =>
    ((await ask(sqlOf, { value: 'v' })).comparisons as Comparison[])[0]!
  const [one, alone] = [await first(same), await first(`select * from (${same}) where g <> 'c'`)]
  assert.ok(one.high! - one.low! > 1.1 * (alone.high! - alone.low!), 'intervals of several arms are wider')
})

test('test and interval agree: an interval excludes zero exactly where the test rejects', async () => {
  const arm = fc
    .integer({ min: 1, max: 60 })
    .chain((n) => fc.tuple(fc.constant(n), fc.integer({ min: 0, max: n })))
  fc.assert(
    fc.property(arm, arm, fc.constantFrom('auto', 'fisher', 'proportions'), ([n, x], [m, y], name) => {
      const side = (count: number, successes: number) => ({
        name: 'x',
        n: count,
        successes,
        rate: successes / count,
        mean: null,
        sd: null,
      })
      const { low, high, p } = compareRates(side(m, y), side(n, x), 0.95, name)
      assert.equal(low! > 0 || high! < 0, p! <= 0.05, JSON.stringify({ low, high, p }))
    }),
    { numRuns: 500 },
  )
  const values = fc.array(fc.tuple(fc.constantFrom('a', 'b', 'c', 'd'), fc.integer({ min: 0, max: 9 })), {
    minLength: 8,
    maxLength: 60,
  })
  await fc.assert(
    fc.asyncProperty(values, async (rows) => {
      const table = await columnsOf({ g: rows.map(([g]) => g), v: rows.map(([, v]) => v) })
      const found = await outcomeOf(abTest, table, { group: 'g', value: 'v' })
      for (const { low, high, p, p_adjusted } of found.comparisons as Comparison[])
        if (low !== null && p !== null && low < high!)
          assert.equal(
            low > 0 || high! < 0,
            p_adjusted! <= 0.05,
            JSON.stringify({ low, high, p, p_adjusted }),
          )
    }),
    { numRuns: 60 },
  )
})

test("Fisher's detectable difference is found four times in five, by adding up all tables", () => {
  const n = 50
  const control = { name: 'c', n, successes: 5, rate: 0.1, mean: null, sd: null }
  const { detectable } = compareRates(control, { ...control, successes: 0, rate: 0 }, 0.95, 'fisher')
  const chance = (k: number, rate: number): number => {
    let log = 0
    for (let i = 1; i <= k; i++) log += Math.log((n - k + i) / i)
    return Math.exp(log + k * Math.log(rate) + (n - k) * Math.log(1 - rate))
  }
  let power = 0
  for (let x = 0; x <= n; x++)
    for (let y = 0; y <= n; y++)
      if (fisherTwoByTwo({ n, successes: x }, { n, successes: y }) <= 0.05)
        power += chance(x, 0.1 + detectable!) * chance(y, 0.1)
  assert.ok(Math.abs(power - 0.8) < 1e-3, String(power))
})
