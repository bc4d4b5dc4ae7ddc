/** Runs the tests of one template, each over its own small tables, in the sandbox and with the limits of any run. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import type { Findings } from '@assay/model/insight'
import type { TemplateSource } from '@assay/model/template'
import { parse, stringify } from 'yaml'
import { fillCharts } from '../charts/charts.ts'
import { metricPartial } from '../metrics/names.ts'
import { withoutLineage } from '../printing/lineage-section.ts'
import { parseTemplate } from '../reading/parse.ts'
import { templateVersion } from '../reading/partials.ts'
import type { ConnectionAccess } from '../run/connection-requests.ts'
import type { Pool } from '../run/pool/pool.ts'
import type { Roots } from '../run/protocol.ts'
import { convertVariables } from '../values/variables.ts'
import type { Fixture, TemplateTest } from './definition.ts'
import { judge } from './judge.ts'

export interface TestRun {
  pool: Pool
  /** The folders of sources without a fixture. */
  roots: Roots
  template: TemplateSource
  /**
   * The folder for the small tables. All tests share it, because a process with walls sees only the folders with
   * which it began.
   */
  folder: string
  connections?: ConnectionAccess
  signal?: AbortSignal
  /** Reads a file beside the tests: a fixture. Rejects with an Error whose message is shown. */
  read(file: string): Promise<Buffer>
  /** Resolves with the golden Markdown; null if the file is missing. */
  golden(file: string): Promise<string | null>
  /** Replaces a golden Markdown. Without it goldens are compared. */
  update?: ((file: string, markdown: string) => Promise<void>) | undefined
}

export interface TestResult {
  test: TemplateTest
  /** The failures; empty if the test passed. */
  failures: string[]
  elapsed_ms: number
}

export async function runTest(test: TemplateTest, run: TestRun): Promise<TestResult> {
  const began = performance.now()
  const folder = await mkdtemp(path.join(run.folder, 'test-'))
  try {
    const failures = await failuresOf(test, run, folder)
    return { test, failures, elapsed_ms: Math.round(performance.now() - began) }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function failuresOf(test: TemplateTest, run: TestRun, folder: string): Promise<string[]> {
  const template = withTestMetrics(run.template, Object.keys(test.metrics))
  const parsed = parseTemplate(template)
  const broken = parsed.faults.find(({ severity }) => severity === 'error')
  if (broken || !parsed.template)
    return [`The template has a fault: ${broken?.message ?? ''} ${broken?.remedy ?? ''}`]
  const { values, errors } = convertVariables(parsed.template.variables, test.variables)
  if (errors.length > 0) return expectError(test, errors.map(({ message }) => message).join(' '))
  const fixtures = await writeFixtures(test, run, folder)
  const result = await run.pool.run(
    {
      kind: 'run',
      template,
      variables: values,
      started_at: new Date(test.started_at).toISOString(),
      reader: test.reader,
      roots: { ...run.roots, fixtures },
    },
    {
      workspace_id: 'tests',
      ...(run.signal ? { signal: run.signal } : {}),
      ...(run.connections ? { connections: run.connections } : {}),
    },
  )
  switch (result.status) {
    case 'done':
      return test.expect.error === undefined
        ? judged(test, result.findings, run)
        : [`The run completed, and an error like ${JSON.stringify(test.expect.error)} is expected.`]
    case 'failed':
      return expectError(test, `${result.error.code}: ${result.error.detail}`)
    case 'crashed':
      return [`The analysis process ended: ${result.detail}`]
    case 'stopped':
      return ['The run was stopped.']
  }
}

function expectError({ expect }: TemplateTest, message: string): string[] {
  if (expect.error === undefined) return [`The run failed: ${message}`]
  if (new RegExp(expect.error, 'u').test(message)) return []
  return [`The error does not match ${JSON.stringify(expect.error)}: ${message}`]
}

async function judged({ expect }: TemplateTest, findings: Findings, run: TestRun): Promise<string[]> {
  const filled = fillCharts(findings.markdown, findings.charts, findings.chart_form)
  const markdown = `${withoutLineage({ ...findings, markdown: filled }).trimEnd()}\n`
  if (expect.markdown === undefined) return judge(expect, findings, { markdown, golden: null })
  if (run.update) await run.update(expect.markdown, markdown)
  const golden = await run.golden(expect.markdown)
  if (golden === null)
    return [
      `There is no file ${expect.markdown}. Look at the report, and write it with --update.`,
      ...judge(expect, findings, { markdown, golden: null }),
    ]
  return judge(expect, findings, { markdown, golden })
}

/** Returns the template with files in place of the sources of these metrics, whatever they are read from. */
function withTestMetrics(template: TemplateSource, names: readonly string[]): TemplateSource {
  if (names.length === 0) return template
  const partials = { ...template.partials }
  for (const name of names) {
    const given = parse(partials[metricPartial(name)]!) as Record<string, unknown>
    const { columns } = given.source as { columns?: object }
    const source = { file: `${name}.csv`, ...(columns ? { columns } : {}) }
    partials[metricPartial(name)] = stringify({ ...given, source })
  }
  return { ...template, partials, version: templateVersion(template.source, partials) }
}

async function writeFixtures(
  test: TemplateTest,
  run: TestRun,
  folder: string,
): Promise<NonNullable<Roots['fixtures']>> {
  const named = [
    ...Object.entries(test.sources),
    ...Object.entries(test.metrics).map(([name, one]): [string, Fixture] => [`rows of ${name}`, one]),
  ]
  const sources: NonNullable<Roots['fixtures']>['sources'] = {}
  for (const [name, fixture] of named) {
    const { ending, content } = await contentOf(fixture, run)
    const file = `${name.replaceAll(' ', '-')}${ending}`
    await writeFile(path.join(folder, file), content)
    sources[name] = { file: `${path.basename(folder)}/${file}`, columns: fixture.columns }
  }
  return { folder: run.folder, sources }
}

async function contentOf(
  { rows, csv, file, columns }: Fixture,
  run: TestRun,
): Promise<{ ending: string; content: string | Buffer }> {
  if (file !== null) {
    const base = path.basename(file)
    return { ending: base.slice(Math.max(0, base.indexOf('.'))), content: await run.read(file) }
  }
  if (csv !== null) return { ending: '.csv', content: csv }
  if (rows!.length > 0)
    return { ending: '.ndjson', content: rows!.map((row) => `${JSON.stringify(row)}\n`).join('') }
  const quoted = Object.keys(columns).map((name) => `"${name.replaceAll('"', '""')}"`)
  return { ending: '.csv', content: `${quoted.join(',')}\n` }
}
