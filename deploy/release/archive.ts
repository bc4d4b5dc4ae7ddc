/** Makes one folder with the program and its own Node, for machines that have neither Node nor a network. */
import { execFileSync } from 'node:child_process'
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { Target } from './modules.ts'

const root = path.join(import.meta.dirname, '../..')

/** The script that starts the program with the Node beside it, wherever the folder lies and whatever link calls it. */
const LAUNCHER = `#!/bin/sh
own=$(readlink -f -- "$0")
own=$(dirname -- "$own")
exec "$own/node/bin/node" "$own/bin/assay.js" "$@"
`

/** Puts the pinned Node of the platform, from npm, into `folder`: bin/node and its license. */
export function addNode(folder: string, { os, cpu }: Target): void {
  const { optionalDependencies } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as {
    optionalDependencies: Record<string, string>
  }
  const name = `node-${os}-${cpu}`
  const version = optionalDependencies[name]
  const from = mkdtempSync(path.join(tmpdir(), 'assay-node-'))
  try {
    const wanted = ['pack', '--silent', '--pack-destination', from, `${name}@${version}`]
    const tarball = execFileSync('npm', wanted, { cwd: from, encoding: 'utf8' }).trim()
    execFileSync('tar', ['-xzf', tarball, 'package/bin/node', 'package/LICENSE'], { cwd: from })
    mkdirSync(path.join(folder, 'bin'), { recursive: true })
    for (const file of ['bin/node', 'LICENSE'])
      cpSync(path.join(from, 'package', file), path.join(folder, file))
    chmodSync(path.join(folder, 'bin/node'), 0o755)
  } finally {
    rmSync(from, { recursive: true })
  }
}

/** Adds the launcher `assay` to the folder of a program. */
export function addLauncher(program: string): void {
  writeFileSync(path.join(program, 'assay'), LAUNCHER)
  chmodSync(path.join(program, 'assay'), 0o755)
}
