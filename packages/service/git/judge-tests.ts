/** Runs the tests of a commit, as `assay test` does. */

import { connectionsOf } from '@assay/engine/reading/lookup'
import { parseTemplate } from '@assay/engine/reading/parse'
import { nameFaults, readTests, templateFileOf } from '@assay/engine/testing/definition'
import { runTest } from '@assay/engine/testing/run-tests'
import type { RepositoryFault } from '@assay/model/repository'
import type { TemplateSource } from '@assay/model/template'
import { DEFAULT_WORKSPACE } from '@assay/model/token'
import type { Judging } from './judging.ts'
import { fault, type Parts, placed } from './tree.ts'

export interface TestedCommit {
  files: ReadonlyMap<string, Uint8Array>
  parts: Parts
  /** The templates that have no fault of syntax. */
  read: readonly { file: string; source: TemplateSource }[]
  /** A folder for the small tables of tests. */
  folder: string
  judging: Judging
}

/** Turns "./fixtures/a.csv" into "fixtures/a.csv". */
const below = (file: string): string => file.replace(/^(\.\/)+/, '')

async function runFile(
  file: string,
  { files, parts, read, folder, judging }: TestedCommit,
): Promise<RepositoryFault[]> {
  const tests = readTests(parts.tests[file]!)
  if (tests.faults.length > 0) return tests.faults.map((one) => placed(file, one))
  const of = tests.template === null ? templateFileOf(file) : below(tests.template)
  const source = read.find((one) => one.file === of)?.source
  if (!source) return [fault(file, `There is no template ${of}: name it with "template: FILE".`)]
  const { template } = parseTemplate(source)
  const unknown = template ? nameFaults(tests, template) : []
  if (unknown.length > 0) return unknown.map((one) => placed(file, one))
  const faults: RepositoryFault[] = []
  for (const test of tests.tests) {
    const { failures } = await runTest(test, {
      pool: judging.pool,
      folder,
      template: source,
      roots: judging.where,
      connections: judging.connections.accessFor({
        workspace_id: DEFAULT_WORKSPACE,
        names: async () => connectionsOf(source),
      }),
      signal: judging.signal,
      async read(name) {
        const bytes = files.get(below(name))
        if (!bytes) throw new Error(`${name} is not in the commit.`)
        return Buffer.from(bytes)
      },
      async golden(name) {
        const bytes = files.get(below(name))
        return bytes ? Buffer.from(bytes).toString('utf8') : null
      },
    })
    const told = failures.map((one) => `The test ${JSON.stringify(test.name)} fails: ${one}`)
    faults.push(
      ...told.map((message) => fault(file, message, { code: 'test_failed', line: test.line, column: 1 })),
    )
  }
  return faults
}

export async function runTests(commit: TestedCommit): Promise<RepositoryFault[]> {
  const faults: RepositoryFault[] = []
  for (const file of Object.keys(commit.parts.tests)) {
    if (commit.judging.signal.aborted) break
    try {
      faults.push(...(await runFile(file, commit)))
    } catch (error) {
      faults.push(fault(file, `The tests could not be run: ${(error as Error).message}`))
    }
  }
  return faults
}
