#!/usr/bin/env node
// Starts a file on the pinned Node. Assay's sources are TypeScript that Node 24 runs as they are; where an older
// Node starts this file, the one that npm installed as an optional package takes over. Plain JavaScript on purpose:
// it must parse on Node 20.
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

const oldestMajor = 24
const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)))

function isNewEnough() {
  return Number(process.versions.node.split('.')[0]) >= oldestMajor
}

function pinnedNode() {
  const platform = process.platform === 'win32' ? 'win' : process.platform
  try {
    const manifest = createRequire(import.meta.url).resolve(`node-${platform}-${process.arch}/package.json`)
    const file = path.join(path.dirname(manifest), 'bin', process.platform === 'win32' ? 'node.exe' : 'node')
    return existsSync(file) ? file : undefined
  } catch {
    return undefined
  }
}

/**
 * Runs `file` with `args` on Node 24 or newer, in this process where it is one already. A child holds an IPC channel
 * and ends when it is cut, so a killed wrapper leaves no orphan; signals and the exit code are handed on.
 */
export async function start(file, args) {
  if (isNewEnough()) {
    const { enableCompileCache } = await import('node:module')
    enableCompileCache()
    process.argv = [process.execPath, file, ...args]
    await import(file)
    return
  }
  const node = pinnedNode()
  if (!node) {
    process.stderr.write(
      `assay needs Node ${oldestMajor} or newer; this is ${process.versions.node}, and no packaged Node was found for ` +
        `${process.platform}-${process.arch}. Run "npm ci" (without --omit=optional), or install Node ${oldestMajor}.\n`,
    )
    process.exitCode = 69
    return
  }
  const child = spawn(node, [path.join(root, 'bin', 'runtime.js'), file, ...args], {
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    env: { ...process.env, ASSAY_WRAPPED: '1' },
  })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
  child.on('error', (error) => {
    process.stderr.write(`assay could not start ${node}: ${error.message}\n`)
    process.exit(70)
  })
  child.on('exit', (code, signal) => {
    process.exit(code ?? 128 + (signal === 'SIGINT' ? 2 : signal === 'SIGTERM' ? 15 : 9))
  })
}

if (process.argv[1] && path.resolve(process.argv[1]) === fileURLToPath(import.meta.url)) {
  if (process.env.ASSAY_WRAPPED && process.channel) {
    delete process.env.ASSAY_WRAPPED
    process.on('disconnect', () => process.exit(129))
    process.channel.unref()
  }
  const [file, ...args] = process.argv.slice(2)
  if (file) await start(path.resolve(file), args)
  else process.stderr.write('usage: node bin/runtime.js FILE [ARGUMENT...]\n')
}
