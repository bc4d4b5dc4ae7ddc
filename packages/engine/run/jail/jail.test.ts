/**
 * Tests the walls of an analysis process on machines that can make them. A test that needs them says so on other
 * machines.
 */
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { getPriority, tmpdir } from 'node:os'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { after, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { FakeClock } from '@assay/model/clock'
import { eventually } from '../../../../test/servers/service.ts'
import { fillCompileCache } from '../pool/compile-cache.ts'
import { death } from '../pool/ending.ts'
import { createPool } from '../pool/pool.ts'
import { SPARE_AFTER_MS } from '../pool/processes.ts'
import { CAPS, findingsOf, STARTED_AT, templateOf } from '../test-pool.ts'
import { View } from './folders.ts'
import { type Builder, type Folder, identityOf, NICENESS, narrow, walled, wallsHere } from './jail.ts'

const { missing } = wallsHere('auto')
const home = realpathSync(mkdtempSync(path.join(tmpdir(), 'assay-jail-')))
after(() => rmSync(home, { recursive: true, force: true }))
const folder = (name: string): string => {
  const made = path.join(home, name)
  mkdirSync(made, { recursive: true })
  return made
}
const [data, uploads, mine, others] = ['data', 'uploads', 'uploads/mine', 'uploads/others'].map(folder) as [
  string,
  string,
  string,
  string,
]
writeFileSync(path.join(data, 'a.csv'), 'n\n1\n2\n')
writeFileSync(path.join(mine, 'a.csv'), 'n\n3\n')
writeFileSync(path.join(others, 'a.csv'), 'n\n4\n')
const builders = (['bubblewrap', 'unshare'] as const).filter((by) => {
  if (missing !== null) return false
  const options = { folders: [], temp: folder('tried'), cache: folder('cache'), by }
  const [file, args] = walled(['/usr/bin/true'], options)
  return existsSync(file) && spawnSync(file, args, { env: {} }).status === 0
})
for (const name of ['secret.key', 'assay.db', 'server.json'])
  writeFileSync(path.join(home, name), `the ${name}`)

interface Reached {
  read: Record<string, string>
  write: Record<string, unknown>
  kill: Record<string, unknown>
  dial: Record<string, string>
  interfaces: string[]
  environment: string[]
  processes: string[]
  parent: string
  capabilities: string
  privileges: string
  mount: number
  namespace: number
  root: string[]
  priority: number
  sooner: unknown
  /** Walls are required although no namespace can be made within. */
  within: unknown
}

async function attack(by: Builder): Promise<void> {
  const server = createServer((socket) => socket.end('inside')).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const temp = folder('temp')
  const folders: Folder[] = [
    { path: data, writable: false },
    { path: mine, writable: false },
  ]
  const files = [
    'secret.key',
    'assay.db',
    'server.json',
    'data/a.csv',
    'uploads/mine/a.csv',
    'uploads/others/a.csv',
  ].map((name) => path.join(home, name))
  const given = {
    files: [...files, '/etc/passwd', '/etc/shadow', `/proc/${process.pid}/environ`],
    folders: [home, data, mine, temp, '/usr', path.join(import.meta.dirname)],
    pids: [process.pid, process.ppid],
    port: (server.address() as AddressInfo).port,
  }
  const [file, args] = walled(
    [process.execPath, path.join(import.meta.dirname, 'attacker.ts'), JSON.stringify(given)],
    { folders, temp, cache: folder('cache'), by },
  )
  process.env.ASSAY_TOKEN_OF_THE_TEST = 'a-token'
  const child = spawn(file, args, { env: { TZ: 'UTC' }, stdio: ['ignore', 'pipe', 'pipe'] })
  const [answer, complaint] = await Promise.all([text(child.stdout), text(child.stderr)])
  delete process.env.ASSAY_TOKEN_OF_THE_TEST
  server.close()
  assert.notEqual(answer, '', complaint)
  const reached = JSON.parse(answer) as Reached

  const seen = Object.keys(reached.read).filter((one) => !reached.read[one]!.startsWith('no: '))
  assert.deepEqual(seen, [files[3], files[4]], 'it reads the fenced files alone')
  const written = Object.keys(reached.write).filter((one) => reached.write[one] === true)
  assert.deepEqual(
    written.filter((one) => existsSync(path.join(one, 'attack'))),
    [temp],
    'of what it writes only its temporary folder is of this machine',
  )
  rmSync(path.join(temp, 'attack'))
  for (const how of Object.values(reached.dial)) assert.match(how, /^no: /)
  assert.deepEqual(
    reached.interfaces.filter((name) => name !== 'lo'),
    [],
  )
  for (const how of Object.values(reached.kill)) assert.match(String(how), /^no: ESRCH/)
  for (const line of reached.processes) assert.match(line, /attacker|bwrap/, 'it sees no process but its own')
  assert.deepEqual(
    reached.environment.filter((name) => !['TZ', 'PWD'].includes(name)),
    [],
  )
  assert.doesNotMatch(reached.parent, /token/i)
  assert.equal(Number.parseInt(reached.capabilities, 16), 0)
  assert.equal(reached.privileges, '1')
  assert.notEqual(reached.mount, 0)
  assert.notEqual(reached.namespace, 0)
  for (const name of ['etc', 'home', 'root', 'var', 'run']) assert.ok(!reached.root.includes(name), name)
  assert.equal(reached.priority, Math.min(19, getPriority() + NICENESS), 'the service goes first')
  assert.match(String(reached.sooner), /^no: /)
  assert.match(
    String(reached.within),
    /^no: Error: ASSAY_JAIL=require, but analysis processes cannot be walled in: bubblewrap: it .+; unshare: it cannot make its namespaces here: .+\. Install what is missing, allow user namespaces, or set ASSAY_JAIL=auto\.$/,
  )
}

test('full control of a walled process reaches no file of the home, no token, no address and no other process', {
  skip: missing ?? false,
}, async (t) => {
  for (const by of builders) {
    t.diagnostic(by)
    await attack(by)
  }
})

test('a walled process ends with the process that started it, whoever builds the walls', {
  skip: missing ?? false,
}, async () => {
  for (const by of builders) {
    const mark = `mark-${by}-${process.pid}`
    const [file, args] = walled(
      [process.execPath, '-e', `process.title = '${mark}'; setInterval(() => {}, 1e6); console.log('.')`],
      {
        folders: [],
        temp: folder(`temp-${by}`),
        cache: folder('cache'),
        by,
      },
    )
    const child = spawn(file, args, { env: {}, stdio: ['ignore', 'pipe', 'inherit'] })
    await once(child.stdout, 'data')
    assert.ok(naming(mark).length > 0)
    child.kill('SIGKILL')
    await eventually(() => naming(mark).length === 0, `what ${by} walled in has ended`)
  }
})

test('a process that is killed within its walls is told as killed, whoever builds the walls', {
  skip: missing ?? false,
}, async () => {
  for (const by of builders) {
    const mark = `killed-${by}-${process.pid}`
    const [file, args] = walled(
      [process.execPath, '-e', `process.title = '${mark}'; setInterval(() => {}, 1e6); console.log('.')`],
      { folders: [], temp: folder(`killed-${by}`), cache: folder('cache'), by },
    )
    const child = spawn(file, args, { env: {} })
    const errors = text(child.stderr)
    await once(child.stdout, 'data')
    const within = naming(mark).find((pid) => readFileSync(`/proc/${pid}/cmdline`, 'latin1').startsWith(mark))
    process.kill(Number(within), 'SIGKILL')
    const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null]
    const ending = death(code, signal, await errors)
    assert.deepEqual(
      [ending.kind, ending.kind === 'died' && ending.killed, ending.kind === 'died' && ending.memory],
      ['died', true, false],
      by,
    )
  }
})

test('before its first task a process loses the folders of other workspaces, and keeps its own for reading', {
  skip: missing ?? false,
}, async () => {
  for (const by of builders) await loses(by)
})

async function loses(by: Builder): Promise<void> {
  const script = `process.stdin.once('data', () => {
    const fs = require('node:fs')
    const list = (one) => { try { return fs.readdirSync(one) } catch (error) { return error.code } }
    process.stdout.write(JSON.stringify([list(${JSON.stringify(uploads)}), list(${JSON.stringify(mine)}), list(${JSON.stringify(data)})]))
    process.exit()
  }); process.stdout.write('.')`
  const folders: Folder[] = [
    { path: data, writable: false },
    { path: uploads, writable: false },
  ]
  const [file, args] = walled([process.execPath, '-e', script], {
    folders,
    temp: folder('temp2'),
    cache: folder('cache'),
    by,
  })
  const child = spawn(file, args, { env: {}, stdio: ['pipe', 'pipe', 'inherit'] })
  await once(child.stdout, 'data')
  await narrow(child.pid!, folders, [{ path: mine, writable: false }])
  const answer = text(child.stdout)
  child.stdin.write('go')
  assert.deepEqual(JSON.parse(await answer), [['mine'], ['a.csv'], []])
}

test('a folder behind a link is for reading alone, with the mounts below it and what covers them', {
  skip: builders.includes('unshare') ? false : 'there is no unshare to mount folders with',
}, () => {
  const place = folder('mounted')
  const link = path.join(place, 'link')
  const script = `
    import { spawnSync } from 'node:child_process'
    import { walled } from ${JSON.stringify(path.join(import.meta.dirname, 'jail.ts'))}
    const folders = [{ path: ${JSON.stringify(link)}, writable: false }]
    const write = 'cat $0/below/here; for one in $0 $0/below; do touch $one/attack && echo written; done; echo .'
    for (const by of ${JSON.stringify(builders)}) {
      const temp = ${JSON.stringify(path.join(place, 'temp'))}
      const [file, args] = walled(['/bin/sh', '-c', write, folders[0].path], { folders, temp, cache: temp, by })
      const { stdout, stderr } = spawnSync(file, args, { env: { PATH: '/usr/bin:/bin' } })
      process.stdout.write(by + ' ' + stdout + (stdout.length > 0 ? '' : stderr))
    }`
  const steps = [
    `cd '${place}'; mkdir real; ln -s real link`,
    'mount -t tmpfs -o noexec tmpfs real; mkdir real/below',
    'mount -t tmpfs tmpfs real/below; mount -t tmpfs -o noexec,noatime tmpfs real/below; echo seen > real/below/here',
    `'${process.execPath}' --no-warnings --input-type=module -e "$0"`,
  ]
  const own = ['--user', '--map-root-user', '--mount', '/bin/sh', '-ec', steps.join('\n'), script]
  const { stdout, stderr } = spawnSync('/usr/bin/unshare', own, { env: { PATH: '/usr/bin:/bin' } })
  assert.equal(stdout.toString(), builders.map((by) => `${by} seen\n.\n`).join(''), stderr.toString())
})

test('a walled process reads its program compiled from a cache that a process without a task fills, once for each change', {
  skip: missing ?? false,
}, async () => {
  const cache = folder('compiled')
  const env = { TZ: 'UTC', NODE_COMPILE_CACHE: cache }
  const flags = ['--max-semi-space-size=2', '--no-warnings']
  const fill = (): boolean => fillCompileCache(env, flags, path.join(home, 'filling'))
  assert.equal(fill(), true)
  const script = `const kept = require('node:module').getCompileCacheDir()
    process.stdout.write(String(require('node:fs').readdirSync(kept).length))`
  const [file, args] = walled([process.execPath, ...flags, '-e', script], {
    folders: [],
    temp: folder('temp3'),
    cache,
  })
  const child = spawn(file, args, { env, stdio: ['ignore', 'pipe', 'inherit'] })
  const kept = Number(await text(child.stdout))
  assert.ok(kept > 300, `${kept} modules are kept`)
  assert.equal(fill(), false)
  const note = readdirSync(cache).find((name) => name.startsWith('assay-'))!
  utimesSync(path.join(cache, note), 0, 0)
  assert.equal(fill(), true, 'the program is newer than what is kept')
  assert.equal(existsSync(path.join(home, 'filling')), false)
})

test('a pool behind walls runs templates over samples, data and uploads, and gives each workspace a process of its own', {
  skip: missing ?? false,
}, async () => {
  const folders: Folder[] = [
    { path: data, writable: false },
    { path: uploads, writable: false },
  ]
  const pool = createPool({ size: 1, caps: CAPS, tempRoot: folder('pool'), jail: 'require', folders })
  const sum = async (file: string, workspace: string) => {
    const template = templateOf(
      `---\nsources:\n  s: { file: ${file} }\n---\n\`\`\`sql a\nselect sum(n)::integer as n from s\n\`\`\`\n\n{{ a | first: "n" }}\n`,
    )
    const roots = {
      sample: {},
      data,
      uploads: { folder: path.join(uploads, workspace), offered: [], targets: [] },
    }
    const task = { kind: 'run' as const, template, variables: {}, started_at: STARTED_AT, roots }
    return findingsOf(await pool.run(task, { workspace_id: workspace })).tables.a!.rows[0]![0]
  }
  try {
    assert.equal(await sum('a.csv', 'mine'), 3)
    assert.equal(await sum('uploads/a.csv', 'mine'), 3)
    assert.equal(await sum('uploads/a.csv', 'others'), 4)
    rmSync(mine, { recursive: true })
    folder('uploads/mine')
    writeFileSync(path.join(mine, 'a.csv'), 'n\n5\n')
    assert.equal(await sum('uploads/a.csv', 'mine'), 5, 'a folder that was made anew is seen anew')
    assert.ok(pool.stats().resident_bytes > 50e6, 'the memory behind the walls is counted')
  } finally {
    await pool.stop()
  }
})

test('a view covers what lies in its folders as they are, and misses nothing that does not exist', () => {
  const view = new View([{ path: uploads, writable: false }])
  assert.ok(view.covers([{ path: mine, writable: false }]))
  assert.ok(!view.covers([{ path: mine, writable: true }]))
  assert.ok(!view.covers([{ path: data, writable: false }]))
  assert.ok(view.covers([{ path: path.join(home, 'nothing'), writable: false }]))
  assert.equal(identityOf(path.join(home, 'nothing')), null)
})

test('walls that are off are told as off, and required ones that cannot be had refuse with what to do', () => {
  assert.deepEqual(wallsHere('off'), { walls: [], by: null, missing: 'ASSAY_JAIL is off' })
  if (missing === null) assert.ok(wallsHere('require').walls.length >= 4)
  else assert.throws(() => wallsHere('require'), /ASSAY_JAIL=require.*Install what is missing/)
})

test('a task whose process never gets its walls ends when it is canceled', {
  skip: missing ?? false,
}, async () => {
  const pool = createPool({ jail: 'require', size: 1, single: true, tempRoot: folder('never') })
  for (const { pid } of pool.stats().children) process.kill(pid!, 'SIGSTOP')
  const cancel = new AbortController()
  const asked = pool.read(
    { kind: 'read', templates: [templateOf('# Report')] },
    { workspace_id: 'test', signal: cancel.signal },
  )
  cancel.abort()
  await assert.rejects(asked, /The read was stopped/)
  await pool.stop()
})

test('where no process can be started each task ends with the reason, and the pool goes on once one can', {
  skip: missing ?? false,
}, async () => {
  const clock = new FakeClock()
  const tempRoot = path.join(folder('full'), 'pool')
  const warnings: string[] = []
  const log = { warn: (_: object, text: string) => void warnings.push(text), error: () => undefined }
  const pool = createPool({ jail: 'require', size: 1, caps: CAPS, tempRoot, clock, log })
  const read = () =>
    pool.read({ kind: 'read', templates: [templateOf('# Report')] }, { workspace_id: 'test' })
  try {
    // A file replaces the folder. As on a full disk, no folder can be made in it.
    rmSync(tempRoot, { recursive: true, force: true })
    writeFileSync(tempRoot, '')
    await assert.rejects(read(), /No analysis process can be started: ENOTDIR/)
    await assert.rejects(read(), /No analysis process can be started: ENOTDIR/)
    clock.advance(SPARE_AFTER_MS)
    await setImmediate()
    assert.deepEqual(warnings, ['no analysis process could be started ahead'])
    assert.equal(pool.stats().waiting, 0)
    rmSync(tempRoot)
    assert.ok(await read())
  } finally {
    await pool.stop()
  }
})

/** Returns the processes whose command line names the folder. */
function naming(root: string): string[] {
  return readdirSync('/proc').filter((pid) => {
    if (!/^\d+$/.test(pid)) return false
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes(root)
    } catch {
      return false
    }
  })
}

test('a pool that stops while walls are built ends at once and leaves no process', {
  skip: missing ?? false,
}, async () => {
  const tempRoot = folder('stopped')
  for (let round = 0; round < 30; round += 1) {
    const pool = createPool({ jail: 'require', size: 1, single: true, tempRoot })
    const until = performance.now() + round / 3
    while (performance.now() < until) await setImmediate()
    await pool.stop()
  }
  await eventually(() => naming(tempRoot).length === 0, 'every walled process has ended')
})
