/** Repositories by ssh: a server in this process that runs git's own programs, and servers with other keys. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { type TestContext, test } from 'node:test'
import ssh2 from 'ssh2'
import { bareRepository, gitEnvironment, isGitThere } from '../git-program-fixture.ts'
import { proposeChange } from '../propose-change.ts'
import { pullCommit } from '../pull-commit.ts'
import { pullFault } from '../pull-fault.ts'
import { Received } from './received.ts'
import { fingerprintOf, hostKeys, sshAddress, sshKey } from './ssh-address.ts'

const HOST = ssh2.utils.generateKeyPairSync('ed25519')
const DEPLOY = ssh2.utils.generateKeyPairSync('ed25519')
const OTHER = ssh2.utils.generateKeyPairSync('ed25519')

const publicOf = (key: string): Buffer => {
  const parsed = ssh2.utils.parseKey(key)
  if (parsed instanceof Error) throw parsed
  return parsed.getPublicSSH()
}

/**
 * Opens an ssh server that accepts the deploy key. It runs the requested command by the shell, as sshd does, or
 * `program` in its place.
 */
async function serve(t: TestContext, folder: string, program?: string): Promise<number> {
  const known = publicOf(DEPLOY.public)
  const server = new ssh2.Server({ hostKeys: [HOST.private] }, (client) => {
    client.on('error', () => undefined)
    client.on('authentication', (asked) => {
      const isKnown = asked.method === 'publickey' && asked.key.data.equals(known)
      const parsed = ssh2.utils.parseKey(DEPLOY.public)
      if (!isKnown || parsed instanceof Error || asked.username !== 'git') return asked.reject(['publickey'])
      if (asked.signature && !parsed.verify(asked.blob!, asked.signature, asked.hashAlgo))
        return asked.reject()
      return asked.accept()
    })
    client.on('session', (accept) => {
      accept().on('exec', (take, _reject, { command }) => {
        const channel = take()
        const child = spawn('sh', ['-c', program ?? command], { cwd: folder, env: gitEnvironment(folder) })
        channel.pipe(child.stdin)
        child.stdin.on('error', () => undefined)
        child.stdout.pipe(channel, { end: false })
        child.stderr.pipe(channel.stderr, { end: false })
        child.on('close', (code) => {
          channel.exit(code ?? 1)
          channel.end()
        })
      })
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => void server.close())
  return server.address().port
}

const NOWHERE = {
  branch: null,
  folder: 'team/reports',
  user: 'git',
  token: null,
  key: DEPLOY.private,
  hostKeys: [fingerprintOf(publicOf(HOST.public))],
  targets: ['loopback'],
  known: null,
}

const faultOf = (input: Parameters<typeof pullCommit>[0]): Promise<string> =>
  pullCommit(input).then(() => 'a commit', pullFault)

test('a commit is read over ssh with a deploy key, and a change is pushed', {
  skip: !isGitThere() && 'there is no git',
}, async (t) => {
  const { folder, git, text, objects } = await bareRepository(t)
  const port = await serve(t, folder)
  const address = `ssh://git@127.0.0.1:${port}${folder}/reports.git`
  const input = async () => ({ ...NOWHERE, address, gitdir: await objects() })
  const tip = git('-C', 'reports.git', 'rev-parse', 'main').trim()
  const pulled = await pullCommit(await input())
  assert.ok('commit' in pulled)
  assert.deepEqual([pulled.commit.commit_id, pulled.commit.author], [tip, 'Ada'])
  assert.deepEqual(
    [...pulled.files!].map(([name, bytes]) => [name, Buffer.from(bytes).toString()]),
    [['weekly.md', text]],
  )
  assert.deepEqual(await pullCommit({ ...(await input()), branch: 'main', known: tip }), { unchanged: true })
  assert.match(await faultOf({ ...(await input()), branch: 'nowhere' }), /to one of main/)
  assert.match(
    await faultOf({ ...(await input()), address: `${address}x` }),
    /does not let this repository.*not.*git/,
  )
  const change = {
    file: 'team/reports/weekly.md',
    before: text,
    after: `${text}More.\n`,
    message: 'Say more',
  }
  const proposal = 'assay/weekly-1'
  const made = await proposeChange({ ...(await input()), ...change, proposal, author: 'Eve' })
  const said = git('-C', 'reports.git', 'log', '--format=%H %P %an %s', '-1', proposal).trim()
  assert.equal(said, `${made.commit_id} ${tip} Eve Say more`)
  assert.equal(git('-C', 'reports.git', 'show', `${proposal}:team/reports/weekly.md`), `${text}More.\n`)
  git('-C', 'reports.git', 'fsck', '--strict')
})

test('a server with another key, and a key that the server does not know, are told', async (t) => {
  const port = await serve(t, process.cwd())
  const input = { ...NOWHERE, address: `ssh://git@127.0.0.1:${port}/reports.git`, gitdir: process.cwd() }
  const strange = await faultOf({ ...input, hostKeys: [fingerprintOf(publicOf(OTHER.public))] })
  assert.match(
    strange,
    /^The server at 127\.0\.0\.1 shows the key SHA256:\S{43} \(ssh-ed25519\), which ASSAY/,
  )
  assert.ok(strange.includes(input.hostKeys[0]!))
  assert.match(await faultOf({ ...input, key: OTHER.private }), /refuses the key .* for the user "git"/)
  assert.match(await faultOf({ ...input, key: null }), /set ASSAY_TEMPLATES_SSH_KEY/)
  assert.match(await faultOf({ ...input, key: 'nonsense' }), /holds no private key/)
  assert.match(await faultOf({ ...input, targets: [] }), /may not reach/)
})

test('a server whose packets have no length is told to be no git server, and read no further', async (t) => {
  for (const head of ['-008', '0x10', '0001', '3e 8', 'hello']) {
    const port = await serve(t, process.cwd(), `printf '%s' '${head}and so on'; cat`)
    const input = { ...NOWHERE, address: `ssh://git@127.0.0.1:${port}/reports.git`, gitdir: process.cwd() }
    assert.match(await faultOf(input), /is not a git server/, head)
  }
})

test('an answer in many parts is moved to a larger room a few times only', () => {
  const received = new Received()
  const rooms = new Set<number>()
  for (let at = 0; at < 200_000; at += 1) {
    received.add(Buffer.of(at % 251))
    rooms.add(received.room)
  }
  assert.ok(rooms.size < 10, `${rooms.size} rooms`)
  assert.deepEqual([...received.take(3)], [0, 1, 2])
  received.add(Buffer.from('the end'))
  const { bytes } = received
  assert.equal(bytes.length, 200_000 - 3 + 7)
  assert.ok(bytes.subarray(0, -7).every((byte, index) => byte === (index + 3) % 251))
  assert.equal(bytes.subarray(-7).toString(), 'the end')
})

test('an address by ssh is read as git reads it, and nothing in it can become a command', () => {
  assert.deepEqual(sshAddress('git@Git.example.com:team/reports.git'), {
    user: 'git',
    host: 'git.example.com',
    port: 22,
    path: 'team/reports.git',
  })
  assert.deepEqual(sshAddress('ssh://git@git.example.com:2222/team/reports.git'), {
    user: 'git',
    host: 'git.example.com',
    port: 2222,
    path: '/team/reports.git',
  })
  assert.equal(sshAddress('ssh://git@host/~ada/reports.git')!.path, '~ada/reports.git')
  assert.equal(sshAddress('https://git.example.com/team/reports.git'), null)
  assert.equal(sshAddress('/srv/templates'), null)
  for (const address of [
    "git@host:team/x'; reboot; '",
    'ssh://git@host/%27;reboot',
    'git@host:-x',
    'ssh://git:secret@host/x.git',
    'ssh://git@host/',
  ])
    assert.throws(() => sshAddress(address), /^Error: must /, address)
})

test('keys of a server are taken as fingerprints and as the lines of ssh-keyscan', () => {
  const fingerprint = fingerprintOf(publicOf(HOST.public))
  const line = HOST.public.split(' ').slice(0, 2).join(' ')
  assert.deepEqual(hostKeys(`${fingerprint}, ${fingerprint}`), [fingerprint, fingerprint])
  assert.deepEqual(hostKeys(`# host:22 SSH-2.0\n[host]:2222 ${line}\n`), [fingerprint])
  assert.deepEqual(hostKeys(''), [])
  for (const wrong of [
    'MD5:00:11',
    'host ssh-ed25519',
    'host ssh-rsa AAAA',
    line.replace('ssh-ed25519', 'ssh-rsa'),
    `@revoked host ${line}`,
    `@cert-authority *.example.com ${line}`,
  ])
    assert.throws(() => hostKeys(wrong), /^Error: must be fingerprints/, wrong)
  assert.equal(sshKey(DEPLOY.private), DEPLOY.private)
  assert.throws(() => sshKey(DEPLOY.public), /must be a private key/)
})
