#!/usr/bin/env node
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { start } from './runtime.js'

const [command] = process.argv.slice(2)
// V8 lets its young generation grow to 48 MB and keeps them; so it is 12, for some per cent of the greatest speed.
const flags = command === 'serve' ? ['--max-semi-space-size=4'] : []

await start(
  path.join(path.dirname(path.dirname(fileURLToPath(import.meta.url))), 'src/cli/main.ts'),
  process.argv.slice(2),
  flags,
)
