#!/usr/bin/env node
/** The process of the command line: its signals, its pipes and its exit code. commands.ts runs the command. */
import { dispatch } from './commands.ts'
import { EXIT } from './exit.ts'

/**
 * Returns the signal that asks the command to stop. A second signal ends the process. A command that never listens
 * ends at once.
 */
function stopSignal(listens: boolean): AbortSignal {
  const control = new AbortController()
  for (const [name, code] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const) {
    process.on(name, () => {
      if (!listens || control.signal.aborted) process.exit(code)
      control.abort()
    })
  }
  return control.signal
}

/** Ends the command without a word when its reader has gone ("assay jobs list | head"). */
function endOnBrokenPipe(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) =>
      process.exit(error.code === 'EPIPE' ? EXIT.ok : EXIT.internal),
    )
  }
}

/** Waits until everything that was written has left the process. */
function flush(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => {
    stream.write('', () => resolve())
  })
}

endOnBrokenPipe()
const code = await dispatch(process.argv.slice(2), { environment: process.env, stopSignal })
await Promise.all([flush(process.stdout), flush(process.stderr)])
process.exit(code)
