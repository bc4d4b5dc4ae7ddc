/** Compares the descriptions of the tables with what the migrations of both databases make. */
import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { after, before, suite, test } from 'node:test'
import { missingPostgres, type Postgres, startPostgres } from '../../../test/servers/postgres.ts'
import { withClient } from '../postgres/postgres-fixture.ts'
import { migratePostgres } from '../postgres/schema.ts'
import { migrateSqlite } from '../sqlite/schema.ts'
import type { Kind } from '../statement.ts'
import { TABLES } from './all.ts'

const missing = await missingPostgres()
const DATABASE = `assay_tables_${process.pid}`

const TYPES: Record<'sqlite' | 'postgres', Record<Kind, readonly string[]>> = {
  sqlite: {
    text: ['TEXT'],
    integer: ['INTEGER'],
    bigint: ['INTEGER'],
    real: ['REAL'],
    boolean: ['INTEGER'],
    time: ['TEXT'],
    json: ['TEXT'],
  },
  postgres: {
    text: ['text'],
    integer: ['integer'],
    bigint: ['bigint'],
    real: ['double precision'],
    boolean: ['boolean'],
    time: ['timestamp(3) with time zone'],
    json: ['json'],
  },
}

interface Made {
  table_name: string
  name: string
  type: string
  nullable: boolean
}

async function madeBySqlite(): Promise<Made[]> {
  const db = new DatabaseSync(':memory:')
  await migrateSqlite(db)
  const rows = db
    .prepare(
      `SELECT tables.name AS table_name, columns.name, columns.type, columns."notnull" = 0 AND pk = 0 AS nullable
       FROM sqlite_schema AS tables, pragma_table_info(tables.name) AS columns
       WHERE tables.type = 'table' AND tables.name NOT LIKE 'sqlite_%'`,
    )
    .all()
  db.close()
  return rows.map((row) => ({ ...(row as unknown as Made), nullable: row.nullable === 1 }))
}

function madeByPostgres(url: string): Promise<Made[]> {
  return withClient(url, async (client) => {
    const { rows } = await client.query<Made>(
      `SELECT table_name, column_name AS name, is_nullable = 'YES' AS nullable,
         replace(data_type, 'timestamp', 'timestamp(' || datetime_precision || ')') AS type
       FROM information_schema.columns WHERE table_schema = 'public' AND datetime_precision IS NOT NULL
       -- What the database computes of other columns is not described: nothing writes or copies it.
       UNION ALL
       SELECT table_name, column_name, is_nullable = 'YES', data_type
       FROM information_schema.columns WHERE table_schema = 'public' AND datetime_precision IS NULL AND is_generated = 'NEVER'`,
    )
    return rows
  })
}

/** Returns the differences between the descriptions and what the migrations have made. */
function faults(database: 'sqlite' | 'postgres', made: Made[]): string[] {
  const other = database === 'sqlite' ? 'postgres' : 'sqlite'
  const tables = Map.groupBy(made, ({ table_name }) => table_name)
  tables.delete('migrations')
  return [
    ...[...tables.keys()].filter((name) => !TABLES.some((table) => table.name === name)),
    ...TABLES.flatMap((table) => {
      const columns = new Map(tables.get(table.name)?.map((column) => [column.name, column]))
      const own = table.columns.filter((name: string) => !table.only[other]?.includes(name))
      const unknown = [...columns.keys()].filter((name) => !own.some((column) => column === name))
      return [
        ...unknown.map((name) => `${table.name}.${name} is not described`),
        ...own.flatMap((name: string) => {
          const column = columns.get(name)
          if (!column) return [`${table.name}.${name} is not there`]
          const isOfKind = TYPES[database][table.kinds[name]!].includes(column.type)
          const isNullable = table.nullable.has(name)
          return [
            ...(isOfKind ? [] : [`${table.name}.${name} is ${column.type}`]),
            ...(column.nullable === isNullable ? [] : [`${table.name}.${name} may be null: wrong`]),
          ]
        }),
      ]
    }),
  ]
}

test('each table and column of SQLite is described, with its kind and whether it may be null', async () => {
  const made = await madeBySqlite()
  assert.ok(made.length > 150, `${made.length} columns`)
  assert.deepEqual(faults('sqlite', made), [])
})

suite('PostgreSQL', { skip: missing ?? false }, () => {
  let postgres: Postgres
  let url: string

  before(async () => {
    postgres = await startPostgres()
    url = await postgres.createDatabase(DATABASE)
    await migratePostgres(url)
  })
  after(async () => {
    await postgres.dropDatabase(DATABASE)
    await postgres.stop()
  })

  test('each table and column of PostgreSQL is described, with its kind and whether it may be null', async () => {
    const made = await madeByPostgres(url)
    assert.ok(made.length > 150, `${made.length} columns`)
    assert.deepEqual(faults('postgres', made), [])
  })
})
