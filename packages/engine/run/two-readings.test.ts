import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { after, test } from 'node:test'
import * as fc from 'fast-check'
import { rowsOf, xlsx } from '../sources/sheets/book-fixture.ts'
import { findingsOf, openTestPool, sqlTemplate, templateOf } from './test-pool.ts'

const bench = await openTestPool({
  files: {
    'open.csv': 'day,n,m\n01/02/2023,1,x\n03/02/2023,2,y\n',
    'settled.csv': 'day,n\n01/02/2023,1\n13/02/2023,2\n',
    'bad.csv': 'a,b\n1,2\n3,4,5\n6,7\n',
    'book.xlsx': xlsx({
      sheets: ['Now', 'Then'].map((name, at) => ({
        name,
        rows: rowsOf([
          ['k', 'n'],
          ['a', at],
          ['b', at + 1],
        ]),
      })),
    }),
    'second.csv': 'iso,day,n\n2023-02-01,01/02/2023,1\n2023-02-03,03/02/2023,2\n',
    'open.json': '[{"day":"01-02-2023","n":1}]',
    'de.csv': 'art;preis\na;1.234\nb;5.678\n',
  },
})
after(() => bench.close())

const OPEN = 'sources:\n  s: { file: open.csv }'

async function stopOf(sql: string, front = OPEN): Promise<string> {
  const result = await bench.run(sqlTemplate(sql, front))
  return result.status === 'failed' ? `${result.error.code}: ${result.error.detail}` : result.status
}

test('a run that uses a column of two readings stops with both and the line to write', async () => {
  assert.equal(
    await stopOf('select min(day) from s'),
    'source_unavailable: Source "s", line 3: The block "a" uses the column "day", which can be read in more than one way. Every date fits two readings (day first or month first): "01/02/2023" is 1 February 2023 (write dates: dmy), or 2 January 2023 (write dates: mdy). Write the right line in the source.',
  )
  for (const sql of [
    'select "DAY" from s',
    'select s.day from s',
    'select distinct * from s',
    'select * from s order by 1',
    'select * from s order by all',
    "select columns('d.*') from s",
    'select d from s as t(d, n, m)',
    'select t.day from (select * from s) t',
    'select s from s',
    'with t as (select * from s) select max(t.day) from t',
    'select count(*) from s join (select day from s) using (day)',
    'select max(#1) from s',
    'select max(t) from s t',
    'select a.n from s a join s b on a = b',
    'with t as (select * from s) select max(t) from t',
  ])
    assert.match(await stopOf(sql), /uses the column "day"/, sql)
  for (const sql of [
    'select max(k) from (select *, n + 1 as k from s) group by all order by all',
    'select sum(n) from s',
    'select sum(s.n) from s',
    'select max(n) as a, a + 1 as b from s',
    'select * from s',
    'select m, count(*) from s group by 1',
    'select n from s union all select n from s',
    'select a.n, b.m from s a join s b on a.n = b.n',
    'with t as (select * from s) select t.n from t order by t.n',
  ])
    assert.equal(await stopOf(sql), 'done', sql)
  assert.match(await stopOf('select sum(preis) from s', 'sources:\n  s: { file: de.csv }'), /decimal: ","/)
  for (const front of [
    'sources:\n  s: { file: open.csv, dates: dmy }',
    'sources:\n  s: { file: open.csv, columns: { day: { dates: dmy } } }',
    'sources:\n  s: { file: open.csv, columns: { day: varchar } }',
  ])
    assert.equal(await stopOf('select min(day) from s', front), 'done', front)
})

test('analyses, variables and the text count as users, and a profile tells of the column', async () => {
  const analysis = (yaml: string, front = '') =>
    templateOf(`---\n${front}\n${OPEN}\n---\n\n\`\`\`analysis a\n${yaml}\n\`\`\`\n\n# A\n\n{{ a.summary }}\n`)
  const stopped = await bench.run(analysis('method: trend\nof: s\ntime: day\nvalue: n'))
  assert.match(JSON.stringify(stopped), /uses the column \\"day\\"/)
  const until = 'variables:\n  p: { type: period, default: last_30_days, until: s.day }'
  assert.match(
    JSON.stringify(
      await bench.run(analysis('method: describe\nof: s\nvalue: n', until), { p: 'last_30_days' }),
    ),
    /variable \\"p\\" uses/,
  )
  const shown = templateOf(
    `---\n${OPEN}\n---\n\n\`\`\`sql a\nselect * from s\n\`\`\`\n\n# A\n\n{{ a | max: "day" }}\n`,
  )
  assert.match(JSON.stringify(await bench.run(shown)), /The text uses/)
  const delivered = templateOf(
    `---\n${OPEN}\ndeliver_if: a[0].day > "02/01/2023"\n---\n\n\`\`\`sql a\nselect * from s\n\`\`\`\n\n# A\n`,
  )
  assert.match(JSON.stringify(await bench.run(delivered)), /The text uses/)
  const sourced = (file: string) =>
    templateOf(
      `---\nsources:\n  s: { file: ${file} }\n---\n\n\`\`\`analysis a\nmethod: profile\nof: s\n\`\`\`\n\n# A\n\n{{ a.summary }}\n`,
    )
  const profile = findingsOf(await bench.run(sourced('open.csv')))
  const [caveat] = profile.analyses.a!.caveats as { code: string; says: string }[]
  assert.equal(caveat?.code, 'type_ambiguous')
  assert.match(caveat.says, /^"day": Every date fits two readings/)
  await writeFile(
    path.join(bench.data, 'old.csv'),
    Buffer.from('name,n\nM\u00fcller,1\n\u00c9va,2\n', 'latin1'),
  )
  const [encoded] = findingsOf(await bench.run(sourced('old.csv'))).analyses.a!.caveats as { says: string }[]
  assert.match(encoded!.says, /is not UTF-8 throughout and is read as windows-1252/)
  const names = Array.from({ length: 300 }, (_, at) => `d${at}`)
  await writeFile(
    path.join(bench.data, 'many.csv'),
    `${names.join()}\n${names.map(() => '01/02/2023').join()}\n`,
  )
  const many = findingsOf(await bench.run(sourced('many.csv'))).analyses.a!.caveats as { says: string }[]
  assert.equal(many.length, 21)
  assert.match(many.at(-1)!.says, /^280 more such sentences of other columns are left out/)
})

test('a test of a metric that compares values of the column stops the run, and one that counts them does not', async () => {
  const over = (line: string) =>
    bench.run(
      templateOf('~~~metric m\nmetric: x\n~~~\n\n# M\n\n{{ m.size }}\n', {
        'metrics/x.yaml': `metric: x\nlabel: x\nsource: { file: second.csv }\ntime: { column: iso }\nvalue: sum(n)\ntests: [ ${line} ]\n`,
      }),
    )
  for (const line of ['{ unique: day }', "{ accepted: { day: ['01/02/2023'] } }"])
    assert.match(JSON.stringify(await over(line)), /A test of the metric \\"x\\" uses the column \\"day\\"/)
  assert.equal((await over('{ not_null: day }')).status, 'done')
})

test('a check finds the use before a run', async () => {
  for (const file of ['open.csv', 'open.json']) {
    const template = sqlTemplate('select min(day) from s', `sources:\n  s: { file: ${file} }`)
    const faults = await bench.pool.check(
      { kind: 'check', template, roots: bench.roots },
      { workspace_id: 'test' },
    )
    const found = faults.find(({ code }) => code === 'type_ambiguous')
    assert.equal(found?.remedy, 'Write "dates: dmy" or "dates: mdy" in the source.', file)
  }
})

test('a profile tells of the sheets that were not read, and the lineage of the one that was', async () => {
  const look = (line: string) =>
    bench.run(
      templateOf(
        `---\nsources:\n  s: { file: book.xlsx${line} }\n---\n\n\`\`\`analysis a\nmethod: profile\nof: s\n\`\`\`\n\n# A\n\n{{ a.summary }}\n`,
      ),
    )
  const { analyses, markdown } = findingsOf(await look(''))
  const [caveat] = analyses.a!.caveats as { code: string; says: string }[]
  assert.equal(caveat?.code, 'type_ambiguous')
  assert.match(caveat.says, /the first that is not hidden is read: "Now"\. The others are "Then"\./)
  assert.match(markdown, /`book\.xlsx`, sheet `Now`/)
  const declared = findingsOf(await look(', sheet: Then, range: "A:B"'))
  assert.deepEqual(declared.analyses.a!.caveats, [])
  assert.match(declared.markdown, /sheet `Then`, `A:B`/)
  assert.match(JSON.stringify(await look(', sheet: None')), /it has no sheet \\"None\\"/)
})

test('rows that are skipped are a caveat of each analysis of them', async () => {
  const source =
    '---\nsources:\n  s: { file: bad.csv, bad_rows: skip }\n---\n\n```sql q\nselect * from s\n```\n\n```analysis a\nmethod: describe\nof: q\nvalue: b\n```\n\n# A\n\n{{ a.summary }}\n'
  const { markdown, lineage } = findingsOf(await bench.run(templateOf(source)))
  assert.match(markdown, /1 row of "s" with too many or too few values is left out\./)
  assert.equal(lineage.sources[0]!.dialect?.bad_rows, 1)
})

test('an ambiguous date changes no number without a word: the sum of a month is right, or the run stops', async () => {
  const days = (most: number) =>
    fc
      .record({
        y: fc.integer({ min: 2021, max: 2023 }),
        m: fc.integer({ min: 0, max: 11 }),
        d: fc.integer({ min: 1, max: most }),
      })
      .map(({ y, m, d }) => new Date(Date.UTC(y, m, d)))
  const rowsOf = (day: fc.Arbitrary<Date>) =>
    fc.array(fc.tuple(day, fc.integer({ min: 0, max: 999 })), { minLength: 1, maxLength: 12 })
  const rows = fc.oneof(rowsOf(days(12)), rowsOf(days(28)))
  const counted = { right: 0, stopped: 0 }
  await fc.assert(
    fc.asyncProperty(
      rows,
      fc.constantFrom('dmy', 'mdy'),
      fc.constantFrom('/', '-', '.'),
      async (table, order, mark) => {
        const written = (date: Date): string =>
          order
            .split('')
            .map((part) =>
              part === 'd'
                ? date.getUTCDate()
                : part === 'm'
                  ? date.getUTCMonth() + 1
                  : date.getUTCFullYear(),
            )
            .join(mark)
        const text = `day,n\n${table.map(([date, n]) => `${written(date)},${n}`).join('\n')}\n`
        await writeFile(path.join(bench.data, 'random.csv'), text)
        const sql =
          "select date_trunc('month', day)::date as month, sum(n)::bigint as n from s group by 1 order by 1"
        const result = await bench.run(sqlTemplate(sql, 'sources:\n  s: { file: random.csv }'))
        if (result.status === 'failed') {
          assert.match(result.error.detail, /can be read in more than one way/)
          const fits = table.every(([date]) => date.getUTCDate() <= 12)
          assert.ok(fits, `a settled file stops: ${text}`)
          counted.stopped += 1
          return
        }
        const sums = new Map<string, number>()
        for (const [date, n] of table) {
          const month = `${date.toISOString().slice(0, 7)}-01`
          sums.set(month, (sums.get(month) ?? 0) + n)
        }
        assert.deepEqual(
          findingsOf(result).tables.a!.rows,
          [...sums].toSorted(([a], [b]) => (a < b ? -1 : 1)),
          text,
        )
        counted.right += 1
      },
    ),
    { numRuns: 60, seed: 18 },
  )
  assert.ok(counted.right > 5 && counted.stopped > 5, JSON.stringify(counted))
})
