/** Reads the tests of a template. Every fault has its position and says what to write instead. */
import type { Grade } from '@assay/model/insight'
import { type Reader, readerFault } from '@assay/model/reader'
import type { Fault, Template } from '@assay/model/template'
import { makeFault, sortFaults } from '../language/fault.ts'
import { normaliseNewlines } from '../language/fences.ts'
import { metricNames } from '../metrics/names.ts'
import { schemaFaults } from '../reading/schema-faults.ts'
import { readYaml, type YamlReading } from '../reading/yaml-reading.ts'
import { suggest } from '../values/near.ts'
import { testsSchema } from './schema.ts'

export type Row = Record<string, unknown>

/** A small table: rows, or the text of a CSV file, or a file beside the test. */
export interface Fixture {
  rows: Row[] | null
  csv: string | null
  file: string | null
  /** The types by column. */
  columns: Record<string, string>
}

/** An expected value, or a number and how far the found one may differ from it. */
export type Wanted = string | number | boolean | null | { value: number; within: number }

export interface Expected {
  error?: string
  title?: string
  skipped?: boolean
  facts?: Record<string, Wanted>
  rows?: Record<string, number>
  headlines?: Record<string, string>
  grades?: Record<string, Grade>
  codes?: Record<string, string[]>
  values?: Record<string, Wanted>
  text?: string | string[]
  markdown?: string
}

export interface TemplateTest {
  name: string
  line: number
  /** The clock of the run by RFC 3339. */
  started_at: string
  variables: Record<string, unknown>
  /** The reader of a personal template; null for none. */
  reader: Reader | null
  /** The tables in place of sources, by name. */
  sources: Record<string, Fixture>
  /** The tables in place of the rows of metrics, by name. */
  metrics: Record<string, Fixture>
  expect: Expected
}

export interface TestFile {
  /** The template's file, if the name of the test names another; else null. */
  template: string | null
  tests: TemplateTest[]
  faults: Fault[]
  yaml: YamlReading
}

const SOME_START = '2026-01-01T12:00:00.000Z'
const ENDING = '.test.yaml'

export const isTestFile = (file: string): boolean => file.endsWith(ENDING)
/** Turns "report.md" into "report.test.yaml". */
export const testFileOf = (template: string): string => template.replace(/\.md$/, ENDING)
/** Turns "report.test.yaml" into "report.md". */
export const templateFileOf = (file: string): string => `${file.slice(0, -ENDING.length)}.md`

export function readTests(source: string): TestFile {
  const yaml = readYaml(normaliseNewlines(source), 1)
  const faults =
    yaml.faults.length > 0
      ? [...yaml.faults]
      : schemaFaults(testsSchema, yaml.value ?? {}, 'the test file', yaml.position)
  if (faults.length > 0) return { template: null, tests: [], faults: sortFaults(faults), yaml }
  const given = yaml.value as { template?: string; tests: Record<string, unknown>[] }
  const tests = given.tests.map((one, index) => testOf(one, index, yaml, faults))
  return { template: given.template ?? null, tests, faults: sortFaults(faults), yaml }
}

function testOf(
  given: Record<string, unknown>,
  index: number,
  yaml: YamlReading,
  faults: Fault[],
): TemplateTest {
  const at = ['tests', index]
  const expect = given.expect as Expected
  const refuse = (path: (string | number)[], message: string, remedy: string): void => {
    faults.push(makeFault('bad_value', yaml.position([...at, ...path]), message, remedy))
  }
  for (const [path, pattern] of patternsOf(expect))
    if (regex(pattern) === null)
      refuse(
        ['expect', ...path],
        `${JSON.stringify(pattern)} is not a pattern.`,
        'Put \\ before ( ) [ ] * + ?',
      )
  const started = (given.started_at as string | undefined) ?? SOME_START
  if (Number.isNaN(Date.parse(started)) || !/^\d{4}-\d\d-\d\dT.*(Z|[+-]\d\d:\d\d)$/.test(started))
    refuse(['started_at'], `${JSON.stringify(started)} is not a time.`, 'Write 2026-01-01T12:00:00Z.')
  if (expect.error !== undefined && Object.keys(expect).length > 1)
    refuse(['expect', 'error'], 'A run that fails has no result.', 'Expect either "error" or a result.')
  const reader = given.reader === undefined ? null : { id: 'test', ...(given.reader as object) }
  const unfit = reader === null ? null : readerFault(reader)
  if (unfit !== null) refuse(['reader'], unfit, 'Write reader: { region: North, teams: [a, b] }.')
  const fixtures = (kind: 'sources' | 'metrics'): Record<string, Fixture> =>
    Object.fromEntries(
      Object.entries((given[kind] ?? {}) as Record<string, Row[] | Partial<Fixture>>).map(([name, one]) => [
        name,
        fixtureOf(one, (message, remedy) => refuse([kind, name], message, remedy)),
      ]),
    )
  return {
    name: given.test as string,
    line: yaml.position(at).line,
    started_at: started,
    variables: (given.variables as Record<string, unknown> | undefined) ?? {},
    reader: unfit === null ? reader : null,
    sources: fixtures('sources'),
    metrics: fixtures('metrics'),
    expect,
  }
}

function fixtureOf(
  given: Row[] | Partial<Fixture>,
  refuse: (message: string, remedy: string) => void,
): Fixture {
  const {
    rows = null,
    csv = null,
    file = null,
    columns = {},
  } = Array.isArray(given) ? { rows: given } : given
  if ([rows, csv, file].filter((one) => one !== null).length !== 1)
    refuse('A table has exactly one of "rows", "csv" and "file".', 'Write a list of rows.')
  if (rows?.length === 0 && Object.keys(columns).length === 0)
    refuse('A table without rows needs the types of its columns.', 'Add "columns": { n: integer }.')
  return { rows, csv, file, columns }
}

/** Returns the pattern of a test file; null if it is not valid. */
export function regex(pattern: string): RegExp | null {
  try {
    return new RegExp(pattern, 'u')
  } catch {
    return null
  }
}

function patternsOf(expect: Expected): [path: (string | number)[], pattern: string][] {
  const { error, title, headlines = {}, text = [] } = expect
  const lines = Array.isArray(text)
    ? text.map((one, index): [(string | number)[], string] => [['text', index], one])
    : ([[['text'], text]] as [(string | number)[], string][])
  return [
    ...(error === undefined ? [] : ([[['error'], error]] as [string[], string][])),
    ...(title === undefined ? [] : ([[['title'], title]] as [string[], string][])),
    ...Object.entries(headlines).map(([name, one]): [string[], string] => [['headlines', name], one]),
    ...lines,
  ]
}

/** Returns faults of the names in the tests that the template does not have. */
export function nameFaults({ tests, yaml }: TestFile, template: Template): Fault[] {
  const names = (kind?: 'analysis'): string[] =>
    template.blocks.filter((block) => kind === undefined || block.kind === kind).map(({ name }) => name)
  const known = {
    sources: template.sources.map(({ name }) => name).filter((name) => !name.includes(' ')),
    metrics: metricNames(template.partials),
  }
  return tests.flatMap(({ sources, metrics, expect }, index) => {
    const missing = (path: string[], name: string, among: string[], what: string): Fault[] =>
      among.includes(name)
        ? []
        : [
            makeFault(
              'unknown_name',
              yaml.position(['tests', index, ...path, name], 'key'),
              `The template has no ${what} ${JSON.stringify(name)}.`,
              suggest(name, among),
            ),
          ]
    const analyses = (['headlines', 'grades', 'codes'] as const).flatMap((key) =>
      Object.keys(expect[key] ?? {}).flatMap((name) =>
        missing(['expect', key], name, names('analysis'), 'analysis'),
      ),
    )
    const paths = (['rows', 'values'] as const).flatMap((key) =>
      Object.keys(expect[key] ?? {}).flatMap((path) => {
        const [block] = path.split('.')
        const [fault] = missing(['expect', key], block!, names(), 'block')
        return fault ? [{ ...fault, ...yaml.position(['tests', index, 'expect', key, path], 'key') }] : []
      }),
    )
    return [
      ...Object.keys(sources).flatMap((name) => missing(['sources'], name, known.sources, 'source')),
      ...Object.keys(metrics).flatMap((name) => missing(['metrics'], name, known.metrics, 'metric')),
      ...analyses,
      ...paths,
    ]
  })
}
