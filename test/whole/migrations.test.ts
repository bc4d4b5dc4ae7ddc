/**
 * Checks that a migration of PostgreSQL only adds, so that nodes of the version before can run beside it
 * (CONTRIBUTING.md). SQLite has one process, so the rule does not apply to it.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { readMigrations } from '../../packages/store/migrate.ts'
import { TABLES_OF_WORKSPACE } from '../../packages/store/nouns/workspaces/erasure.ts'

const FOLDER = path.join(import.meta.dirname, '../..', 'packages', 'store', 'postgres', 'migrations')
/** The mark of a migration that drops what the version before no longer uses. */
const CONTRACT = /^-- contract: \S.{20,}/m

const STRICTER: [RegExp, string][] = [
  [
    /\bDROP (TABLE|COLUMN|VIEW|FUNCTION|PROCEDURE|TYPE|CONSTRAINT|DEFAULT)\b/,
    'takes away what the version before reads',
  ],
  [/\bRENAME (TO|COLUMN|CONSTRAINT)\b|\bRENAME \w+ TO\b/, 'takes away a name that the version before uses'],
  [
    /\bALTER (COLUMN )?\w+ (SET DATA )?TYPE\b/,
    'changes what the version before reads, and rewrites the table',
  ],
  [/\bSET NOT NULL\b/, 'refuses what the version before writes'],
  [/\bADD (CONSTRAINT|CHECK|UNIQUE|FOREIGN|PRIMARY|EXCLUDE)\b/, 'may refuse what the version before writes'],
  [/\bTRUNCATE\b|\bDROP TRIGGER\b|\bDISABLE TRIGGER\b/, 'takes away what the version before relies on'],
]

/** Returns the statements without comments and bodies of functions. */
const statementsOf = (sql: string): string[] =>
  sql
    .replaceAll(/--.*$/gm, '')
    .replaceAll(/\$(\w*)\$[^]*?\$\1\$/g, "''")
    .split(';')
    .map((statement) => statement.replaceAll(/\s+/g, ' ').trim())

/** Returns the changes that break the version before, each as a sentence. */
function breaks(sql: string): string[] {
  if (CONTRACT.test(sql)) return []
  const statements = statementsOf(sql)
  const made = new Set(
    statements.flatMap((one) => /^CREATE TABLE (?:IF NOT EXISTS )?(\w+)/i.exec(one)?.[1] ?? []),
  )
  return statements.flatMap((statement) => {
    const table = /^ALTER TABLE (?:ONLY )?(\w+)|^CREATE UNIQUE INDEX \w+ ON (\w+)/i.exec(statement)
    if (made.has(table?.[1] ?? table?.[2] ?? '')) return []
    const told = STRICTER.flatMap(([form, why]) => (new RegExp(form, 'i').test(statement) ? [why] : []))
    if (/^CREATE UNIQUE INDEX/i.test(statement)) told.push('may refuse what the version before writes')
    for (const column of statement
      .replaceAll(/\([^()]*\)/g, '')
      .split(',')
      .filter((part) => /\bADD COLUMN\b/i.test(part)))
      if (/\bNOT NULL\b/i.test(column) && !/\bDEFAULT\b|\bGENERATED\b/i.test(column))
        told.push('asks for a column that the version before does not write')
    return told.map((why) => `${why}: ${statement}`)
  })
}

test('a migration of PostgreSQL only adds, or says why nothing beside it uses what it takes away', () => {
  const broken = readMigrations(FOLDER)
    .slice(1)
    .flatMap(({ name, sql }) => breaks(sql).map((fault) => `${name} ${fault}`))
  assert.deepEqual(broken, [])
})

test('the check sees what would stop the version before, and lets pass what would not', () => {
  const refused = [
    'ALTER TABLE jobs DROP COLUMN note;',
    'ALTER TABLE jobs RENAME COLUMN note TO remark;',
    'ALTER TABLE jobs ALTER COLUMN note TYPE integer;',
    'ALTER TABLE jobs ALTER COLUMN note SET NOT NULL;',
    'ALTER TABLE jobs ADD COLUMN note text COLLATE "C" NOT NULL;',
    'ALTER TABLE jobs ADD COLUMN a text, ADD COLUMN b numeric(9, 2) NOT NULL;',
    'ALTER TABLE jobs ADD CONSTRAINT small CHECK (priority < 3);',
    'CREATE UNIQUE INDEX one ON jobs (batch_id);',
    'DROP TABLE links;',
    '-- contract: no\nDROP TABLE links;',
  ]
  for (const sql of refused) assert.equal(breaks(sql).length, 1, sql)
  const allowed = [
    "ALTER TABLE jobs ADD COLUMN note text NOT NULL DEFAULT '';",
    'ALTER TABLE jobs ADD COLUMN a text, ADD COLUMN b numeric(9, 2);',
    'CREATE TABLE notes (note text NOT NULL); CREATE UNIQUE INDEX one ON notes (note);',
    'DROP INDEX jobs_old; CREATE INDEX jobs_new ON jobs (created_at);',
    'CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ BEGIN DROP TABLE x; END $$;',
    '-- contract: the version before, 1.4, was the first that does not read it\nDROP TABLE links;',
  ]
  for (const sql of allowed) assert.deepEqual(breaks(sql), [], sql)
})

/** Rows that are deleted with a job, a webhook, an insight or a collection. The audit trail outlives its workspace. */
const GO_WITH_OTHERS = [
  'audit',
  'collection_links',
  'deliveries',
  'insight_cards',
  'insights',
  'jobs',
  'links',
  'recoveries',
  'webhook_events',
  'webhook_follows',
  'workspaces',
]

test('the deletion of a workspace knows every table that names one', () => {
  for (const kind of ['sqlite', 'postgres']) {
    const schema = readFileSync(path.join(FOLDER, '..', '..', kind, 'schema.sql'), 'utf8')
    const tables = [...schema.matchAll(/^CREATE TABLE (\w+) \(([^;]*);/gm)]
      .filter(([, , columns]) => /\bworkspace_id\b/.test(columns!))
      .map(([, table]) => table!)
    const known = [...TABLES_OF_WORKSPACE.map(({ name }) => name), ...GO_WITH_OTHERS]
    const unknown = tables.filter((table) => !known.includes(table))
    assert.deepEqual(unknown, [], kind)
  }
})
