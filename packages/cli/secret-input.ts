/** Reads secrets from standard input, because others on the machine can read a command line. */
import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import { UsageError } from './exit.ts'

/** Reads a secret: the first line of a pipe, or a hidden input on a terminal. Throws UsageError if there is none. */
export async function readSecret(name: string): Promise<string> {
  const terminal = process.stdin.isTTY
  if (terminal) process.stderr.write(`${name}: `)
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() })
  const lines = createInterface({ input: process.stdin, output: silent, terminal })
  try {
    for await (const line of lines) return line
    throw new UsageError(`${name} is read from standard input, which is empty.`)
  } finally {
    lines.close()
    if (terminal) process.stderr.write('\n')
  }
}
