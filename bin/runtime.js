#!/usr/bin/env node
// Starts a file on the pinned Node. Assay's sources are TypeScript that Node 24 runs as they are; where an older
// Node starts this file, the one that npm installed as an optional package takes over. Plain JavaScript on purpose:
// it must parse on Node 20.
import { spawn } from 'node:child_process'
import { existsSync, realpathSync } from 'node:fs'
import { createRequire } from 'node:module'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const oldestMajor = 24

/** ASSAY_TEST_WRAPPER lets tests have a wrapper where this Node would do without one. */
function runsHere() {
  return Number(process.versions.node.split('.')[0]) >= oldestMajor && !process.env.ASSAY_TEST_WRAPPER
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
 * A child that is this process in all but name. It has a process group of its own, so that Ctrl-C reaches the wrapper
 * alone and is handed on once; and an IPC channel, so that it ends when the wrapper is killed.
 */
function wrap(node, file, args, flags) {
  const { ASSAY_TEST_WRAPPER: _, ...environment } = process.env
  const child = spawn(node, [...flags, fileURLToPath(import.meta.url), file, ...args], {
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    detached: process.platform !== 'win32',
    env: { ...environment, ASSAY_WRAPPED: '1' },
  })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
  child.on('error', (error) => {
    process.stderr.write(`assay could not start ${node}: ${error.message}\n`)
    process.exit(70)
  })
  child.on('exit', (code, signal) => process.exit(code ?? 128 + (os.constants.signals[signal] ?? 0)))
}

/**
 * This process begins anew with the flags, which V8 takes at its beginning only: same pid, same files. Where the system
 * cannot do that, or a parent talks to this process, it goes on without them; flags that were given are left as they are.
 */
function restartWith(flags, file, args) {
  const given = [...process.execArgv, process.env.NODE_OPTIONS ?? ''].join(' ').replaceAll('_', '-')
  const missing = flags.filter((flag) => !given.includes(flag.split('=')[0]))
  if (missing.length === 0 || process.channel || process.platform === 'win32' || !process.execve) return
  const again = [
    process.execPath,
    ...process.execArgv,
    ...missing,
    fileURLToPath(import.meta.url),
    file,
    ...args,
  ]
  // One arena of the C library in place of eight a core: each keeps what its threads have freed, 14 MB the second.
  process.execve(process.execPath, again, { MALLOC_ARENA_MAX: '1', ...process.env })
}

/**
 * Runs `file` with `args` on Node 24 or newer: in this process where it is one already, else in a child. `flags` are
 * Node's, for what gains by them and works without them, too.
 */
export async function start(file, args, flags = []) {
  if (file.split(path.sep).includes('node_modules')) {
    process.stderr.write(
      'assay runs from a clone of its repository: Node runs no TypeScript below node_modules. In the clone run "npm ci", ' +
        'then "npm install -g ." if you want the command everywhere.\n',
    )
    process.exitCode = 69
    return
  }
  if (runsHere()) {
    restartWith(flags, file, args)
    const { enableCompileCache } = await import('node:module')
    enableCompileCache()
    process.argv = [process.execPath, file, ...args]
    await import(pathToFileURL(file).href)
    return
  }
  const node = pinnedNode()
  if (node) return wrap(node, file, args, flags)
  process.stderr.write(
    `assay needs Node ${oldestMajor} or newer; this is ${process.versions.node}, and no packaged Node was found for ` +
      `${process.platform}-${process.arch}. Run "npm ci" (without --omit=optional), or install Node ${oldestMajor}.\n`,
  )
  process.exitCode = 69
}

if (process.argv[1] && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  if (process.env.ASSAY_WRAPPED && process.channel) {
    process.on('disconnect', () => process.exit(129))
    process.channel.unref()
  }
  delete process.env.ASSAY_WRAPPED
  const [file, ...args] = process.argv.slice(2)
  if (file) await start(path.resolve(file), args)
  else process.stderr.write('usage: node bin/runtime.js FILE [ARGUMENT...]\n')
}
