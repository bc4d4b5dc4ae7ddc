/**
 * Compares row rules with PostgreSQL's row-level security over the same rows: random readers, each with a random
 * rule, run through the pool of the service. No reader may see a row that the policy hides, and none may miss one
 * that it shows. `--readers N` (10,000).
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { Client } from 'pg'
import { templateVersion } from '../packages/engine/reading/partials.ts'
import { createPool, type Pool } from '../packages/engine/run/pool/pool.ts'
import { DEFAULT_LIMITS, type TemplateSource } from '../packages/model/template.ts'
import { startPostgres } from '../test/servers/postgres.ts'
import { type Random, randomFrom } from './calibration/processes.ts'
import type { Proof } from './main.ts'
import {
  asPolicy,
  asRule,
  COLUMNS,
  type Person,
  type Row,
  randomPerson,
  randomRow,
  randomRule,
} from './personal-rows/random-rules.ts'

const ROWS = 120
const STARTED_AT = '2026-01-15T12:00:00.000Z'

function templateFor(rule: string): TemplateSource {
  const source = `---\nsources:\n  rows_of_all: { file: rows.ndjson, rows: ${JSON.stringify(rule)} }\n---\n\n\`\`\`sql seen\nselect id from rows_of_all order by id\n\`\`\`\n\n# Rows\n\n{{ seen.size }}\n`
  return { template_id: 'rows', version: templateVersion(source, {}), source, partials: {} }
}

async function seenHere(pool: Pool, data: string, rule: string, reader: Person): Promise<number[]> {
  const result = await pool.run(
    {
      kind: 'run',
      template: templateFor(rule),
      variables: {},
      started_at: STARTED_AT,
      roots: { sample: {}, data },
      reader,
    },
    { workspace_id: 'proof' },
  )
  if (result.status !== 'done') throw new Error(`${rule}: ${JSON.stringify(result)}`)
  return result.findings.tables.seen!.rows.map(([id]) => Number(id))
}

/** Returns the rows that the policy shows to a role that owns nothing. */
async function seenThere(client: Client, policy: string, reader: Person): Promise<number[]> {
  await client.query('reset role')
  await client.query('drop policy if exists seen on rows_of_all')
  await client.query(`create policy seen on rows_of_all using (${policy})`)
  await client.query('set role reader')
  for (const [name, value] of Object.entries(reader))
    await client.query('select set_config($1, $2, false)', [
      `reader.${name}`,
      Array.isArray(value) ? JSON.stringify(value) : String(value),
    ])
  const { rows } = await client.query<{ id: number }>('select id from rows_of_all order by id')
  return rows.map(({ id }) => id)
}

async function fill(client: Client, rows: readonly Row[]): Promise<void> {
  await client.query(
    `create table rows_of_all (id integer, ${COLUMNS.map(({ name, type }) => `${name} ${type}`).join(', ')})`,
  )
  for (const [id, row] of rows.entries()) {
    const values = COLUMNS.map(({ name }) => row[name] ?? null)
    await client.query(
      `insert into rows_of_all values ($1, ${values.map((_, at) => `$${at + 2}`).join(', ')})`,
      [id, ...values],
    )
  }
  await client.query('create role reader nologin')
  await client.query('grant select on rows_of_all to reader')
  await client.query('alter table rows_of_all enable row level security')
}

export interface Compared {
  readers: number
  foreign: number
  missing: number
  /** The readers who see some rows and not all. */
  between: number
  violations: string[]
}

/** Compares readers. `onSome`: called after each 500 readers. */
export async function compareReaders(
  seed: number,
  readers: number,
  onSome: (done: number, found: Compared) => void = () => undefined,
): Promise<Compared> {
  const random: Random = randomFrom(seed)
  const rows = Array.from({ length: ROWS }, () => randomRow(random))
  const postgres = await startPostgres()
  const folder = await mkdtemp(path.join(tmpdir(), 'assay-rows-'))
  const pool = createPool({ size: 1, caps: { ...DEFAULT_LIMITS, rows: 100_000 }, tempRoot: folder })
  const client = new Client(await postgres.createDatabase('rows'))
  const found: Compared = { readers, foreign: 0, missing: 0, between: 0, violations: [] }
  try {
    await client.connect()
    await fill(client, rows)
    await writeFile(
      path.join(folder, 'rows.ndjson'),
      rows.map((row, id) => `${JSON.stringify({ id, ...row })}\n`).join(''),
    )
    for (let index = 0; index < readers; index++) {
      const reader = randomPerson(random, index)
      const rule = randomRule(random)
      const here = new Set(await seenHere(pool, folder, asRule(rule), reader))
      const there = new Set(await seenThere(client, asPolicy(rule), reader))
      const foreign = here.difference(there).size
      const missing = there.difference(here).size
      found.foreign += foreign
      found.missing += missing
      if (there.size > 0 && there.size < ROWS) found.between += 1
      if ((index + 1) % 500 === 0) onSome(index + 1, found)
      if (foreign + missing > 0)
        found.violations.push(
          `${asRule(rule)} for ${JSON.stringify(reader)}: ${foreign} foreign rows, ${missing} missing ones.`,
        )
    }
  } finally {
    await client.end()
    await pool.stop()
    await postgres.stop()
    await rm(folder, { recursive: true, force: true })
  }
  return found
}

export const proof: Proof = {
  summary: 'row rules beside the row-level security of PostgreSQL: --readers N (10,000)',
  async run({ seed, number, log }) {
    const { readers, foreign, missing, between, violations } = await compareReaders(
      seed,
      number('readers', 10_000),
      (done, found) => log(`${done} readers: ${found.foreign} foreign rows, ${found.missing} missing rows`),
    )
    log(
      `${readers} readers, ${between} of whom see some rows and not all: ${foreign} foreign rows, ${missing} missing rows`,
    )
    return violations.slice(0, 20)
  },
}
