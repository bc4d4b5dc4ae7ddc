/** The short form of `npm run proof -- guard`, and the statements that must pass. */
import assert from 'node:assert/strict'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, test } from 'node:test'
import { createCatalog } from '@assay/engine/reading/catalog'
import { templatesFolder } from '@assay/engine/reading/samples'
import { openEngine, readTable } from '../../packages/engine/duckdb/duckdb.ts'
import { ESCAPES } from '../../packages/engine/fence/sql-escapes-fixture.ts'
import { createGuard } from '../../packages/engine/fence/sql-guard.ts'
import { bindSql } from '../../packages/engine/language/sql-clauses.ts'
import { outcomeTables } from '../../packages/engine/run/outcome-tables.ts'
import { FORMS } from '../../proofs/guard/forms.ts'
import { SOURCES } from '../../proofs/guard/grammar.ts'
import { Oracle } from '../../proofs/guard/oracle.ts'
import { inProcesses } from '../../proofs/guard/processes.ts'
import { type GuardReport, together } from '../../proofs/guard/report.ts'
import { TPCH_QUERIES, TPCH_TABLES } from '../../proofs/guard/tpch.ts'
import { tryGuard } from '../../proofs/guard/try.ts'

const oracle = await Oracle.open(await mkdtemp(path.join(tmpdir(), 'assay-oracle-')))
const guard = createGuard(oracle.engine)
after(() => oracle.close())

test('of 1,500 random statements none that touches more than its sources passes the guard', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'assay-guard-'))
  const report = await tryGuard({ seed: 15, from: 0, to: 1_500 }, folder)
  assert.deepEqual(report.holes, [])
  assert.ok(report.passed > 300, `only ${report.passed} statements pass`)
  assert.ok(report.ran > 75, `only ${report.ran} statements run`)
})

test('a statement that ends its process is named and left out of its stretch, which goes on', async () => {
  const told: GuardReport[] = []
  const program = path.join(import.meta.dirname, 'guard-crash-fixture.ts')
  await inProcesses({ seed: 3, from: 0, to: 2_000, processes: 1 }, (part) => told.push(part) > 0, program)
  const { statements, ended } = told.reduce(together)
  assert.equal(statements, 2_000, 'each statement is tried or named, and none twice')
  assert.deepEqual(ended, [
    'Statement 1200 ended its process (SIGSEGV) when it ran: "select crash"',
    'Statement 1700 ended its process (code 134) when the guard read it: "select crash"',
  ])
})

test('the oracle sees what a statement touches, by each of its ways', async () => {
  const seen: [string, RegExp][] = [
    ['select count(*) from duckdb_views', /scans duckdb_views/],
    [
      'with recursive duckdb_tables as (from duckdb_tables union all from duckdb_tables) from duckdb_tables',
      /duckdb_tables/,
    ],
    ['from canary', /scans memory.main.canary/],
    ['from flights, other.canary', /scans other.main.canary/],
    [`from '${oracle.outside.files[0]!}'`, /opens a file/],
    ["select * from read_text('/etc/passwd')", /opens a file/],
    ['select random()', /calls random/],
    ['select (select current_timestamp) from flights', /calls/],
    ["select getvariable('canary')", /Two worlds/],
    ["select current_setting('temp_directory')", /Two worlds/],
    ["select 'bb'::canary_type", /Two worlds/],
    ['select canary_macro(1)', /Two worlds/],
  ]
  for (const [sql, why] of seen) assert.match((await oracle.touches(sql)).outside.join(' '), why, sql)
  const reads = await oracle.touches(
    'with f as (from flights) select * from f join "Airports" on origin = code',
  )
  assert.deepEqual(
    [reads.outside, new Set(reads.sources), reads.bound],
    [[], new Set(['flights', 'Airports']), true],
  )
})

test('most known ways out that read are also seen by the oracle, so that neither depends on the other', async () => {
  const reading = [...ESCAPES.Files!, ...ESCAPES['What is hidden, and what would stop the process']!].filter(
    (sql) => !/sleep|enable_|flights/.test(sql),
  )
  let seen = 0
  for (const sql of reading) seen += (await oracle.touches(sql)).outside.length > 0 ? 1 : 0
  assert.ok(seen > 0.5 * reading.length, `${seen} of ${reading.length}`)
})

test('the forms of queries that DuckDB documents pass and run', async () => {
  for (const [page, statements] of Object.entries(FORMS)) {
    for (const sql of statements) {
      const verdict = await guard.judge(sql, Object.keys(SOURCES))
      assert.ok(verdict.ok, `${page}: ${sql}: ${JSON.stringify(verdict)}`)
      await readTable(oracle.engine, sql, {}, 10)
    }
  }
})

test('the 22 queries of TPC-H pass and run', async () => {
  const engine = await openEngine()
  for (const [name, columns] of Object.entries(TPCH_TABLES))
    await engine.connection.run(`create table ${name} (${columns})`)
  assert.equal(TPCH_QUERIES.length, 22)
  for (const [index, sql] of TPCH_QUERIES.entries()) {
    const verdict = await createGuard(engine).judge(sql, Object.keys(TPCH_TABLES))
    assert.ok(verdict.ok, `query ${index + 1}: ${JSON.stringify(verdict)}`)
    await readTable(engine, sql, {}, 10)
  }
  engine.close()
})

test('each SQL block of the shipped templates passes, with its optional clauses and without', async () => {
  let blocks = 0
  for (const { template } of createCatalog({ shipped: templatesFolder, folders: [] }).list()) {
    const names = template.sources.map(({ name }) => name)
    const columnVars = template.variables.filter(({ type }) => type === 'column').map(({ name }) => name)
    for (const block of template.blocks) {
      if (block.kind === 'sql') {
        for (const value of ['a', null]) {
          const vars = Object.fromEntries(
            template.variables.map(({ name }) => [name, columnVars.includes(name) ? 'a' : value]),
          )
          const verdict = await guard.judge(bindSql(block.sql, { vars, columnVars }).sql, names)
          assert.ok(verdict.ok, `${template.template_id}, ${block.name}: ${JSON.stringify(verdict)}`)
        }
        blocks += 1
      }
      if (block.kind === 'analysis')
        names.push(...outcomeTables(block, { template, vars: {}, columns: null }).map(({ name }) => name))
      names.push(block.name)
    }
  }
  assert.ok(blocks > 40, `${blocks} blocks`)
})
