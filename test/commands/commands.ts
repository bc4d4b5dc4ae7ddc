/**
 * Runs commands of `assay` for tests, each by its function in one process that stays: the start of a process takes
 * most of the processor time of a short command. Tests about the process itself (signals, pipes, the exit code, input
 * during a run) start processes of their own, in cli.test.ts and webhook-commands.test.ts.
 */
import { type ChildProcess, fork } from 'node:child_process'
import path from 'node:path'
import { cleanEnvironment } from '../servers/service.ts'

export interface Asked {
  id: number
  args: string[]
  input: string
  cwd: string
  env: NodeJS.ProcessEnv
}

export interface Outcome {
  code: number
  out: string
  err: string
}

export interface Commands {
  /** Runs a command after the earlier ones. `env` is added to that of the folder. */
  run(
    args: string[],
    options?: { input?: string; env?: Record<string, string>; cwd?: string },
  ): Promise<Outcome>
  close(): void
}

/** The limit in milliseconds, which only guards against hanging. */
const LIMIT_MS = 300_000

/** Resolves with the outcome. Rejects when the process ends or takes too long. */
function answerOf(child: ChildProcess, asked: Asked): Promise<Outcome> {
  return new Promise((resolve, reject) => {
    const named = `assay ${asked.args.join(' ')}`
    const end = (settle: () => void): void => {
      clearTimeout(late)
      child.off('message', told)
      child.off('exit', ended)
      settle()
    }
    const told = (message: unknown): void => {
      const { id, ...outcome } = message as Outcome & { id?: number }
      if (id === asked.id) end(() => resolve(outcome))
    }
    const ended = (): void => end(() => reject(new Error(`The process of the commands ended in: ${named}`)))
    const late = setTimeout(() => {
      end(() => reject(new Error(`It did not end within ${LIMIT_MS / 1000} s: ${named}`)))
      child.kill('SIGKILL')
    }, LIMIT_MS)
    child.on('message', told)
    child.on('exit', ended)
    child.send(asked)
  })
}

interface CommandsOptions {
  cwd: string
  env: Record<string, string>
  /** True lets the commands that run a template share one pool, which stays (kept-pool.ts). */
  keepPool?: boolean
}

/** Opens the process. `cwd` and `env` are those of every command; the environment has no other setting of Assay. */
export function openCommands({ cwd, env, keepPool = false }: CommandsOptions): Commands {
  let child: ChildProcess | undefined
  let count = 0
  let last: Promise<unknown> = Promise.resolve()
  return {
    run(args, options = {}) {
      count += 1
      const asked: Asked = {
        id: count,
        args,
        input: options.input ?? '',
        cwd: options.cwd ?? cwd,
        env: cleanEnvironment({ ...env, ...options.env }),
      }
      child ??= fork(path.join(import.meta.dirname, 'command-process.ts'), {
        execArgv: keepPool ? ['--import', path.join(import.meta.dirname, 'kept-pool.ts')] : [],
        stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      })
      const answer = last.then(() => answerOf(child!, asked))
      last = answer.catch(() => undefined)
      return answer
    },
    close() {
      child?.kill('SIGKILL')
    },
  }
}
