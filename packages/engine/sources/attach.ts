/**
 * Attaches the sources of a template: files, and queries over connections. A query whose period is counted from another
 * source is attached after that source.
 */
import type { Reader } from '@assay/model/reader'
import type { Source, Template } from '@assay/model/template'
import { type Engine, spillOf } from '../duckdb/duckdb.ts'
import { attachSeries } from '../partitions/kept-series.ts'
import type { Keeping } from '../partitions/series.ts'
import { renderText } from '../rendering/render.ts'
import { isAddress } from '../values/file-path.ts'
import { attachFile, vetFile } from './files/file.ts'
import { fixtureFiles, resolveFiles } from './files/files.ts'
import { RowCondition, sourceVariables } from './files/row-condition.ts'
import type { SourceFile } from './files/source-file.ts'
import { fileKindOf } from './kinds.ts'
import { attachQuery } from './query.ts'
import type { ParquetParts } from './remote/parquet/parts.ts'
import type { RemoteOptions } from './remote/remote.ts'
import { NoRoom } from './room.ts'
import type { Roots } from './roots.ts'
import { unspoken, withoutRows, withRule } from './row-rule.ts'
import { type Acquire, type Attached, SourceError } from './source.ts'
import { attachThere } from './there.ts'

export interface AttachOptions {
  roots: Roots
  /** The variables for Liquid in `file` and for queries, with periods resolved. */
  vars: Record<string, unknown>
  /** The resolved periods, for conditions on rows. */
  periods_resolved: Record<string, unknown>
  /** The number of blocks that read each source. */
  readers: ReadonlyMap<string, number>
  acquire: Acquire
  signal: AbortSignal
  /** A folder for this job alone; not created yet. */
  temp_folder: string
  /** The most bytes that may be written there; a multiple of the memory if null or absent. */
  spill_bytes?: number | null
  /** The reader of a personal template, whose rows are let through; null for other templates. */
  reader: Reader | null
  peek: boolean
  keeping: Keeping
  /** The block that needs the rows, in words, for each source that could stay in its database. */
  moved?: ReadonlyMap<string, string>
}

/** Attaches a source with the rows that its reader may see, or without rows if a rule has no reader. */
export async function attachSource(
  engine: Engine,
  source: Source,
  template: Template,
  options: AttachOptions,
): Promise<Attached> {
  try {
    return await withRule(
      engine,
      source,
      await attachWhole(engine, source, template, options),
      options.reader,
    )
  } catch (error) {
    throw withoutRows(source, error)
  }
}

async function attachWhole(
  engine: Engine,
  source: Source,
  template: Template,
  options: AttachOptions,
): Promise<Attached> {
  const { roots, vars, readers, peek, temp_folder } = options
  const { name, line, columns, dialect } = source
  const spill_bytes = spillOf(template.limits.memory_bytes, options.spill_bytes)
  const common = { name, line, dialect, roots, peek, temp_folder, spill_bytes }
  const fixture = roots.fixtures?.sources[name]
  if (fixture) {
    const files = await fixtureFiles(roots.fixtures!.folder, fixture.file)
    const declared = { ...columns, ...fixture.columns }
    const given = { ...common, file: fixture.file, columns: declared, readers: 0 }
    vetFile(given, files)
    return unspoken(source, () => attachFile(engine, given, files))
  }
  if (source.file === null) {
    const query = { ...options, source, template }
    if (source.query?.partitions) return unspoken(source, () => attachSeries(engine, query, options.keeping))
    if (!source.stays) return attachQuery(engine, query)
    return attachThere(engine, query, peek ? null : (options.moved?.get(name) ?? null))
  }
  const file = renderText(source.file, vars, { line, column: source.column })
  const where = conditionOf(source, options)
  const parts = where && source.connection ? await partsOf(engine, source, where.condition, peek) : null
  const files = await filesOf(source, file, options, parts)
  // A view would meet unreadable values only after the filter is applied, so a text file with a rule is loaded first.
  const few = { where, left_out: parts?.left ?? null }
  const given = { ...common, ...few, file, columns, readers: source.rows ? 0 : (readers.get(name) ?? 0) }
  vetFile(given, files)
  return unspoken(source, () => attachFile(engine, given, files))
}

/** Returns the condition of a source on its rows, with the values of its variables. */
function conditionOf(
  { where }: Source,
  { periods_resolved: vars, peek }: AttachOptions,
): { text: string; condition: RowCondition } | null {
  if (!where) return null
  return { text: where.text.trim(), condition: new RowCondition(where.text, peek ? null : vars) }
}

/** Makes the chooser of parts of Parquet files. It is loaded on demand, as the files are fetched. */
async function partsOf(
  engine: Engine,
  { columns }: Source,
  condition: RowCondition,
  peek: boolean,
): Promise<ParquetParts> {
  const { ParquetParts: Parts } = await import('./remote/parquet/parts.ts')
  return new Parts(engine, { condition, peek, declared: Object.keys(columns) })
}

/** This is loaded on demand, because the HTTP client costs 77 ms and 15 MB, and most jobs do not need it. */
const fetching = () => import('./remote/remote.ts')

/** Returns the files that a path or pattern names. Remote files are downloaded. */
async function filesOf(
  source: Source,
  file: string,
  options: AttachOptions,
  parts: ParquetParts | null,
): Promise<SourceFile[]> {
  const { roots, acquire, signal, temp_folder } = options
  const remote = { remote: roots.remote, temp_folder, signal, parts }
  if (source.connection) {
    const acquired = await acquire(source.connection.name, signal)
    try {
      const kind = await fileKindOf(acquired.connection.kind)
      const { connection } = acquired
      const { fetchFiles, reachOf } = await fetching()
      return await fetchFiles(
        reachOf(connection),
        (guard, until) => kind.find(connection, file, guard, { signal: until, parts }),
        remote,
      )
    } finally {
      acquired.release()
    }
  }
  if (isAddress(source.file!)) return fetchAddress(file, remote)
  const { uploads } = roots
  return resolveFiles(file, roots, async (name) => {
    const { fetchFiles, offeredFiles } = await fetching()
    return fetchFiles(
      { connection: null, targets: uploads?.targets ?? [], timeout_ms: null, bytes: Number.MAX_SAFE_INTEGER },
      () => {
        if (uploads?.fault !== undefined) throw new SourceError(uploads.fault)
        return Promise.resolve(offeredFiles(uploads?.offered ?? [], name))
      },
      remote,
    )
  })
}

async function fetchAddress(file: string, options: RemoteOptions): Promise<SourceFile[]> {
  const { targets = [], file_bytes: bytes = 0 } = options.remote ?? {}
  if (targets.length === 0)
    throw new SourceError(
      `${JSON.stringify(file.split('?')[0])} is not allowed: read the address over a connection, or ask the operator to add its host to ASSAY_SOURCE_TARGETS.`,
    )
  const { fetchFiles } = await fetching()
  const { plainAddress } = await import('./remote/https.ts')
  return fetchFiles(
    { connection: null, targets, timeout_ms: null, bytes },
    () => Promise.resolve([plainAddress(file, bytes)]),
    options,
  )
}

/** The variables of a run, whose periods are resolved while sources are attached. */
export interface Variables {
  /** Returns the source that must be attached before the variable has a value; null if there is none. */
  waitsFor(name: string): string | null
  /** The values as given by the caller, for Liquid in a path. */
  readonly given: Record<string, unknown>
  resolve(attached: ReadonlyMap<string, Attached>): Promise<Record<string, unknown>>
}

/** Attaches all sources. The result is in the order of the template; `onEach` is called before each source. */
export async function attachSources(
  engine: Engine,
  template: Template,
  { periods, ...options }: Omit<AttachOptions, 'vars' | 'periods_resolved'> & { periods: Variables },
  onEach: (name: string) => void,
): Promise<Map<string, Attached>> {
  const done = new Map<string, Attached>()
  let left = [...template.sources]
  while (left.length > 0) {
    const waits = (source: Source): boolean =>
      sourceVariables(source).some((name) => left.some((other) => other.name === periods.waitsFor(name)))
    // The first is tried if all wait for each other, and its query fails with the reason.
    const source = left.find((one) => !waits(one)) ?? left[0]!
    left = left.filter((one) => one !== source)
    onEach(source.name)
    try {
      const periods_resolved = source.query || source.where ? await periods.resolve(done) : periods.given
      const vars = source.query ? periods_resolved : periods.given
      const given = { ...options, vars, periods_resolved }
      done.set(source.name, await attachSource(engine, source, template, given))
    } catch (error) {
      if (!(error instanceof SourceError)) throw error
      const Kind = error instanceof NoRoom ? NoRoom : SourceError
      throw new Kind(`Source "${source.name}", line ${source.line}: ${error.message}`)
    }
  }
  return new Map(template.sources.map(({ name }) => [name, done.get(name)!]))
}
