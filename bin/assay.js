#!/usr/bin/env node
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { start } from './runtime.js'

await start(
  path.join(path.dirname(path.dirname(fileURLToPath(import.meta.url))), 'packages/cli/main.ts'),
  process.argv.slice(2),
)
