/** The descriptions of the tables are what the migrations of both databases make. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import type { Kind } from '../statement.ts'
import { TABLES } from './all.ts'

const KINDS: Record<'sqlite' | 'postgres', Record<Kind, RegExp>> = {
  sqlite: {
    text: /^TEXT/,
    integer: /^INTEGER/,
    bigint: /^INTEGER/,
    real: /^REAL/,
    boolean: /^INTEGER/,
    time: /^TEXT/,
    json: /^TEXT/,
  },
  postgres: {
    text: /^(text|xid8)/,
    integer: /^integer/,
    bigint: /^bigint/,
    real: /^double precision/,
    boolean: /^boolean/,
    time: /^timestamp\(3\) with time zone/,
    json: /^json\b/,
  },
}

interface Made {
  type: string
  isNullable: boolean
}

/** Table by table as schema.sql has them, which other tests hold to the migrations. */
function madeTables(database: 'sqlite' | 'postgres'): Map<string, Map<string, Made>> {
  const schema = readFileSync(path.join(import.meta.dirname, '..', database, 'schema.sql'), 'utf8')
  const tables = [...schema.matchAll(/^CREATE TABLE (\w+) \(\n([^;]*)\n\)/gm)].map(([, name, body]) => {
    const columns = body!
      .split(/,\n/)
      .map((line) => /^\s*"?([a-z_]+)"? (.*)$/.exec(line))
      .filter((column) => column !== null)
      .map(([, column, type]): [string, Made] => [
        column!,
        { type: type!, isNullable: !/NOT NULL|PRIMARY KEY/.test(type!) },
      ])
    return [name!, new Map(columns)] as const
  })
  return new Map(tables)
}

for (const database of ['sqlite', 'postgres'] as const) {
  const made = madeTables(database)

  test(`every table of ${database} but that of the migrations is described`, () => {
    const described = TABLES.map(({ name }) => name)
    assert.deepEqual(
      described.toSorted(),
      [...made.keys()].filter((name) => name !== 'migrations').toSorted(),
    )
  })

  test(`the columns of ${database} are the ones described, with their kinds and whether they may be null`, () => {
    const other = database === 'sqlite' ? 'postgres' : 'sqlite'
    const faults = TABLES.flatMap((table) => {
      const columns = made.get(table.name)!
      const own = table.columns.filter((name: string) => !table.only[other]?.includes(name))
      const lacking = [...columns.keys()].filter((name) => !own.some((column) => column === name))
      return [
        ...lacking.map((name) => `${table.name}.${name} is not described`),
        ...own.flatMap((name: string) => {
          const column = columns.get(name)
          if (!column) return [`${table.name}.${name} is not there`]
          const kind = table.kinds[name]!
          return [
            ...(KINDS[database][kind].test(column.type) ? [] : [`${table.name}.${name} is ${column.type}`]),
            ...(column.isNullable === table.nullable.has(name)
              ? []
              : [`${table.name}.${name} may be null: wrong`]),
          ]
        }),
      ]
    })
    assert.deepEqual(faults, [])
  })
}
