/** Reads one kept day again, and tells whether the database still gives the same bits. */

import type { OpenConnection } from '@assay/model/connection'
import { addDays } from '@assay/model/dates'
import { DEFAULT_LIMITS } from '@assay/model/template'
import { type Engine, spillOf } from '../duckdb/duckdb.ts'
import type { BoundQuery } from '../language/remote-query.ts'
import { Answers } from '../sources/answers.ts'
import { kindOf } from '../sources/kinds.ts'
import type { Roots } from '../sources/roots.ts'
import type { Acquire } from '../sources/source.ts'
import type { Answer } from '../sufficient/ask.ts'
import { openFrom } from './days.ts'
import type { AuditedDay, Recipe } from './keeper.ts'
import { FROM, UNTIL } from './partition-sql.ts'
import { rowsOf, textOf } from './statistics.ts'

export interface AuditOptions {
  roots: Roots
  acquire: Acquire
  signal: AbortSignal
  temp_folder: string
}

/**
 * Compares the day with its kept rows. A day in which rows were marked since is no fault, because the next run reads it
 * again. Rejects with SourceError if the database gives no answer.
 */
export async function auditDay(
  engine: Engine,
  { recipe, day, kept, looked_at }: AuditedDay,
  options: AuditOptions,
): Promise<boolean> {
  const { acquire, signal } = options
  const { connection, release } = await acquire(recipe.connection, signal)
  const ask = (query: BoundQuery, values: Record<string, string>) =>
    answersOf(engine, { recipe, query, values, connection }, options)
  try {
    const answers = await ask(recipe.query, { [FROM]: day, [UNTIL]: addDays(day, 1) })
    if (JSON.stringify(rowsOf(answers, recipe.shape)) === kept) return true
    if (recipe.changed === null) return false
    const marked = await ask(recipe.changed, { [FROM]: openFrom(looked_at, recipe.zone, recipe.rules) })
    return marked.some((row) => textOf(row.day ?? null).startsWith(day))
  } finally {
    release()
  }
}

async function answersOf(
  engine: Engine,
  {
    recipe,
    query,
    values,
    connection,
  }: { recipe: Recipe; query: BoundQuery; values: Record<string, string>; connection: OpenConnection },
  { roots, signal, temp_folder }: AuditOptions,
): Promise<Answer[]> {
  const timeout_ms = connection.limits.timeout_seconds * 1000
  const parameters = query.parameters.map((one) => ({ ...one, value: values[one.name] ?? one.value }))
  const options = {
    connection,
    query: { sql: query.sql, parameters },
    time_zone: recipe.zone,
    cut: recipe.cut,
    roots,
    timeout_ms,
    signal: AbortSignal.any([signal, AbortSignal.timeout(timeout_ms)]),
    temp_folder,
    peek: false,
  }
  const reader = await (await kindOf(connection.kind)).open(options)
  try {
    const room = { temp_folder, spill_bytes: spillOf(DEFAULT_LIMITS.memory_bytes) }
    return await new Answers(engine, { name: recipe.source, room }).of(reader, options)
  } finally {
    await reader.close()
  }
}
