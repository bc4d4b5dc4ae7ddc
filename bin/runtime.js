#!/usr/bin/env node
// Starts a file on the pinned Node. Assay's sources are TypeScript that Node 24 runs as they are. An older Node hands over
// to the Node that npm installed as an optional package. This file is plain JavaScript because it must parse on Node 20.
import { spawn } from 'node:child_process'
import { existsSync, realpathSync } from 'node:fs'
import { createRequire } from 'node:module'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const oldestMajor = 24

/** ASSAY_TEST_WRAPPER makes tests use the wrapper where this Node needs none. */
function runsHere() {
  return Number(process.versions.node.split('.')[0]) >= oldestMajor && !process.env.ASSAY_TEST_WRAPPER
}

const nodePackage = () => `node-${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}`

function pinnedNode() {
  try {
    const manifest = createRequire(import.meta.url).resolve(`${nodePackage()}/package.json`)
    const file = path.join(path.dirname(manifest), 'bin', process.platform === 'win32' ? 'node.exe' : 'node')
    return existsSync(file) ? file : undefined
  } catch {
    return undefined
  }
}

/**
 * What the service gives V8 when it starts: room for new objects of 4 MB (docs/decisions/0072), since V8's own 16 MB keep 60 MB of
 * memory, and its first 1 MB takes a third more processor time for each request; and a way to ask for a collection once nothing
 * happens (docs/decisions/0203).
 */
function flagsFor([command]) {
  const given = [...process.execArgv, process.env.NODE_OPTIONS ?? ''].join(' ').replaceAll('_', '-')
  return command !== 'serve' || given.includes('--max-semi-space-size')
    ? []
    : ['--max-semi-space-size=4', '--expose-gc']
}

/**
 * Starts this process anew with flags that V8 reads only when a process starts: the same id, the same files. Where the
 * system cannot do that, or a parent talks to this process over a channel, it goes on without them.
 */
function restart(flags, file, args) {
  if (flags.length === 0 || process.channel || process.platform === 'win32' || !process.execve) return
  const words = [...process.execArgv, ...flags, fileURLToPath(import.meta.url), file, ...args]
  process.execve(process.execPath, [process.execPath, ...words], process.env)
}

/**
 * Runs the file in a child process and passes signals and the exit code on. The child has its own process group, so that
 * Ctrl-C reaches the wrapper alone and is passed on once, and an IPC channel, so that it ends when the wrapper is killed.
 */
function wrap(node, file, args) {
  const { ASSAY_TEST_WRAPPER: _, ...environment } = process.env
  // From before the child starts: a signal that comes while it starts is passed on, too.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
  const child = spawn(node, [...flagsFor(args), fileURLToPath(import.meta.url), file, ...args], {
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    detached: process.platform !== 'win32',
    env: { ...environment, ASSAY_WRAPPED: '1' },
  })
  child.on('error', (error) => {
    process.stderr.write(`assay could not start ${node}: ${error.message}\n`)
    process.exit(70)
  })
  child.on('exit', (code, signal) => process.exit(code ?? 128 + (os.constants.signals[signal] ?? 0)))
}

/** Runs `file` with `args` on Node 24 or newer: in this process where it is one already, else in a child. */
export async function start(file, args) {
  if (file.endsWith('.ts') && file.split(path.sep).includes('node_modules')) {
    process.stderr.write(
      'assay runs from a clone of its repository: Node runs no TypeScript below node_modules. In the clone run "npm ci", ' +
        'then "npm install -g ." if you want the command everywhere.\n',
    )
    process.exitCode = 69
    return
  }
  if (runsHere()) {
    restart(flagsFor(args), file, args)
    const { enableCompileCache } = await import('node:module')
    enableCompileCache()
    process.argv = [process.execPath, file, ...args]
    await import(pathToFileURL(file).href)
    return
  }
  const node = pinnedNode()
  if (node) return wrap(node, file, args)
  const remedy = file.endsWith('.ts')
    ? 'Run "npm ci" (without --omit=optional)'
    : `Install one beside it (npm install -g ${nodePackage()})`
  process.stderr.write(
    `assay needs Node ${oldestMajor} or newer; this is ${process.versions.node}, and no packaged Node was found for ` +
      `${process.platform}-${process.arch}. ${remedy}, or install Node ${oldestMajor}.\n`,
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
