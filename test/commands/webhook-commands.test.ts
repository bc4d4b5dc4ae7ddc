/** Tests assay webhooks listen, trigger, deliveries, delivery, redeliver and recover, as a user types them. */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { after, before, test } from 'node:test'
import { verify } from '@assay/model/signature'
import { modes, startReceiver } from '../servers/receiver.ts'
import {
  assay,
  cleanEnvironment,
  eventually,
  type Service,
  startService,
  temporaryFolder,
  within,
} from '../servers/service.ts'
import { type Outcome, openCommands } from './commands.ts'

const { folder, remove } = temporaryFolder()
const home = path.join(folder, 'home')
const commands = openCommands({ cwd: folder, env: { ASSAY_HOME: home } })
let service: Service

before(async () => {
  service = await startService({ home, wrapped: false })
})
after(async () => {
  commands.close()
  service.signal('SIGTERM')
  assert.equal(await service.exited, 0)
  remove()
})

interface Started {
  child: ChildProcess
  /** Resolves with the match once stderr contains it. */
  says(pattern: RegExp): Promise<RegExpExecArray>
  ended: Promise<{ code: number | null; out: string; err: string }>
}

function start(args: string[]): Started {
  const child = spawn(process.execPath, [assay, 'webhooks', ...args], {
    timeout: 300_000,
    env: cleanEnvironment({ ASSAY_HOME: home }),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const outcome = { out: '', err: '' }
  const looks: (() => void)[] = []
  child.stdout.on('data', (chunk) => (outcome.out += String(chunk)))
  child.stderr.on('data', (chunk) => {
    outcome.err += String(chunk)
    for (const look of looks) look()
  })
  const ended = new Promise<{ code: number | null; out: string; err: string }>((resolve) => {
    child.on('close', (code) => resolve({ code, ...outcome }))
  })
  return {
    child,
    ended,
    says(pattern) {
      const said = new Promise<RegExpExecArray>((resolve, reject) => {
        const look = (): void => {
          const match = pattern.exec(outcome.err)
          if (match) resolve(match)
        }
        looks.push(look)
        look()
        void ended.then(({ err }) => reject(new Error(`It ended without ${String(pattern)}: ${err}`)))
      })
      return within(said, `it says ${String(pattern)}`)
    },
  }
}

const run = (args: string[]): Promise<Outcome> => commands.run(['webhooks', ...args])

async function ok(...args: string[]): Promise<string> {
  const { code, out, err } = await run(args)
  assert.equal(code, 0, `${args.join(' ')}: ${err}`)
  return out
}

interface Printed {
  verified: boolean | null
  headers: Record<string, string>
  body: unknown
}

const lines = (out: string): Printed[] =>
  out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Printed)

test('listen fails the requested deliveries, gets each again under the same id, and forwards it unchanged', async () => {
  const behind = await startReceiver({ mode: modes.ok() })
  const options = ['--fail', '2', '--count', '3', '--forward', behind.url, '--json']
  const listening = start(['listen', ...options])
  const [, webhook_id] = await listening.says(/Registered as webhook (\S+)\./)
  const tried = await run(['test', webhook_id!, '--json'])
  assert.equal(tried.code, 1, 'the first is answered with 500')
  const { code, out, err } = await listening.ended
  assert.equal(code, 0, err)
  const [first, again, second] = lines(out)
  assert.deepEqual([first?.verified, again?.verified, second?.verified], [true, true, true])
  for (const one of [again, second]) assert.equal(first?.headers['webhook-id'], one?.headers['webhook-id'])
  assert.match(err, /Answered with 500 \(2 of 2\)[\s\S]*forwarded to http.*: 200/)
  assert.equal(behind.arrivals.length, 1)
  assert.deepEqual(JSON.parse(behind.arrivals[0]!.body.toString()), second?.body)
  assert.equal(behind.arrivals[0]!.headers['webhook-signature'], second?.headers['webhook-signature'])
  await behind.close()
})

test('listen reports an address that accepts nothing, and deletes its webhook when it is interrupted', async () => {
  const nobody = await startReceiver()
  await nobody.close()
  const listening = start(['listen', '--forward', nobody.url, '--json'])
  const [, webhook_id] = await listening.says(/Registered as webhook (\S+)\./)
  const tried = await run(['test', webhook_id!])
  assert.equal(tried.code, 1)
  assert.match(tried.out, /502/)
  await listening.says(/could not forward to/)
  listening.child.kill('SIGINT')
  await listening.ended
  assert.deepEqual(JSON.parse(await ok('list', '--json')), [])
})

test('listen shows requests that are no webhooks, refuses requests that are too long, and continues', async () => {
  const listening = start(['listen', '--secret', `whsec_${'A'.repeat(44)}`, '--count', '1', '--json'])
  const [, url] = await listening.says(/Listening on (\S+)/)
  const long = await fetch(url!, { method: 'POST', body: 'x'.repeat(8 * 1024 * 1024) }).then(
    ({ status }) => status,
    () => 413,
  )
  assert.equal(long, 413)
  await fetch(url!, { method: 'POST', body: 'no JSON' })
  const { code, out } = await listening.ended
  assert.equal(code, 1, 'it was not genuine')
  const [shown] = lines(out)
  assert.deepEqual([shown?.verified, shown?.body], [false, 'no JSON'])
})

test('trigger sends what a receiver can verify, and says what came back', async () => {
  const secret = `whsec_${Buffer.alloc(32, 9).toString('base64')}`
  const receiver = await startReceiver({ mode: modes.verified({ secret }) })
  const sent = await ok('trigger', 'job.completed', receiver.url, '--secret', secret)
  assert.match(sent, /200/)
  const { headers, body } = receiver.arrivals[0]!
  verify({ headers, body, secret })
  assert.equal((JSON.parse(body.toString()) as { type: string }).type, 'job.completed')
  assert.equal((await run(['trigger', 'job.exploded', receiver.url])).code, 2)
  assert.equal((await run(['trigger', 'job.failed', 'nowhere'])).code, 2)
  await receiver.close()
  assert.notEqual((await run(['trigger', 'job.failed', receiver.url])).code, 0)
})

test('deliveries that failed are listed, looked into, counted, recovered and sent again', async () => {
  let answer = 500
  const server = createServer((request, response) =>
    request.resume().on('end', () => response.writeHead(answer).end('not today')),
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  const [id] = (await ok('create', url, '--retry', '')).trim().split('\n')
  assert.equal((await run(['test', id!])).code, 1)
  assert.match(await ok('list'), new RegExp(`${id} +failing: http_status: The receiver answered 500`))
  interface Listed {
    items: { delivery_id: string; status: string; event_id: string }[]
  }
  const list = async (...filter: string[]): Promise<Listed['items']> =>
    (JSON.parse(await ok('deliveries', id!, '--json', ...filter)) as Listed).items
  const [failed, ...others] = await list('--status', 'failed')
  assert.deepEqual(others, [])
  assert.match(await ok('deliveries', id!), new RegExp(failed!.delivery_id))
  assert.deepEqual(await list('--job', failed!.event_id), [], 'it is of no job')
  const shown = await ok('delivery', failed!.delivery_id)
  assert.match(shown, /webhook\.test failed[\s\S]*500[\s\S]*http_status: The receiver answered 500/)
  assert.equal((await run(['delivery', id!])).code, 3)

  answer = 204
  assert.equal((await ok('recover', id!, '--since', '1h', '--dry-run')).trim(), '1')
  const recovered = await run(['recover', id!, '--since', '1h', '--wait'])
  assert.deepEqual([recovered.code, recovered.out.trim()], [0, '1'], recovered.err)
  assert.match(recovered.err, /1 of 1 deliveries are made/)
  assert.equal((await ok('recover', id!, '--since', '1h', '--dry-run')).trim(), '0')
  assert.equal((await run(['recover', id!, '--since', 'yesterday'])).code, 2)
  const again = (await ok('redeliver', failed!.delivery_id)).trim()
  assert.notEqual(again, failed!.delivery_id)
  const all = await list()
  assert.deepEqual(
    all.map(({ event_id }) => event_id),
    Array<string>(3).fill(failed!.event_id),
  )
  assert.equal((await commands.run(['outgoing', 'stop', '--reason', 'a leak'])).code, 0)
  await ok('redeliver', failed!.delivery_id)
  const held = new RegExp(`${id} +held back: .* has stopped all that leaves this workspace, .*a leak`)
  await eventually(async () => held.test(await ok('list')), 'the list says why it is held back')
  assert.equal((await commands.run(['outgoing', 'open'])).code, 0)
  await ok('delete', id!)
  server.close()
  server.closeAllConnections()
})
