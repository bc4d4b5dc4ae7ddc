/**
 * Applies row rules of sources. A source with a rule is filtered before anything else can read it: its relation is
 * replaced by a table of the rows that its reader may see, and its files cannot be opened any more. The findings of
 * the reading, and the reason of a failure, may hold values of other rows, so neither is shown.
 */
import type { ColumnDoubt, FoundColumn, FoundDialect } from '@assay/model/dialect'
import type { Reader as Person } from '@assay/model/reader'
import type { Source } from '@assay/model/template'
import { rowFaults } from '../checking/blocks.ts'
import { type Engine, execute, identifier, literal, readTable } from '../duckdb/duckdb.ts'
import { engineFailure } from '../duckdb/engine-error.ts'
import { TemplateFault } from '../language/fault.ts'
import { classesOf, conditionFor } from '../personal/condition.ts'
import { engineCondition } from '../personal/condition-sql.ts'
import { NoRoom } from './room.ts'
import { type Attached, SourceError, Stopped } from './source.ts'

/** The name of the relation of all rows while they are chosen. No template can write it. */
const CHOSEN = 'rows of the reader'

/**
 * Filters an attached source that has a rule. If `reader` is null, only the columns are learned and no row is kept.
 * Throws TemplateFault if the rule does not fit the columns, and UnfitReader if an attribute of the reader does not.
 */
export async function withRule(
  engine: Engine,
  source: Source,
  attached: Attached,
  reader: Person | null,
): Promise<Attached> {
  const { rows: rule, name } = source
  if (!rule) return attached
  const [fault] = rowFaults(source, attached.columns)
  if (fault && reader) throw new TemplateFault(fault)
  const condition = reader
    ? engineCondition(conditionFor(rule, reader, classesOf(attached.columns)))
    : 'false'
  const table = identifier(name)
  const kept = identifier(CHOSEN)
  await execute(engine, `create table ${kept} as select * from ${table} where ${condition}`)
  // A file that changed while it was read would give a mix of old and new rows.
  await attached.verify()
  await execute(engine, `drop ${await kindOf(engine, name)} ${table}`)
  await execute(engine, `alter table ${kept} rename to ${table}`)
  const { rows } = await readTable(engine, `select count(*) from ${table}`, {}, 1)
  const { dialect, readings, remote, ...lineage } = attached.lineage
  return {
    columns: attached.columns,
    lineage: {
      ...lineage,
      rows: reader ? Number(rows[0]![0]) : null,
      rule: rule.text,
      ...(dialect ? { dialect: withoutValues(dialect) } : {}),
      ...(readings ? { readings: readings.map(withoutSample) } : {}),
      // The bytes of all rows and the elapsed time would reveal the rows of others.
      ...(remote ? { remote: { ...remote, bytes: 0, elapsed_ms: 0 } } : {}),
    },
    readings: (attached.readings ?? []).map(withoutSample),
    paths: [],
    verify: () => Promise.resolve(),
  }
}

async function kindOf(engine: Engine, name: string): Promise<'view' | 'table'> {
  const sql = `select count(*) from duckdb_views() where view_name = ${literal(name)} and not internal`
  const { rows } = await readTable(engine, sql, {}, 1)
  return Number(rows[0]![0]) > 0 ? 'view' : 'table'
}

function withoutValues(dialect: FoundDialect): FoundDialect {
  return { ...dialect, columns: dialect.columns.map(withoutSample) }
}

function withoutSample({ missing: _missing, doubt, ...column }: FoundColumn): FoundColumn {
  return doubt ? { ...column, doubt: doubtWithoutSample(doubt) } : column
}

function doubtWithoutSample({ kind, readings }: ColumnDoubt): ColumnDoubt {
  return {
    kind,
    sample: '',
    // A suggested line for missing values names values, so it is removed.
    readings: kind === 'two_readings' ? readings.map(({ write }) => ({ as: '', write })) : [],
    says:
      kind === 'two_readings'
        ? 'Every value fits more than one reading.'
        : 'A few values fit no reading of the others.',
  }
}

const hasRule = ({ rows, query }: Source): boolean => Boolean(rows ?? query?.rule)

/** Returns an error of attaching a source without values, because the engine's message may hold a value of any row. */
export function withoutRows(source: Source, error: unknown): unknown {
  return hasRule(source) && engineFailure(error)?.kind === 'refused' ? untold() : error
}

/** Reads a source with a rule. The reason of a failure is not shown, because it may hold values of others' rows. */
export async function unspoken<Result>(source: Source, read: () => Promise<Result>): Promise<Result> {
  if (!hasRule(source)) return read()
  try {
    return await read()
  } catch (error) {
    const isTold = error instanceof Stopped || error instanceof NoRoom
    if (isTold || !(error instanceof SourceError)) throw error
    throw untold()
  }
}

export function untold(): SourceError {
  return new SourceError(
    'The source cannot be read. Its rows belong to different readers and the reason may hold values of them, so it is not told: read the source in a template without "rows" to see it.',
  )
}
