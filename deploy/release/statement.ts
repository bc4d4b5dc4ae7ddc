/**
 * Writes the statement of a release: the checksum of each file, and the origin of the files as an in-toto statement
 * with the provenance of SLSA 1.0 (https://slsa.dev/spec/v1.0/provenance). The statement is not signed: the publisher
 * of a release signs SHA256SUMS.
 */
import { execFileSync } from 'node:child_process'
import { readdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import type { Material } from './base.ts'
import { sha256Of } from './files.ts'

const root = path.join(import.meta.dirname, '../..')
const STATEMENT = 'provenance.intoto.json'
const SUMS = 'SHA256SUMS'

export interface Made {
  version: string
  commit: string
  platforms: string[]
  started: Date
  finished: Date
  materials: Material[]
}

/** Returns the commit, and whether every file equals that of the commit. */
export function commitOf(): { commit: string; time: number; clean: boolean } {
  const git = (...args: string[]) => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim()
  const [commit, time] = git('log', '-1', '--format=%H %ct').split(' ')
  return { commit: commit!, time: Number(time), clean: git('status', '--porcelain') === '' }
}

export async function statementOf(folder: string, names: readonly string[], made: Made): Promise<object> {
  const subject = await Promise.all(
    names.map(async (name) => ({ name, digest: { sha256: await sha256Of(path.join(folder, name)) } })),
  )
  const lock = await sha256Of(path.join(root, 'package-lock.json'))
  return {
    _type: 'https://in-toto.io/Statement/v1',
    subject,
    predicateType: 'https://slsa.dev/provenance/v1',
    predicate: {
      buildDefinition: {
        buildType: 'urn:assay:release:1',
        externalParameters: { version: made.version, platforms: made.platforms },
        internalParameters: { node: process.version },
        resolvedDependencies: [
          { name: 'source', uri: `git+urn:assay@${made.commit}`, digest: { gitCommit: made.commit } },
          { name: 'package-lock.json', uri: 'urn:assay:package-lock.json', digest: { sha256: lock } },
          ...made.materials,
        ],
      },
      runDetails: {
        builder: { id: 'urn:assay:deploy/release/main.ts' },
        metadata: {
          invocationId: `${made.commit}/${made.started.toISOString()}`,
          startedOn: made.started.toISOString(),
          finishedOn: made.finished.toISOString(),
        },
      },
    },
  }
}

/** Writes the statement, and then the checksums of all files as "sha256sum --check" reads them. */
export async function writeStatement(folder: string, made: Made): Promise<void> {
  const names = readdirSync(folder).filter((name) => name !== SUMS && name !== STATEMENT)
  const statement = await statementOf(folder, names.toSorted(), made)
  writeFileSync(path.join(folder, STATEMENT), `${JSON.stringify(statement, null, 2)}\n`)
  const lines = []
  for (const name of [...names, STATEMENT].toSorted())
    lines.push(`${await sha256Of(path.join(folder, name))}  ${name}\n`)
  writeFileSync(path.join(folder, SUMS), lines.join(''))
}
