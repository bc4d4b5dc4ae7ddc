#!/usr/bin/env node
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { start } from './runtime.js'

const [command] = process.argv.slice(2)
// V8 lets its young generation grow to 48 MB and keeps them: so it is 12. Its many small collections, of which little
// survives, are a third as long where one thread does each: handing them out to helpers takes longer than they do.
const flags = command === 'serve' ? ['--max-semi-space-size=4', '--no-parallel-scavenge', '--expose-gc'] : []

await start(
  path.join(path.dirname(path.dirname(fileURLToPath(import.meta.url))), 'src/cli/main.ts'),
  process.argv.slice(2),
  flags,
)
