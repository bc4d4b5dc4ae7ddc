/** Runs each receiver of docs/receivers/ as it is written, if its language is on the machine. */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, test } from 'node:test'
import { newSigningSecret, sign } from '@assay/model/signature'
import { within } from '../servers/service.ts'

const folder = path.join(path.dirname(path.dirname(import.meta.dirname)), 'docs/receivers')
const temporary = mkdtempSync(path.join(tmpdir(), 'assay-receivers-'))
const running: ChildProcess[] = []
after(() => {
  for (const child of running) child.kill('SIGKILL')
  rmSync(temporary, { recursive: true, force: true })
})

const SHARED = newSigningSecret('v1')
const PAIR = newSigningSecret('v1a')
const OTHER = newSigningSecret('v1')
/** Returns the present second. It is read for each message, because a compiler before it may take minutes. */
const now = (): number => Math.floor(Date.now() / 1000)

interface Signed {
  id: string
  timestamp: number
  signature: string
  body: Buffer
}

function signed(change: { secrets?: string[]; timestamp?: number; body?: Buffer | string } = {}): Signed {
  const { secrets = [OTHER.secret, SHARED.secret, PAIR.secret], timestamp = now() } = change
  const id = crypto.randomUUID()
  const body = Buffer.from(change.body ?? '{"type":"job.completed","data":{"text":"naïve 🔐"}}')
  return { id, timestamp, body, signature: sign({ id, timestamp, body, secrets }) }
}

/** A running receiver: its address, and its next line. */
async function start(command: string, args: string[], key: string) {
  const child = spawn(command, args, {
    env: { ...process.env, WEBHOOK_KEY: key, PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true,
  })
  running.push(child)
  const lines: string[] = []
  const waiting: ((line: string) => void)[] = []
  let rest = ''
  child.stdout.on('data', (chunk: Buffer) => {
    const parts = (rest + chunk.toString()).split('\n')
    rest = parts.pop()!
    for (const line of parts) {
      const next = waiting.shift()
      if (next) next(line)
      else lines.push(line)
    }
  })
  const nextLine = (): Promise<string> => {
    const line = lines.shift()
    if (line !== undefined) return Promise.resolve(line)
    return within(new Promise((resolve) => waiting.push(resolve)), 'the receiver prints a line')
  }
  const first = await nextLine()
  const url = /listening on (http:\S+)/.exec(first)?.[1]
  assert.ok(url, first)
  return { url, nextLine, left: lines }
}

function post(url: string, { id, timestamp, signature, body }: Signed): Promise<number> {
  const headers = { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signature }
  return new Promise((resolve, reject) => {
    request(url, { method: 'POST', headers, agent: false }, (response) => {
      response.resume().on('end', () => resolve(response.statusCode!))
    })
      .on('error', reject)
      .end(body)
  })
}

async function checkReceiver(command: string, args: string[], key: string): Promise<void> {
  const { url, nextLine, left } = await start(command, args, key)
  const genuine = signed()
  assert.equal(await post(url, genuine), 204)
  assert.equal(await nextLine(), `${genuine.id} job.completed`)
  assert.equal(await post(url, genuine), 204, 'a repeat is answered like the first')
  assert.equal(await post(url, { ...genuine, body: Buffer.from('{"type":"job.completed"}') }), 401)
  assert.equal(await post(url, { ...genuine, id: crypto.randomUUID() }), 401)
  assert.equal(await post(url, { ...genuine, signature: 'v1,' }), 401)
  assert.equal(await post(url, { ...genuine, signature: 'v1a,AAAA v1,AAAA v2,AAAA nonsense' }), 401)
  assert.equal(await post(url, signed({ secrets: [OTHER.secret] })), 401)
  assert.equal(await post(url, signed({ timestamp: now() - 400 })), 401)
  assert.equal(await post(url, signed({ timestamp: now() + 400 })), 401)
  const last = signed()
  assert.equal(await post(url, last), 204)
  assert.equal(await nextLine(), `${last.id} job.completed`, 'the repeat was not worked on')
  assert.deepEqual(left, [])
}

function absent(command: string): string | false {
  return spawnSync(command, ['version']).error === undefined ? false : `${command} is not on this machine`
}

test('the receiver in JavaScript accepts genuine messages, each once', async () => {
  const file = path.join(folder, 'receiver.mjs')
  await checkReceiver(process.execPath, [file], SHARED.secret)
  await checkReceiver(process.execPath, [file], PAIR.public_key!)
})

test('the receiver in Python accepts genuine messages, each once', { skip: absent('python3') }, async () => {
  await checkReceiver('python3', [path.join(folder, 'receiver.py')], SHARED.secret)
})

test('the receiver in Go accepts genuine messages, each once', { skip: absent('go') }, async () => {
  const binary = path.join(temporary, 'receiver')
  const built = spawnSync('go', ['build', '-o', binary, path.join(folder, 'receiver.go')], {
    encoding: 'utf8',
    timeout: 300_000,
  })
  assert.equal(built.status, 0, built.stderr)
  await checkReceiver(binary, [], SHARED.secret)
  await checkReceiver(binary, [], PAIR.public_key!)
})

test('openssl verifies both versions of a signature over the exact bytes', {
  skip: absent('openssl'),
}, () => {
  const file = path.join(temporary, 'body')
  const check = (key: string, { id, timestamp, signature, body }: Signed): string => {
    writeFileSync(file, body)
    const args = [path.join(folder, 'verify.sh'), key, id, String(timestamp), signature, file]
    const { status, stdout, stderr } = spawnSync('sh', args, { encoding: 'utf8', timeout: 120_000 })
    return `${status} ${stdout}${stderr}`
  }
  for (const body of ['{"type":"x"}', '', Buffer.from([0, 255, 10, 13, 10])]) {
    const genuine = signed({ body })
    assert.equal(check(SHARED.secret, genuine), '0 genuine\n')
    assert.equal(check(PAIR.public_key!, genuine), '0 genuine\n')
    assert.equal(check(newSigningSecret('v1').secret, genuine), '1 not genuine\n')
    assert.equal(check(newSigningSecret('v1a').public_key!, genuine), '1 not genuine\n')
    assert.equal(check(SHARED.secret, { ...genuine, timestamp: genuine.timestamp + 1 }), '1 not genuine\n')
    assert.equal(check(PAIR.public_key!, { ...genuine, body: Buffer.from('other') }), '1 not genuine\n')
  }
})
