/** Reads the YAML of the front matter into the settings of a template. Every fault has its position. */

import { isTimeZone } from '@assay/model/dates'
import type { ChartForm } from '@assay/model/insight'
import {
  type ColumnMeaning,
  DEFAULT_LIMITS,
  type Fault,
  type Limits,
  type Source,
  type TemplateSettings,
  type TileChoice,
} from '@assay/model/template'
import { makeFault, type Position } from '../language/fault.ts'
import { RESERVED } from '../language/fences.ts'
import { SqlTextFault } from '../language/sql-tokens.ts'
import { parseRowExpression } from '../metrics/expression.ts'
import { readRows } from '../personal/rows-key.ts'
import { checkFormat } from '../printing/format.ts'
import { bucketPath, isAddress, vetAddressText, vetPath } from '../values/file-path.ts'
import { ValueError } from '../values/value.ts'
import { readVariables } from './declarations.ts'
import { dialectProperties, readDialect } from './dialect-schema.ts'
import { readDuration, readSize } from './limits.ts'
import { frontMatterSchema } from './schema.ts'
import { schemaFaults } from './schema-faults.ts'
import { readYaml, type YamlReading } from './yaml-reading.ts'

export interface FrontMatter extends TemplateSettings {
  id: string | null
  title: { text: string; line: number } | null
}

type Mapping = Record<string, unknown>

/** Reads the front matter, which begins on line 2. Settings are null if it does not fit the schema. */
export function readFrontMatter(text: string | null): { settings: FrontMatter | null; faults: Fault[] } {
  const yaml = readYaml(text ?? '', 2)
  if (yaml.faults.length > 0) return { settings: null, faults: yaml.faults }
  const given = (yaml.value ?? {}) as Mapping
  const faults = schemaFaults(frontMatterSchema, given, 'the front matter', yaml.position)
  if (faults.length > 0) return { settings: null, faults }
  const sources = readSources((given.sources ?? {}) as Record<string, Mapping>, yaml, faults)
  const names = sources.map((source) => source.name)
  const settings: FrontMatter = {
    id: (given.id as string | undefined) ?? null,
    title:
      given.title === undefined ? null : { text: given.title as string, line: yaml.position(['title']).line },
    description: (given.description as string | undefined)?.trim() ?? null,
    tags: (given.tags as string[] | undefined) ?? [],
    written_by: (given.written_by as string | undefined) ?? null,
    variables: readVariables((given.variables ?? {}) as Record<string, Mapping>, names, yaml, faults),
    sources,
    time_zone: readTimeZone(given.time_zone, yaml, faults),
    limits: readLimits((given.limits ?? {}) as Mapping, yaml, faults),
    charts: (given.charts as ChartForm | undefined) ?? 'mermaid',
    deliver_if:
      given.deliver_if === undefined
        ? null
        : { expression: given.deliver_if as string, line: yaml.position(['deliver_if']).line },
    lineage: given.lineage !== 'none',
    columns: readMeanings((given.columns ?? {}) as Record<string, Mapping>, yaml, faults),
    tiles: readTiles(given.tiles as string[] | undefined, yaml),
  }
  return { settings, faults }
}

function readMeanings(
  given: Record<string, Mapping>,
  yaml: YamlReading,
  faults: Fault[],
): Map<string, ColumnMeaning> {
  const meanings = new Map<string, ColumnMeaning>()
  for (const [name, declared] of Object.entries(given)) {
    const {
      label = null,
      unit = null,
      fmt = null,
      good = 'none',
      target = null,
    } = declared as Partial<ColumnMeaning>
    if (fmt !== null) {
      try {
        checkFormat(fmt)
      } catch (error) {
        if (!(error instanceof ValueError)) throw error
        faults.push(
          makeFault('bad_value', yaml.position(['columns', name, 'fmt']), error.message, error.remedy),
        )
      }
    }
    meanings.set(name.toLowerCase(), { label, unit, fmt, good, target })
  }
  return meanings
}

function readTiles(given: string[] | undefined, yaml: YamlReading): TileChoice[] | null {
  if (given === undefined) return null
  return given.map((text, index) => {
    const [block = '', field] = text.split('.')
    return { block, field: field ?? null, ...yaml.position(['tiles', index]) }
  })
}

function readSources(given: Record<string, Mapping>, yaml: YamlReading, faults: Fault[]): Source[] {
  return Object.entries(given).map(([name, declared]) => {
    if (RESERVED.has(name)) {
      const position = yaml.position(['sources', name], 'key')
      faults.push(
        makeFault('reserved_name', position, `"${name}" has a meaning of its own.`, 'Choose another name.'),
      )
    }
    const at = ['sources', name]
    const { columns, dialect } = readDialect(declared)
    const connection =
      declared.connection === undefined
        ? null
        : { name: declared.connection as string, ...yaml.position([...at, 'connection']) }
    checkSourceKeys(declared, yaml.position(at, 'key'), faults)
    const rows = readRows(declared.rows as string | undefined, [...at, 'rows'], yaml, faults)
    if (declared.query !== undefined) {
      const query = { text: declared.query as string, placeOf: yaml.positionInText([...at, 'query']) }
      return { name, connection, file: null, query, columns, dialect, rows, ...query.placeOf(0) }
    }
    const written = (declared.file as string | undefined) ?? ''
    const position = yaml.position([...at, 'file'])
    const bucket = connection === null ? bucketPath(written) : null
    const file = bucket?.file ?? written
    const fault = fileFault(file, connection !== null)
    if (fault !== null) {
      faults.push(
        makeFault('bad_path', position, fault, 'Name a file below the data folder, or sample/NAME.'),
      )
    }
    const over = bucket ? { name: bucket.connection, ...position } : connection
    const where = readWhere(declared.where as string | undefined, [...at, 'where'], yaml, faults)
    return {
      name,
      connection: over,
      file,
      query: null,
      columns,
      dialect,
      rows,
      ...(where ? { where } : {}),
      ...position,
    }
  })
}

/** Returns the condition; null if there is none, or if it has a fault, which is then in `faults`. */
function readWhere(
  text: string | undefined,
  path: readonly (string | number)[],
  yaml: YamlReading,
  faults: Fault[],
): NonNullable<Source['where']> | null {
  if (text === undefined) return null
  const placeOf = yaml.positionInText(path)
  try {
    parseRowExpression(text)
    return { text, placeOf }
  } catch (error) {
    if (!(error instanceof SqlTextFault)) throw error
    faults.push(makeFault('bad_rule', placeOf(error.at), `where: ${error.message}`, error.remedy))
    return null
  }
}

function fileFault(file: string, connected: boolean): string | null {
  if (file === '') return null
  if (!connected && isAddress(file)) return vetAddressText(file)
  // A path with variables is checked at run.
  if (/\{[{%]/.test(file)) return null
  return vetPath(connected ? file.split('?')[0]! : file)
}

/** Checks that a source has a file, or a query over a connection. */
function checkSourceKeys(declared: Mapping, position: Position, faults: Fault[]): void {
  const { file, query } = declared
  if (file !== undefined && query !== undefined) {
    const message = 'A source has either "file" or "query".'
    faults.push(makeFault('bad_value', position, message, 'Make two sources of it.'))
  }
  const [forFiles] = ['columns', 'where', ...Object.keys(dialectProperties)].filter(
    (key) => declared[key] !== undefined,
  )
  if (query !== undefined && forFiles !== undefined) {
    const message = `"${forFiles}" is for files.`
    faults.push(
      makeFault(
        'bad_value',
        position,
        message,
        forFiles === 'where' ? 'Write it in the query.' : 'Cast in the query.',
      ),
    )
  }
}

function readTimeZone(given: unknown, yaml: YamlReading, faults: Fault[]): string {
  if (given === undefined) return 'UTC'
  const zone = given as string
  if (isTimeZone(zone)) return zone
  const message = `There is no time zone ${JSON.stringify(zone)}.`
  const remedy = 'Use an IANA name such as Europe/Berlin.'
  faults.push(makeFault('bad_value', yaml.position(['time_zone']), message, remedy))
  return 'UTC'
}

function readLimits(given: Mapping, yaml: YamlReading, faults: Fault[]): Limits {
  const read = (key: string, fallback: number, reader: (value: unknown) => number | null, help: string) => {
    if (given[key] === undefined) return fallback
    const value = reader(given[key])
    if (value !== null) return value
    const message = `${key} must be ${help}, not ${JSON.stringify(given[key])}.`
    faults.push(makeFault('bad_value', yaml.position(['limits', key]), message, 'Correct it.'))
    return fallback
  }
  const size = 'a size such as 512MB or 1GB'
  return {
    timeout_ms: read('timeout', DEFAULT_LIMITS.timeout_ms, readDuration, 'a duration such as 60s or 5m'),
    memory_bytes: read('memory', DEFAULT_LIMITS.memory_bytes, readSize, size),
    threads: (given.threads as number | undefined) ?? DEFAULT_LIMITS.threads,
    rows: (given.rows as number | undefined) ?? DEFAULT_LIMITS.rows,
    output_bytes: read('output', DEFAULT_LIMITS.output_bytes, readSize, size),
  }
}
