/**
 * Attaches a relation whose rows stay in a database. It learns the columns there. An analysis gets what it needs by
 * SELECTs of our own, each in a read-only session and within the limits of the connection. The answers are small tables
 * of the engine.
 */
import { randomUUID } from 'node:crypto'
import { rename, rm } from 'node:fs/promises'
import path from 'node:path'
import type { OpenConnection } from '@assay/model/connection'
import type { Column } from '@assay/model/insight'
import { DOUBLE } from '@duckdb/node-api'
import { parsed, readAnswer } from '../dialects/answers.ts'
import { dialectOf } from '../dialects/engines.ts'
import { counted, type Select } from '../dialects/language.ts'
import { printSelect } from '../dialects/print.ts'
import { TreePrinter, type Values } from '../dialects/print-tree.ts'
import { NotAsked } from '../dialects/scope.ts'
import { describeQuery, type Engine, execute, identifier, readTable, spillOf } from '../duckdb/duckdb.ts'
import { TemplateFault } from '../language/fault.ts'
import { bindQuery, queryFaults } from '../language/remote-query.ts'
import { type SqlSyntax, withoutEnd } from '../language/sql-clauses.ts'
import { READER } from '../personal/sql-attributes.ts'
import { type Answer, numberOf } from '../sufficient/ask.ts'
import {
  type BatchReader,
  type FileReader,
  type Kind,
  Misjudged,
  type OpenOptions,
  type Reader,
  type RemoteColumn,
} from './kind.ts'
import { kindOf } from './kinds.ts'
import { attachQuery, createTable, type QuerySource } from './query.ts'
import type { TableRoom } from './rows/large-tables.ts'
import { viewRows } from './rows/rows-file.ts'
import { RowsTable } from './rows/rows-table.ts'
import {
  type AskedThere,
  type Attached,
  QueryRefused,
  SourceError,
  type Statements,
  Stopped,
} from './source.ts'

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

/** A table of the engine, or a view of a file. */
interface Kept {
  name: string
  drop(): Promise<void>
}

type Answering = Pick<OpenOptions, 'signal' | 'connection'>

class There {
  readonly #engine: Engine
  readonly #options: QuerySource
  readonly connection: OpenConnection
  /** The author's query, or all of the table. */
  readonly #text: string
  #statements: Statements = { sql: [], rows: 0, bytes: 0 }
  #answers = 0
  /** The fetched rows, which later analyses reuse; null before an analysis needs them. */
  #brought: Promise<void> | null = null
  readonly #room: TableRoom
  /** The path of an answer that the database returns as a file. */
  readonly #file: string

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
    this.#file = path.join(temp_folder, `${randomUUID()}.answer`)
    this.#text = withoutEnd(textFor?.(connection.kind, null) ?? text, syntax)
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

  /** The paths that stay readable once the engine is sealed. */
  get paths(): string[] {
    return [this.#file]
  }

  asked(): AskedThere {
    const { name, kind } = this.connection
    return {
      connection: name,
      kind,
      from: { query: this.#text },
      ask: (select) => this.#ask(select),
      query: (sql, values, columns) => this.#query(sql, values, columns),
      bring: (what) => (this.#brought ??= this.#bring(what)),
      takeStatements: () => {
        const taken = this.#statements
        this.#statements = { sql: [], rows: 0, bytes: 0 }
        return taken
      },
    }
  }

  /** The columns, as a table without rows. */
  async attach(): Promise<Attached> {
    const { source } = this.#options
    const began = performance.now()
    const query = await this.#within((kind, open) =>
      this.#read(kind, open, this.#text, async (reader, sql) => {
        const columns = (await reader.schema()).map((column) =>
          column.numeric ? { ...column, type: DOUBLE } : column,
        )
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

  /** Refuses more rows than the connection allows, before the first is read. */
  async mayMove(moved: string): Promise<void> {
    const [row] = await this.#ask({ from: { query: this.#text }, list: { n: counted } })
    const n = numberOf(row?.n)
    const { name, limits } = this.connection
    if (n > limits.rows)
      throw new SourceError(
        `${moved} reads its rows here, and the database counts ${n}, more than the ${limits.rows} that the connection "${name}" allows (its limits.rows): aggregate there, by \`\`\`sql NAME at: ${name}, or raise the limit.`,
      )
  }

  #ask(select: Select): Promise<Answer[]> {
    return this.#answered(printSelect(select, dialectOf(this.connection.kind)))
  }

  #answered(text: string): Promise<Answer[]> {
    return this.#within((kind, open) =>
      this.#read(kind, open, text, async (reader, sql) => {
        this.#statements.sql.push(sql)
        return this.#answer(reader, open)
      }),
    )
  }

  async #query(sql: string, values: Values, columns: readonly Column[]): Promise<Answer[]> {
    const tree = await parsed(this.#engine, sql)
    const base = { relation: this.#options.source.name, columns, query: this.#text }
    const statement = new TreePrinter(dialectOf(this.connection.kind), base, values).print(tree)
    try {
      const rows = await this.#answered(statement.sql)
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
      this.#read(kind, open, this.#text, async (reader, sql) => {
        this.#statements.sql.push(sql)
        const answer = await this.#kept(reader, open)
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
    const { time_zone } = template
    try {
      const kind = await kindOf(connection.kind)
      const peek = false
      return await work(kind, {
        connection,
        query,
        time_zone,
        cut: null,
        roots,
        timeout_ms,
        signal: either,
        temp_folder,
        peek,
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
  ): Promise<Result> {
    const { template, vars, reader: person } = this.#options
    const query = bindQuery(text, template.variables, { ...vars, [READER]: person ?? {} }, kind.dialect)
    const reader = await kind.open({ ...open, query })
    try {
      return await read(reader, query.sql)
    } finally {
      await reader.close()
    }
  }

  async #answer(reader: Reader, open: Answering): Promise<Answer[]> {
    const { name, drop } = await this.#kept(reader, open)
    try {
      return await this.#rowsOf(name)
    } finally {
      await drop()
    }
  }

  /** Stores the answer as a table of the engine. */
  async #kept(reader: Reader, open: Answering): Promise<Kept> {
    const columns = await reader.schema()
    return 'fetch' in reader
      ? this.#keptFile(reader, columns, open)
      : this.#keptBatches(reader, columns, open)
  }

  #answerName(): string {
    this.#answers += 1
    return `answer ${this.#answers} of ${this.#options.source.name}`
  }

  /** Stores the answer as a file that the sealed engine may read. */
  async #keptFile(reader: FileReader, columns: readonly RemoteColumn[], open: Answering): Promise<Kept> {
    const fetched = await reader.fetch(open.signal, (bytes) => this.#vet(bytes, open.connection))
    this.#statements.bytes += fetched.bytes
    const name = this.#answerName()
    await rename(fetched.file, this.#file)
    const away = (): Promise<void> => rm(this.#file, { force: true })
    try {
      await viewRows(this.#engine, name, columns, { ...fetched, file: this.#file })
    } catch (error) {
      await away()
      throw error
    }
    return {
      name,
      drop: async () => {
        await execute(this.#engine, `drop view ${identifier(name)}`)
        await away()
      },
    }
  }

  async #keptBatches(reader: BatchReader, columns: readonly RemoteColumn[], open: Answering): Promise<Kept> {
    const name = this.#answerName()
    await createTable(this.#engine, name, columns)
    const table = await RowsTable.open(this.#engine, name, columns, this.#room)
    let bytes = 0
    try {
      for await (const batch of reader.read(open.signal)) {
        bytes += batch.bytes
        this.#vet(bytes, open.connection)
        await table.write(batch)
      }
    } catch (error) {
      await table.drop()
      // The types are known now, and the query is run again.
      if (error instanceof Misjudged) return this.#keptBatches(reader, await reader.schema(), open)
      throw error
    }
    await table.finish()
    this.#statements.bytes += bytes
    return { name, drop: () => execute(this.#engine, `drop table ${identifier(name)}`) }
  }

  #vet(bytes: number, { name, limits }: OpenConnection): void {
    if (bytes <= limits.bytes) return
    throw new SourceError(
      `What is asked over the connection "${name}" gives more than ${limits.bytes} bytes (its limits.bytes): group by something with fewer values, or raise the limit.`,
    )
  }

  async #rowsOf(name: string): Promise<Answer[]> {
    const described = await describeQuery(this.#engine, `select * from ${identifier(name)}`)
    // MySQL compares a text by its bytes where it is bytes.
    const list = described.map(({ name: column, database_type }) =>
      database_type === 'BLOB'
        ? `decode(${identifier(column)}) as ${identifier(column)}`
        : identifier(column),
    )
    const sql = `select ${list.join(', ')} from ${identifier(name)}`
    const table = await readTable(this.#engine, sql, {}, Number.POSITIVE_INFINITY, { floats: 'raw' })
    this.#statements.rows += table.total
    const names = table.columns.map((column) => column.name)
    return table.rows.map((row) => Object.fromEntries(names.map((key, index) => [key, row[index]!])))
  }
}
