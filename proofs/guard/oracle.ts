/**
 * Finds what a statement touches, without the guard's lists. Two ways, and both must find nothing:
 *
 * - The plan. DuckDB binds the statement (json_serialize_plan, unoptimized). Each scan must be of a source, of rows
 *   that stand in the statement itself, or of a function that makes rows from its arguments. No function may be one
 *   that DuckDB itself calls volatile, or steady within one query only.
 * - Two worlds. Both hold the same sources; all else differs (views, types, macros, databases, variables, settings,
 *   temporary folder, the time). The statement must give the same rows or the same error in both, and neither may try
 *   to open a file.
 */
import { mkdir, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { VARCHAR } from '@duckdb/node-api'
import { type Engine, literal, openEngine, readTable } from '../../packages/engine/duckdb/duckdb.ts'
import type { Outside } from './grammar.ts'
import { type Lists, readLists } from './lists.ts'

/** A scan that makes its rows from its arguments alone. */
const MADE = new Set([
  'range',
  'generate_series',
  'unnest',
  'repeat',
  'repeat_row',
  'json_each',
  'json_tree',
  'pandas_scan',
])
const OPENING = /Permission Error|IO Error|file system|external access|No files found|HTTP Error/i
const RUN_MS = 2_000
const ROWS = 200

export interface Touched {
  /** The sources that the plan scans. */
  sources: string[]
  /** The parts that lie outside the sources, each as a sentence. */
  outside: string[]
  bound: boolean
}

interface World {
  engine: Engine
  close(): Promise<void>
}

async function openWorld(folder: string, mark: string): Promise<World> {
  await mkdir(path.join(folder, mark), { recursive: true })
  const engine = await openEngine()
  const run = (sql: string) => engine.connection.run(sql)
  await run(`create table flights as select i as id, chr(97 + i::integer) as origin, i * 2.5 as delay,
      date '2024-01-01' + i::integer as day, [i] as tags from range(4) r(i)`)
  await run(
    `create table hidden_airports as select 'a' as code, 'x' as city, 1 as "current_date", 2 as "user"`,
  )
  await run('create view "Airports" as from hidden_airports')
  await run(`create table canary as select '${mark}' as id`)
  await run(`create view canary_view as from canary`)
  await run(`create type canary_type as enum ('${mark}', '1', 'x')`)
  await run(`create macro canary_macro(x) as '${mark}'`)
  await run(`create macro canary_table(x) as table from canary`)
  await run(`create sequence canary_sequence start ${mark.length * 100}`)
  await run(`attach ':memory:' as other; create table other.canary as select '${mark}' as id`)
  await run(`set variable canary = '${mark}'`)
  await run(`set temp_directory = ${literal(path.join(folder, mark))}`)
  await run(mark === 'a' ? 'set default_null_order = nulls_last' : "set default_null_order = 'nulls_last'")
  await run('set enable_external_access = false; set lock_configuration = true')
  return { engine, close: () => (engine.close(), Promise.resolve()) }
}

/** Yields all objects and lists within a value. */
function* nodes(value: unknown): Generator<Record<string, unknown>> {
  if (value === null || typeof value !== 'object') return
  if (!Array.isArray(value)) yield value as Record<string, unknown>
  for (const one of Object.values(value)) yield* nodes(one)
}

/** The source behind each table. */
const TABLES: Record<string, string> = { flights: 'flights', hidden_airports: 'Airports' }

function scanned(node: Record<string, unknown>, touched: Touched): void {
  const name = String(node.name)
  const data = node.function_data as { catalog?: string; schema?: string; table?: string } | undefined
  if (name === 'seq_scan') {
    const source =
      data?.catalog === 'memory' && data.schema === 'main' ? TABLES[String(data.table)] : undefined
    if (source === undefined)
      touched.outside.push(`It scans ${data?.catalog}.${data?.schema}.${data?.table}.`)
    else touched.sources.push(source)
  } else if (!MADE.has(name)) touched.outside.push(`It scans ${name}().`)
}

export class Oracle {
  readonly lists: Lists
  readonly outside: Outside
  readonly #worlds: readonly [World, World]
  readonly #folder: string

  private constructor(folder: string, worlds: [World, World], lists: Lists, outside: Outside) {
    this.#folder = folder
    this.#worlds = worlds
    this.lists = lists
    this.outside = outside
  }

  /** Opens an oracle. `folder`: a folder for this oracle alone. */
  static async open(folder: string): Promise<Oracle> {
    const file = path.join(folder, 'canary.csv')
    await mkdir(folder, { recursive: true })
    await writeFile(file, 'id\ncanary\n')
    const worlds: [World, World] = [await openWorld(folder, 'a'), await openWorld(folder, 'bb')]
    const lists = await readLists(worlds[0].engine)
    return new Oracle(folder, worlds, lists, {
      files: [
        file,
        '/etc/passwd',
        '/proc/self/environ',
        'https://example.com/x.parquet',
        's3://bucket/x.csv',
        `${folder}/*`,
      ],
      relations: ['canary', 'canary_view', 'other.canary', 'hidden_airports', 'canary_sequence'],
      types: ['canary_type'],
      macros: ['canary_macro', 'canary_table'],
    })
  }

  get engine(): Engine {
    return this.#worlds[0].engine
  }

  async close(): Promise<void> {
    for (const world of this.#worlds) await world.close()
    await rm(this.#folder, { recursive: true, force: true })
  }

  async touches(sql: string): Promise<Touched> {
    const touched: Touched = { sources: [], outside: [], bound: false }
    await this.#plan(sql, touched)
    const [one, two] = [await this.#run(this.#worlds[0], sql), await this.#run(this.#worlds[1], sql)]
    for (const answer of [one, two])
      if (answer.error && OPENING.test(answer.text))
        touched.outside.push(`It opens a file: ${answer.text.slice(0, 200)}`)
    if (one.text !== two.text && !one.late && !two.late)
      touched.outside.push(
        `Two worlds answer differently: ${one.text.slice(0, 200)} and ${two.text.slice(0, 200)}`,
      )
    touched.bound = !one.error
    return touched
  }

  async #plan(sql: string, touched: Touched): Promise<void> {
    const given = { sql: { value: sql, type: VARCHAR } }
    const { rows } = await readTable(this.engine, 'select json_serialize_plan($sql::varchar)', given, 1)
    const plan = JSON.parse(rows[0]![0] as string) as Record<string, unknown>
    if (plan.error === true) {
      const why = String(plan.error_message)
      if (OPENING.test(why)) touched.outside.push(`It opens a file: ${why.slice(0, 200)}`)
      return
    }
    for (const node of nodes(plan.plans)) {
      if (node.type === 'LOGICAL_GET') scanned(node, touched)
      else if (typeof node.expression_class === 'string' && typeof node.name === 'string') {
        const name = node.name.toLowerCase()
        if (this.lists.unsteady.has(name) && name !== 'error') touched.outside.push(`It calls ${name}().`)
      }
    }
  }

  async #run({ engine }: World, sql: string): Promise<{ text: string; error: boolean; late: boolean }> {
    let late = false
    const stop = setTimeout(() => {
      late = true
      engine.connection.interrupt()
    }, RUN_MS)
    try {
      const { rows } = await readTable(engine, sql, {}, ROWS)
      return { text: JSON.stringify(rows), error: false, late }
    } catch (error) {
      // The engine's message proposes near names. These are not rows of a source.
      return { text: (error as Error).message.split('\n')[0]!, error: true, late }
    } finally {
      clearTimeout(stop)
    }
  }
}
