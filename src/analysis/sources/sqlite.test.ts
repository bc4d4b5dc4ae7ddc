import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { suite } from 'node:test'
import { CONNECTION_LIMITS } from '../../connection.ts'
import { kindConformance, type Server, type TypeCase } from './conformance.ts'

async function start(folder: string): Promise<Server> {
  const database = new DatabaseSync(path.join(folder, 'shop.db'))
  const columns = TYPES.map(
    ({ type, sql }, index) => [`c${index} ${/^an? /.test(type) ? '' : type}`, sql] as const,
  )
  database.exec(`create table kinds (${columns.map(([column]) => column).join(', ')})`)
  database.exec(`insert into kinds values (${columns.map(([, sql]) => sql).join(', ')})`)
  return {
    connection: {
      name: 'remote',
      kind: 'sqlite',
      options: { file: 'shop.db' },
      secrets: {},
      limits: { ...CONNECTION_LIMITS, timeout_seconds: 60 },
      targets: [],
    },
    execute: async (sql) => database.exec(sql),
    running: () => null,
    close: async () => database.close(),
  }
}

const TYPES: TypeCase[] = [
  { type: 'integer', sql: '9223372036854775807', comes: 'BIGINT', cell: '9223372036854775807' },
  { type: 'real', sql: '0.1', comes: 'DOUBLE', cell: 0.1 },
  { type: 'text', sql: "'é'", comes: 'VARCHAR', cell: 'é' },
  { type: 'varchar(3)', sql: "'a'", comes: 'VARCHAR', cell: 'a' },
  { type: 'blob', sql: "x'00ff41'", comes: 'BLOB', cell: String.raw`\x00\xFFA` },
  { type: 'boolean', sql: '1', comes: 'BOOLEAN', cell: true },
  { type: 'date', sql: "'2024-02-29'", comes: 'DATE', cell: '2024-02-29' },
  { type: 'datetime', sql: "'2024-02-29 10:00:00.5'", comes: 'TIMESTAMP', cell: '2024-02-29T10:00:00.5' },
  { type: 'timestamp', sql: '1709200800', comes: 'TIMESTAMP', cell: '2024-02-29T10:00:00' },
  { type: 'decimal(10,2)', sql: '12.5', comes: 'DECIMAL(38,1)', cell: '12.5' },
  { type: 'json', sql: `'{"a":1}'`, comes: 'JSON', cell: '{"a":1}' },
  { type: 'an expression of integers', sql: '1', comes: 'BIGINT', cell: 1 },
  { type: 'an expression of reals', sql: '1.5', comes: 'DOUBLE', cell: 1.5 },
  { type: 'an expression of texts', sql: "'x'", comes: 'VARCHAR', cell: 'x' },
]

suite('SQLite files as sources', () => {
  kindConformance({
    title: 'SQLite',
    start,
    types: TYPES.map((one, index) => ({ ...one, sql: `kinds.c${index}` })),
    from: 'kinds',
    series: (count, length) =>
      `with recursive s(n) as (select 1 union all select n + 1 from s where n < ${count})
       select n, printf('%.${length}c', 'x') as t from s`,
    slow: null,
    writes: [
      'insert into items values (2)',
      'insert into items values (2) returning a',
      'delete from items returning a',
      'with x as (select 1) delete from items returning a',
      'create table more (a integer)',
      "attach database '/etc/passwd' as other",
      "vacuum into '/tmp/assay-should-not-be-here.db'",
      'pragma writable_schema = 1',
    ],
    parameters: 'select $number as n, $text as t, $day as d, $flag as f, 2 in ($numbers) as x',
  })
})
