/**
 * The plan of a run, made before any data are read: the SQL of each block, judged by the guard, and the readers of each
 * block. A block that another one reads is kept as a table, all others are streamed, so that no query runs twice.
 */
import type { SqlBlock, Template } from '@assay/model/template'
import { sqlFaults } from '../checking/blocks.ts'
import type { Guard, SessionName, SqlFault } from '../fence/sql-guard.ts'
import type { UsedNames } from '../fence/used-names.ts'
import { makeFault, TemplateFault } from '../language/fault.ts'
import { bindSql } from '../language/sql-clauses.ts'
import { outcomeTables } from './outcome-tables.ts'

export interface PlannedSql {
  sql: string
  /** The `$names` that are bound. */
  names: string[]
  reads: string[]
  uses: UsedNames
  session: SessionName[]
}

export interface Plan {
  sql: ReadonlyMap<string, PlannedSql>
  /** The number of blocks that read each source, block or list of an outcome. */
  readers: ReadonlyMap<string, number>
  /** Returns the relations that a block reads. For a list of an analysis it returns those that the analysis reads. */
  readsOf(name: string): readonly string[]
}

export function columnVariables(template: Template): string[] {
  return template.variables.filter(({ type }) => type === 'column').map(({ name }) => name)
}

/**
 * Makes the plan. `vars` include `reader`. Throws TemplateFault for an unknown variable, and if the guard refuses a
 * statement.
 */
export async function makePlan(
  template: Template,
  vars: Record<string, unknown>,
  guard: Guard,
): Promise<Plan> {
  const names = template.sources.map((source) => source.name)
  const sql = new Map<string, PlannedSql>()
  const readers = new Map<string, number>()
  const behindLists = new Map<string, string>()
  const columnVars = columnVariables(template)
  for (const block of template.blocks) {
    let reads: string[]
    if (block.kind === 'sql') {
      const [unknown] = sqlFaults(block, template)
      if (unknown) throw new TemplateFault(unknown)
      const bound = bindSql(block.sql, { vars, columnVars })
      const verdict = await guard.judge(bound.sql, names)
      if (!verdict.ok) throw new TemplateFault(blockFault(block, verdict.fault))
      sql.set(block.name, { ...bound, reads: verdict.reads, uses: verdict.uses, session: verdict.session })
      reads = verdict.reads
      names.push(block.name)
    } else {
      reads = [block.of]
      for (const { name } of outcomeTables(block, { template, vars, columns: null })) {
        names.push(name)
        behindLists.set(name, block.of)
      }
    }
    for (const name of reads) readers.set(name, (readers.get(name) ?? 0) + 1)
  }
  const readsOf = (name: string): readonly string[] => {
    const behind = behindLists.get(name)
    return sql.get(name)?.reads ?? (behind === undefined ? [] : [behind])
  }
  return { sql, readers, readsOf }
}

export function blockFault(block: SqlBlock, fault: SqlFault): ReturnType<typeof makeFault> {
  const place = { line: block.line + fault.line - 1, column: fault.column }
  return makeFault('sql_refused', place, `SQL block "${block.name}": ${fault.message}`, fault.remedy)
}

/**
 * Returns the fault of the first name that DuckDB would answer from the clock or the session, because no relation in
 * its scope has such a column.
 */
export function sessionFault(
  session: readonly SessionName[],
  columnsOf: (relation: string) => readonly { name: string }[],
): SqlFault | null {
  const known = ({ name, among }: SessionName): boolean =>
    among.some((relation) => columnsOf(relation).some((column) => column.name.toLowerCase() === name))
  return session.find((one) => !known(one))?.fault ?? null
}
