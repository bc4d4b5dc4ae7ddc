#!/usr/bin/env node
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { start } from './runtime.js'

const [command] = process.argv.slice(2)
// V8 lets its young generation grow to 48 MB and keeps them: so it is 12. Its many small collections, of which little
// survives, are a third as long where one thread does each: handing them out to helpers takes longer than they do. What
// its compilers need is freed at once, not when a helper finds the time: many at once raised the heap of the C library by
// 10 MB for good. And the service may ask for a collection when it is at rest (packages/service/runtime/rest.ts).
const flags =
  command === 'serve'
    ? [
        '--max-semi-space-size=4',
        '--no-parallel-scavenge',
        '--no-maglev-destroy-on-background',
        '--expose-gc',
      ]
    : []

await start(
  path.join(path.dirname(path.dirname(fileURLToPath(import.meta.url))), 'packages/cli/main.ts'),
  process.argv.slice(2),
  flags,
)
