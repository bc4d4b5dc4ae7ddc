/**
 * A relation of a database whose analyses are explained. Their questions are recorded in the SQL of the database, and
 * answered by the engine over a sample of the rows.
 */
import type { ExplainedStatement } from '@assay/model/explained'
import type { Column } from '@assay/model/insight'
import { parsed } from '../dialects/answers.ts'
import { DUCKDB } from '../dialects/duckdb.ts'
import { dialectOf } from '../dialects/engines.ts'
import type { Select } from '../dialects/language.ts'
import { printSelect } from '../dialects/print.ts'
import { TreePrinter, type Values } from '../dialects/print-tree.ts'
import { bindPlain } from '../duckdb/bindings.ts'
import { type Engine, identifier, readRows } from '../duckdb/duckdb.ts'
import type { AskedThere } from '../sources/source.ts'
import type { There } from '../sources/there.ts'
import type { Answer, DayCount } from '../sufficient/ask.ts'

/** `onMoved` is called with the words of the first block that needs the rows here. */
export interface RecordedOptions {
  name: string
  onMoved(what: string): Promise<void>
}

export class Recorded {
  readonly #engine: Engine
  readonly #there: There
  readonly #options: RecordedOptions
  readonly #days = new Map<string, readonly DayCount[]>()
  #statements: ExplainedStatement[] = []

  constructor(engine: Engine, there: There, options: RecordedOptions) {
    this.#engine = engine
    this.#there = there
    this.#options = options
  }

  /** Returns the statements since the last call. */
  take(): ExplainedStatement[] {
    const taken = this.#statements
    this.#statements = []
    return taken
  }

  asked(): AskedThere {
    const { name, kind } = this.#there.connection
    return {
      connection: name,
      kind,
      from: { query: this.#sample },
      strict: dialectOf(kind).strict,
      plain: this.#there.plain,
      ask: (select) => this.#ask(select),
      query: (sql, values, columns) => this.#query(sql, values, columns),
      bring: (what) => this.#options.onMoved(what),
      days: this.#days,
      takeStatements: () => ({ sql: [], rows: 0, bytes: 0 }),
    }
  }

  /** Returns the text in a SELECT where the database reads the query of the source. */
  get #sample(): string {
    return `select * from ${identifier(this.#options.name)} -- the sample`
  }

  async #ask(select: Select): Promise<Answer[]> {
    const printed = printSelect(select, dialectOf(this.#there.connection.kind))
    const text = printed.replaceAll(this.#sample, () => this.#there.text)
    return this.#record(text, await readRows(this.#engine, printSelect(select, DUCKDB)))
  }

  async #query(sql: string, values: Values, columns: readonly Column[]): Promise<Answer[]> {
    const tree = await parsed(this.#engine, sql)
    const base = { relation: this.#options.name, columns, query: this.#there.text }
    const statement = new TreePrinter(dialectOf(this.#there.connection.kind), base, values).print(tree)
    return this.#record(statement.sql, await readRows(this.#engine, sql, bindPlain(values)))
  }

  async #record(text: string, answers: Answer[]): Promise<Answer[]> {
    const { sql } = await this.#there.boundText(text)
    const bytes = Buffer.byteLength(JSON.stringify(answers.map((row) => Object.values(row))))
    this.#statements.push({ sql, rows: answers.length, bytes })
    return answers
  }
}
