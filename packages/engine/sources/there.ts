/**
 * Attaches a relation whose rows stay in a database. It learns the columns there. An analysis gets what it needs by
 * SELECTs of our own, each in a read-only session and within the limits of the connection. The answers are small tables
 * of the engine.
 */
import type { OpenConnection } from '@assay/model/connection'
import type { Column } from '@assay/model/insight'
import type { Variable } from '@assay/model/template'
import { DOUBLE } from '@duckdb/node-api'
import { parsed, readAnswer } from '../dialects/answers.ts'
import { dialectOf } from '../dialects/engines.ts'
import { counted, type Select } from '../dialects/language.ts'
import { printSelect } from '../dialects/print.ts'
import { TreePrinter, type Values } from '../dialects/print-tree.ts'
import { NotAsked } from '../dialects/scope.ts'
import { describeQuery, type Engine, execute, identifier, readTable, spillOf } from '../duckdb/duckdb.ts'
import { TemplateFault } from '../language/fault.ts'
import { type BoundQuery, bindQuery, queryFaults } from '../language/remote-query.ts'
import { type SqlSyntax, withoutEnd } from '../language/sql-clauses.ts'
import { READER } from '../personal/sql-attributes.ts'
import { type Answer, type DayCount, numberOf } from '../sufficient/ask.ts'
import { Answers } from './answers.ts'
import type { Kind, OpenOptions, Reader, RemoteColumn } from './kind.ts'
import { kindOf } from './kinds.ts'
import { type PushedRule, pushedRule } from './pushed-rule.ts'
import { attachQuery, type QuerySource } from './query.ts'
import { createTable } from './rows/create-table.ts'
import type { TableRoom } from './rows/large-tables.ts'
import { RowsTable } from './rows/rows-table.ts'
import { type AskedThere, type Attached, QueryRefused, SourceError, Stopped } from './source.ts'

/**
 * Attaches the source with its columns. `moved` names the block that needs its rows, in words; null leaves them in the
 * database. More rows than the connection allows are refused before the first is read.
 */
export async function attachThere(
  engine: Engine,
  options: QuerySource,
  moved: string | null,
): Promise<Attached> {
  const there = await There.open(engine, options)
  if (moved === null) return { ...(await there.attach()), asked: there.asked(), paths: there.paths }
  await there.mayMove(moved)
  const attached = await attachQuery(engine, options)
  const { remote } = attached.lineage
  return {
    ...attached,
    lineage: { ...attached.lineage, ...(remote ? { remote: { ...remote, moved } } : {}) },
    asked: there.asked(),
    paths: [...attached.paths, ...there.paths],
  }
}

/** Further variables of a question, and their values. */
export interface Bound {
  variables: readonly Pick<Variable, 'name' | 'type' | 'items'>[]
  values: Readonly<Record<string, unknown>>
}
const NOTHING_BOUND: Bound = { variables: [], values: {} }

export class There {
  readonly #engine: Engine
  readonly #options: QuerySource
  readonly connection: OpenConnection
  /** The author's query, or a query of the whole table. */
  readonly text: string
  #statements: string[] = []
  readonly #answers: Answers
  /** The fetched rows, which later analyses reuse; null before an analysis needs them. */
  #brought: Promise<void> | null = null
  readonly #room: TableRoom
  /** The columns of text that are compared byte by byte, once the columns are attached. */
  readonly plain = new Set<string>()
  /** What the kind of the connection learned, which later statements need not ask again. */
  readonly #learned = new Map<string, unknown>()
  readonly #days = new Map<string, readonly DayCount[]>()

  private constructor(
    engine: Engine,
    options: QuerySource,
    { connection, syntax }: { connection: OpenConnection; syntax: SqlSyntax },
  ) {
    this.#engine = engine
    this.#options = options
    this.connection = connection
    const { text, textFor } = options.source.query!
    const { template, temp_folder, spill_bytes } = options
    this.#room = { temp_folder, spill_bytes: spillOf(template.limits.memory_bytes, spill_bytes) }
    this.#answers = new Answers(engine, { name: options.source.name, room: this.#room })
    this.text = withoutEnd(textFor?.(connection.kind, null) ?? text, syntax)
  }

  static async open(engine: Engine, options: QuerySource): Promise<There> {
    const { acquire, source, template, signal } = options
    const { connection, release } = await acquire(source.connection!.name, signal)
    release()
    const { syntax } = (await kindOf(connection.kind)).dialect
    const [fault] = queryFaults(source, template, syntax)
    if (fault) throw new TemplateFault(fault)
    return new There(engine, options, { connection, syntax })
  }

  /** Returns the paths that stay readable once the engine is sealed. */
  get paths(): string[] {
    return this.#answers.paths
  }

  asked(): AskedThere {
    const { name, kind } = this.connection
    return {
      connection: name,
      kind,
      from: { query: this.text },
      strict: dialectOf(kind).strict,
      plain: this.plain,
      ask: (select) => this.#ask(select),
      query: (sql, values, columns) => this.#query(sql, values, columns),
      bring: (what) => (this.#brought ??= this.#bring(what)),
      days: this.#days,
      takeStatements: () => {
        const sql = this.#statements
        this.#statements = []
        return { sql, ...this.#answers.takeCounts() }
      },
    }
  }

  /** Attaches the columns, as a table without rows. */
  async attach(): Promise<Attached> {
    const { source } = this.#options
    const began = performance.now()
    const query = await this.#within((kind, open) =>
      this.#read(kind, open, this.text, async (reader, sql) => {
        const columns = (await reader.schema()).map((column) =>
          column.numeric ? { ...column, type: DOUBLE } : column,
        )
        for (const name of (await reader.plainTexts?.()) ?? []) this.plain.add(name)
        await createTable(this.#engine, source.name, columns)
        await (await RowsTable.open(this.#engine, source.name, columns, this.#room)).finish()
        return sql
      }),
    )
    const { name: connection, kind } = this.connection
    const elapsed_ms = Math.round((performance.now() - began) * 10) / 10
    return {
      columns: await describeQuery(this.#engine, `select * from ${identifier(source.name)}`),
      lineage: {
        name: source.name,
        files: [],
        rows: null,
        format: kind,
        remote: { connection, kind, query, bytes: 0, elapsed_ms },
      },
      paths: [],
      verify: () => Promise.resolve(),
    }
  }

  /** Throws an error if there are more rows than the connection allows, before the first is read. */
  async mayMove(moved: string): Promise<void> {
    const refusal = this.refusal(moved, await this.count())
    if (refusal !== null) throw new SourceError(refusal)
  }

  /** Resolves to the number of rows of the query, or of another one, as the database counts them. */
  async count(query = this.text, bound: Bound = NOTHING_BOUND): Promise<number> {
    const select: Select = { from: { query }, list: { n: counted } }
    const [row] = await this.answered(printSelect(select, dialectOf(this.connection.kind)), bound)
    return numberOf(row?.n)
  }

  /** Resolves to the rule of the rows of a metric, as a condition of its statements. */
  rule(): Promise<PushedRule> {
    const { source, reader } = this.#options
    return this.#within((kind, open) => pushedRule(source, reader, kind, open))
  }

  /** Returns the sentence that refuses to move so many rows; null if the connection allows them. */
  refusal(moved: string, rows: number): string | null {
    const { name, limits } = this.connection
    if (rows <= limits.rows) return null
    return `${moved} reads its rows here, and the database counts ${rows}, more than the ${limits.rows} that the connection "${name}" allows (its limits.rows): aggregate there, by \`\`\`sql NAME at: ${name}, or raise the limit.`
  }

  /** Reads some rows, into the table of the source if `isKept`. Resolves to their number, and their bytes. */
  sample(
    most: number,
    isKept: boolean,
    { text: query, bound }: { text: string; bound: Bound } = { text: this.text, bound: NOTHING_BOUND },
  ): Promise<{ rows: number; bytes: number }> {
    const { name: source } = this.#options.source
    const dialect = dialectOf(this.connection.kind)
    const text = `select * from (\n${query}\n) ${dialect.identifier('sampled')} limit ${most}`
    const read = async (reader: Reader, open: OpenOptions): Promise<{ rows: number; bytes: number }> => {
      this.#answers.takeCounts()
      const answer = await this.#answers.kept(reader, open)
      const from = `select * from ${identifier(answer.name)}`
      if (isKept) await execute(this.#engine, `insert into ${identifier(source)} ${from}`)
      const counted_ = await readTable(this.#engine, `select count(*) from (${from})`, {}, 1)
      await answer.drop()
      return { rows: Number(counted_.rows[0]?.[0]), bytes: this.#answers.takeCounts().bytes }
    }
    return this.#within((kind, open) => this.#read(kind, open, text, (reader) => read(reader, open), bound))
  }

  #ask(select: Select): Promise<Answer[]> {
    return this.answered(printSelect(select, dialectOf(this.connection.kind)))
  }

  /** Resolves to the columns of a query, which is not run. */
  columnsOf(text: string, bound: Bound = NOTHING_BOUND): Promise<RemoteColumn[]> {
    return this.#within(async (kind, open) => {
      const reader = await kind.open({ ...open, query: this.#bound(kind, text, bound), peek: true })
      try {
        return await reader.schema()
      } finally {
        await reader.close()
      }
    })
  }

  /** Resolves to the text that would be sent. */
  async boundText(text: string, bound: Bound = NOTHING_BOUND): Promise<BoundQuery> {
    return this.#bound(await kindOf(this.connection.kind), text, bound)
  }

  answered(text: string, bound: Bound = NOTHING_BOUND): Promise<Answer[]> {
    const read = async (kind: Kind, open: OpenOptions): Promise<Answer[]> =>
      this.#read(
        kind,
        open,
        text,
        (reader, sql) => {
          this.#statements.push(sql)
          return this.#answers.of(reader, open)
        },
        bound,
      )
    return this.#within(read)
  }

  async #query(sql: string, values: Values, columns: readonly Column[]): Promise<Answer[]> {
    const tree = await parsed(this.#engine, sql)
    const base = { relation: this.#options.source.name, columns, query: this.text }
    const statement = new TreePrinter(dialectOf(this.connection.kind), base, values).print(tree)
    try {
      const rows = await this.answered(statement.sql)
      return rows.map((row) => readAnswer(row, statement))
    } catch (error) {
      // An old server may lack a function, and some servers treat an underflow as an error.
      if (error instanceof QueryRefused && !error.timedOut) throw new NotAsked(error.message)
      throw error
    }
  }

  async #bring(what: string): Promise<void> {
    await this.mayMove(what)
    await this.#within((kind, open) =>
      this.#read(kind, open, this.text, async (reader, sql) => {
        this.#statements.push(sql)
        const answer = await this.#answers.kept(reader, open)
        const name = identifier(this.#options.source.name)
        await execute(this.#engine, `drop table ${name}`)
        await execute(this.#engine, `create table ${name} as select * from ${identifier(answer.name)}`)
        await answer.drop()
      }),
    )
  }

  async #within<Result>(work: (kind: Kind, open: OpenOptions) => Promise<Result>): Promise<Result> {
    const { acquire, source, template, signal, roots, temp_folder } = this.#options
    const { connection, release } = await acquire(source.connection!.name, signal)
    const timeout_ms = connection.limits.timeout_seconds * 1000
    const timeout = AbortSignal.timeout(timeout_ms)
    const either = AbortSignal.any([signal, timeout])
    const query = { sql: '', parameters: [] }
    const { zone, timeFor } = source.query!
    const time_zone = zone ?? template.time_zone
    try {
      const kind = await kindOf(connection.kind)
      const peek = false
      return await work(kind, {
        connection,
        query,
        time_zone,
        cut: timeFor?.(connection.kind) ?? null,
        roots,
        timeout_ms,
        signal: either,
        temp_folder,
        peek,
        learned: this.#learned,
      })
    } catch (error) {
      if (signal.aborted) throw new Stopped()
      if (!timeout.aborted) throw error
      throw new SourceError(
        `What is asked over the connection "${connection.name}" took longer than ${connection.limits.timeout_seconds} s (its limits.timeout_seconds): ask of fewer rows, or raise the limit.`,
      )
    } finally {
      release()
    }
  }

  async #read<Result>(
    kind: Kind,
    open: OpenOptions,
    text: string,
    read: (reader: Reader, sql: string) => Promise<Result>,
    bound: Bound = NOTHING_BOUND,
  ): Promise<Result> {
    const query = this.#bound(kind, text, bound)
    const reader = await kind.open({ ...open, query })
    try {
      return await read(reader, query.sql)
    } finally {
      await reader.close()
    }
  }

  #bound(kind: Kind, text: string, { variables, values }: Bound): BoundQuery {
    const { template, vars, reader } = this.#options
    const known = [...template.variables, ...variables]
    return bindQuery(text, known, { ...vars, ...values, [READER]: reader ?? {} }, kind.dialect)
  }
}
