/** assay test: runs templates over small tables and compares the results with the expectations of their authors. */

import { globSync } from 'node:fs'
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { Pool } from '@assay/engine/run/pool'
import type { Fault } from '@assay/model/template'
import { type Config, resolveConfig } from '@assay/service/config/config'
import type { Call, Command } from '../../command.ts'
import { EXIT, ExitError } from '../../exit.ts'
import { flag, text } from '../../options.ts'
import { out, say } from '../../print.ts'
import { faultLine } from './check.ts'
import { type JunitSuite, junit } from './junit.ts'
import { readText } from './text-file.ts'
import { leadsOut, writeBelow } from './write-file.ts'

/** Returns the test files that the operands name: test files, templates that have tests beside them, and folders. */
async function testFiles(operands: readonly string[], config: Config): Promise<string[]> {
  const { isTestFile, testFileOf } = await import('@assay/engine/testing/definition')
  const given =
    operands.length > 0 ? operands : config.templates.folders.length > 0 ? config.templates.folders : ['.']
  const found: string[] = []
  for (const operand of given) {
    const about = await stat(operand).catch(() => null)
    if (about?.isDirectory()) {
      const inside = globSync('**/*.test.yaml', { cwd: operand, exclude: ['**/node_modules/**'] }).toSorted()
      if (inside.length === 0) throw new ExitError(EXIT.notFound, `${operand} has no NAME.test.yaml.`)
      found.push(...inside.map((name) => path.join(operand, name)))
    } else if (isTestFile(operand)) found.push(operand)
    else if (operand.endsWith('.md')) found.push(testFileOf(operand))
    else
      throw new ExitError(EXIT.notFound, `${operand} is neither a template, a NAME.test.yaml nor a folder.`)
  }
  return [...new Set(found)]
}

interface Suite {
  /** The folder for the small tables of tests. */
  tables: string
  pool: Pool
  config: Config
  call: Call
}

/** Runs the suite of one file. The faults of the file become one failed case. */
async function runFile(file: string, { pool, config, call, tables }: Suite): Promise<JunitSuite> {
  const { localConnections, localRoots, readTemplate } = await import('../../local-template.ts')
  const { nameFaults, readTests, templateFileOf } = await import('@assay/engine/testing/definition')
  const { runTest } = await import('@assay/engine/testing/run-tests')
  const folder = path.dirname(file)
  const tests = readTests(await readText(file))
  const broken = (faults: readonly Fault[], of = file): JunitSuite => {
    const failures = faults.map((fault) => faultLine(of, fault))
    for (const failure of failures) out(`${failure}\n`)
    return { name: file, cases: [{ name: `${path.basename(of)} has no faults`, failures, elapsed_ms: 0 }] }
  }
  if (tests.faults.length > 0) return broken(tests.faults)
  const template = tests.template === null ? templateFileOf(file) : path.join(folder, tests.template)
  const { source, parsed } = await readTemplate(template, config.templates.folders)
  const errors = parsed.faults.filter(({ severity }) => severity === 'error')
  if (errors.length > 0 || !parsed.template) return broken(errors, template)
  const unknown = nameFaults(tests, parsed.template)
  if (unknown.length > 0) return broken(unknown)
  // A test may come from a stranger, so it reads and writes only below its own folder.
  const beside = (name: string): string => {
    const found = path.resolve(folder, name)
    if (leadsOut(folder, found))
      throw new ExitError(EXIT.failed, `${file}: ${name} lies outside of the folder of the test.`)
    return found
  }
  const run = {
    pool,
    folder: tables,
    template: source,
    roots: await localRoots(config),
    connections: await localConnections(config, call.environment, source),
    signal: call.signal,
    read: (name: string) =>
      readFile(beside(name)).catch((error: Error) => {
        throw new ExitError(EXIT.notFound, `${file}: ${beside(name)} cannot be read: ${error.message}`)
      }),
    golden: (name: string) => readFile(beside(name), 'utf8').catch(() => null),
    update: call.on('update')
      ? (name: string, markdown: string) => writeBelow(folder, beside(name), markdown)
      : undefined,
  }
  const cases: JunitSuite['cases'][number][] = []
  for (const test of tests.tests) {
    const { failures, elapsed_ms } = await runTest(test, run)
    cases.push({ name: test.name, failures, elapsed_ms })
    out(`${failures.length === 0 ? 'ok' : 'FAILED'}  ${file}:${test.line}: ${test.name}\n`)
    for (const failure of failures) out(`    ${failure}\n`)
  }
  return { name: file, cases }
}

export const TEST: Command = {
  name: 'test',
  operands: '[FILE...]',
  summary: 'Test templates over small tables: NAME.test.yaml beside NAME.md',
  details:
    'FILE is a test file, a template or a folder; without one the folders of ASSAY_TEMPLATES, else this one.\n' +
    'Prints each test and what is wrong. Ends with 1 where a test fails. docs/testing.md describes the file.',
  options: {
    junit: text('FILE', 'Also write the results as JUnit XML'),
    update: flag('Write the Markdown that tests compare with anew'),
  },
  async run(call) {
    const { config } = resolveConfig(call.environment, call.settings)
    const { silentLog } = await import('@assay/service/runtime/log')
    const { withPool } = await import('../../local-pool.ts')
    const files = await testFiles(call.operands, config)
    const suites: JunitSuite[] = []
    const tables = await mkdtemp(path.join(tmpdir(), 'assay-tests-'))
    try {
      await withPool(config, silentLog, async (pool) => {
        for (const file of files) suites.push(await runFile(file, { pool, config, call, tables }))
      })
    } finally {
      await rm(tables, { recursive: true, force: true })
    }
    const to = call.text('junit')
    if (to !== undefined) await writeFile(to, junit(suites))
    const cases = suites.flatMap((suite) => suite.cases)
    const failed = cases.filter(({ failures }) => failures.length > 0).length
    say(failed === 0 ? `${cases.length} tests passed.` : `${failed} of ${cases.length} tests failed.`)
    return failed === 0 ? EXIT.ok : EXIT.failed
  },
}
