/**
 * Tries each way out of an analysis process, as somebody with full control of it could. It prints what it reached as
 * JSON. jail.test.ts runs it.
 */

import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createConnection } from 'node:net'
import { getPriority, networkInterfaces, setPriority } from 'node:os'
import { wallsHere } from './jail.ts'

const { files, folders, pids, port } = JSON.parse(process.argv[2]!) as {
  files: string[]
  folders: string[]
  pids: number[]
  port: number
}
const tried = (work: () => unknown): unknown => {
  try {
    return work() ?? true
  } catch (error) {
    return `no: ${(error as NodeJS.ErrnoException).code ?? String(error)}`
  }
}
const dials = (host: string, to: number) =>
  new Promise((resolve) => {
    const socket = createConnection({ host, port: to, timeout: 1000 })
    socket.on('connect', () => resolve('connected'))
    socket.on('error', (error: NodeJS.ErrnoException) => resolve(`no: ${error.code}`))
    socket.on('timeout', () => resolve('no: timeout'))
  })

const shell = (script: string) => spawnSync('/bin/sh', ['-c', script], { encoding: 'utf8' })
const found = {
  read: Object.fromEntries(files.map((file) => [file, tried(() => readFileSync(file, 'utf8').slice(0, 40))])),
  write: Object.fromEntries(
    folders.map((folder) => [folder, tried(() => writeFileSync(`${folder}/attack`, ''))]),
  ),
  kill: Object.fromEntries(pids.map((pid) => [pid, tried(() => process.kill(pid, 0))])),
  dial: {
    loopback: await dials('127.0.0.1', port),
    public: await dials('192.0.2.1', 80),
    six: await dials('::1', port),
  },
  interfaces: Object.keys(networkInterfaces()),
  environment: Object.keys(process.env),
  processes: readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => tried(() => readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' '))),
  parent: tried(() => readFileSync('/proc/1/environ', 'utf8')),
  capabilities: /CapEff:\s*(\w+)/.exec(readFileSync('/proc/self/status', 'utf8'))?.[1],
  privileges: /NoNewPrivs:\s*(\d)/.exec(readFileSync('/proc/self/status', 'utf8'))?.[1],
  mount: shell('mount -n -o remount,rw /usr').status,
  namespace: shell('unshare -Urm true').status,
  root: readdirSync('/').toSorted(),
  priority: getPriority(),
  sooner: tried(() => setPriority(0)),
  within: tried(() => wallsHere('require')),
}
process.stdout.write(JSON.stringify(found))
