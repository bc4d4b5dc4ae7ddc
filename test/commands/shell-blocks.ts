/**
 * Runs the commands of a guide as its reader would paste them: every ```sh block in order, except those under a
 * comment "<!-- not run: REASON -->". One bash runs them all, and stops at the first that fails.
 */
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { eventually, membersOf } from '../servers/service.ts'

export interface ShellBlock {
  line: number
  script: string
  notRun: string | null
}

export function shellBlocks(file: string): ShellBlock[] {
  const text = readFileSync(file, 'utf8')
  return [...text.matchAll(/(?:<!-- not run: (.+?) -->\s*\n)?^```sh\n([\s\S]*?)^```$/gm)].map((match) => ({
    line: text.slice(0, match.index).split('\n').length,
    script: match[2]!,
    notRun: match[1] ?? null,
  }))
}

export interface ShellResult {
  code: number
  output: string
  /** The output of each block, in order. */
  outputs: string[]
}

/** The limit in milliseconds, which only guards against a command that never ends. */
const LIMIT_MS = 420_000

/**
 * Runs scripts one after the other in one shell with `pipefail` and `errexit`. Resolves when the shell has ended, and
 * all that it started.
 */
export function runShell(
  scripts: string[],
  options: { cwd: string; env: NodeJS.ProcessEnv },
): Promise<ShellResult> {
  const mark = '=====next block====='
  const script = ['set -eo pipefail', ...scripts.flatMap((part) => [part, `echo; echo "${mark}"`])].join('\n')
  return new Promise((resolve, reject) => {
    const shell = spawn('bash', ['-c', script], {
      ...options,
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    })
    let output = ''
    const late = setTimeout(() => {
      output += `\nThe commands still run after ${LIMIT_MS / 1000} s and are ended.\n`
      process.kill(-shell.pid!, 'SIGKILL')
    }, LIMIT_MS)
    shell.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()))
    shell.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()))
    shell.on('error', reject)
    shell.on('exit', () => {
      clearTimeout(late)
      try {
        // The processes that the commands left in the background end here.
        process.kill(-shell.pid!, 'SIGTERM')
      } catch {
        // No process was left.
      }
    })
    // All output has been read once no process holds the other end of the pipe.
    shell.on('close', (code) => {
      const outputs = output.split(mark).map((part) => part.trim())
      eventually(() => membersOf(shell.pid!).length === 0, 'what they left in the background ends').then(
        () => resolve({ code: code ?? 1, output, outputs }),
        reject,
      )
    })
  })
}
