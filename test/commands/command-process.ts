/**
 * The process of test/commands/commands.ts. It runs commands one after the other, and answers with the output and the exit
 * code of each.
 */
import { Readable, Writable } from 'node:stream'
import { dispatch } from '../../packages/cli/commands.ts'
import type { Asked } from './commands.ts'

function standIn(name: 'stdin' | 'stdout' | 'stderr', stream: Readable | Writable): void {
  Object.defineProperty(process, name, { value: stream, configurable: true })
}

/** Replaces a stream of the process by one that keeps everything. The returned function gives the text. */
function kept(name: 'stdout' | 'stderr'): () => string {
  const chunks: Buffer[] = []
  const stream = new Writable({
    decodeStrings: true,
    write(chunk: Buffer, _encoding, done) {
      chunks.push(chunk)
      done()
    },
  })
  standIn(name, stream)
  return () => Buffer.concat(chunks).toString('utf8')
}

async function answer({ id, args, input, cwd, env }: Asked): Promise<void> {
  process.chdir(cwd)
  for (const name of Object.keys(process.env)) delete process.env[name]
  Object.assign(process.env, env)
  standIn('stdin', Readable.from([Buffer.from(input)]))
  const [out, err] = [kept('stdout'), kept('stderr')]
  const { signal } = new AbortController()
  const code = await dispatch(args, { environment: process.env, stopSignal: () => signal })
  process.send!({ id, code, out: out(), err: err() })
}

let last = Promise.resolve()
process.on('message', (asked: Asked) => {
  last = last.then(() => answer(asked))
})
process.on('disconnect', () => process.exit())
