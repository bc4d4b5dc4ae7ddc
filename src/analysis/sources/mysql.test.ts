import { suite } from 'node:test'
import mysql from 'mysql2'
import { missingMysql, mysqlUrl } from '../../../test/mariadb.ts'
import { CONNECTION_LIMITS } from '../../connection.ts'
import { kindConformance, type Server, type TypeCase } from './conformance.ts'

const missing = missingMysql()

/** Of a user who may write there, so that it is the session that refuses. */
const PASSWORD = 'correct-horse-battery-staple'

async function start(): Promise<Server> {
  const url = mysqlUrl()
  const connection = mysql
    .createConnection({
      host: url.hostname,
      port: Number(url.port || 3306),
      user: decodeURIComponent(url.username),
      password: decodeURIComponent(url.password),
      database: url.pathname.slice(1),
    })
    .promise()
  await connection.query('drop table if exists kinds')
  // Also where a nameless user of localhost would be taken for it.
  for (const host of ['%', 'localhost']) {
    await connection.query(`create or replace user assay_source@'${host}' identified by '${PASSWORD}'`)
    await connection.query(`grant all on ${url.pathname.slice(1)}.* to assay_source@'${host}'`)
  }
  const columns = TYPES.map(({ type }, index) => `c${index} ${type}`)
  await connection.query(`create table kinds (${columns.join(', ')})`)
  await connection.query("set time_zone = '+00:00'")
  await connection.query(`insert into kinds values (${TYPES.map(({ sql }) => sql).join(', ')})`)
  return {
    connection: {
      name: 'remote',
      kind: 'mysql',
      options: {
        host: url.hostname,
        port: Number(url.port || 3306),
        database: url.pathname.slice(1),
        user: 'assay_source',
        tls: 'off',
      },
      secrets: { password: PASSWORD },
      limits: { ...CONNECTION_LIMITS, timeout_seconds: 60 },
      targets: ['loopback'],
    },
    async execute(sql) {
      await connection.query(sql)
    },
    async running() {
      const [rows] = await connection.query(
        "select count(*) as n from information_schema.processlist where command = 'Execute' and db = database()",
      )
      return (rows as { n: number }[])[0]!.n
    },
    async close() {
      await connection.query('drop table if exists kinds')
      await connection.query('drop table if exists items')
      await connection.query("drop user if exists assay_source@'%', assay_source@'localhost'")
      await connection.end()
    },
  }
}

const TYPES: TypeCase[] = [
  { type: 'tinyint', sql: '-128', comes: 'TINYINT', cell: -128 },
  { type: 'boolean', sql: 'true', comes: 'TINYINT', cell: 1 },
  { type: 'smallint unsigned', sql: '65535', comes: 'USMALLINT', cell: 65535 },
  { type: 'mediumint', sql: '-8388608', comes: 'INTEGER', cell: -8388608 },
  { type: 'int', sql: '2147483647', comes: 'INTEGER', cell: 2147483647 },
  { type: 'bigint', sql: '-9223372036854775808', comes: 'BIGINT', cell: '-9223372036854775808' },
  { type: 'bigint unsigned', sql: '18446744073709551615', comes: 'UBIGINT', cell: '18446744073709551615' },
  { type: 'float', sql: '0.1', comes: 'FLOAT', cell: 0.1 },
  { type: 'double', sql: '0.1', comes: 'DOUBLE', cell: 0.1 },
  {
    type: 'decimal(38,10)',
    sql: "'1234567890123456789012345678.0123456789'",
    comes: 'DECIMAL(38,10)',
    cell: '1234567890123456789012345678.0123456789',
  },
  { type: 'decimal(5,2) unsigned', sql: "'0.05'", comes: 'DECIMAL(5,2)', cell: '0.05' },
  {
    type: 'decimal(60,4)',
    sql: "'12345678901234567890.1234'",
    comes: 'DECIMAL(38,4)',
    cell: '12345678901234567890.1234',
  },
  { type: 'bit(9)', sql: "b'100000001'", comes: 'UBIGINT', cell: 257 },
  { type: 'char(3)', sql: "'a'", comes: 'VARCHAR', cell: 'a' },
  { type: 'varchar(9) character set utf8mb4', sql: "'é'", comes: 'VARCHAR', cell: 'é' },
  { type: 'longtext character set utf8mb4', sql: "'long'", comes: 'VARCHAR', cell: 'long' },
  { type: 'binary(2)', sql: "x'00ff'", comes: 'BLOB', cell: String.raw`\x00\xFF` },
  { type: 'blob', sql: "x'00ff41'", comes: 'BLOB', cell: String.raw`\x00\xFFA` },
  { type: 'date', sql: "'2024-02-29'", comes: 'DATE', cell: '2024-02-29' },
  {
    type: 'datetime(6)',
    sql: "'2024-02-29 10:00:00.000001'",
    comes: 'TIMESTAMP',
    cell: '2024-02-29T10:00:00.000001',
  },
  {
    type: 'timestamp(3) null',
    sql: "'2024-02-29 10:00:00.5'",
    comes: 'TIMESTAMP WITH TIME ZONE',
    cell: '2024-02-29T10:00:00.5Z',
  },
  { type: 'time(6)', sql: "'23:59:59.123456'", comes: 'TIME', cell: '23:59:59.123456' },
  { type: 'year', sql: '2024', comes: 'USMALLINT', cell: 2024 },
  { type: "enum('sad', 'happy')", sql: "'happy'", comes: 'VARCHAR', cell: 'happy' },
  { type: "set('a', 'b')", sql: "'a,b'", comes: 'VARCHAR', cell: 'a,b' },
]

suite('MySQL and MariaDB as sources', { skip: missing ?? false }, () => {
  kindConformance({
    title: 'MySQL and MariaDB',
    start,
    types: TYPES.map((one, index) => ({ ...one, sql: `kinds.c${index}` })),
    from: 'kinds',
    series: (count, length) => `select seq as n, repeat('x', ${length}) as t from seq_1_to_${count}`,
    slow: 'select sleep(60) as s',
    writes: [
      'insert into items values (2)',
      'insert into items values (2) returning a',
      'delete from items returning a',
      'create table more (a integer)',
      'set session transaction read write',
      'commit',
      'select 1; delete from items',
      "select 1 into outfile '/tmp/assay-should-not-be-here'",
    ],
    parameters:
      'select cast($number as signed) as n, $text as t, cast($day as date) as d, $flag as f, 2 in ($numbers) as x',
  })
})
