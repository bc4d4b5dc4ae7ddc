import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { verify } from '@assay/model/signature'
import { secretContext } from '@assay/model/webhook'
import { verify as octokitVerify } from '@octokit/webhooks-methods'
import { Webhook as StandardWebhook } from 'standardwebhooks'
import { Webhook as SvixWebhook } from 'svix'
import { type Arrival, startReceiver } from '../../../test/servers/receiver.ts'
import { startStation } from './dispatcher-fixture.ts'

const station = await startStation()
const receiver = await startReceiver()
after(async () => {
  await station.close()
  await receiver.close()
})

/** The key is printable, because the verifier of GitHub's own library takes keys as text. */
const TEXT_KEY = 'thirty-two printable characters!'
const SECRET = `whsec_${Buffer.from(TEXT_KEY).toString('base64')}`

async function delivered(message: string): Promise<Arrival> {
  const webhook_id = crypto.randomUUID()
  const secrets = [{ sealed: station.box.seal(SECRET, secretContext(webhook_id)), expires_at: null }]
  const { webhook } = await station.register(receiver.url, { webhook_id, secrets })
  await station.send(webhook, message)
  return receiver.next()
}

const ARRIVALS = [await delivered('plain'), await delivered('naïve 🔐 \u0000 \ud83d')]
const headersOf = ({ headers }: Arrival): Record<string, string> => ({
  'webhook-id': String(headers['webhook-id']),
  'webhook-timestamp': String(headers['webhook-timestamp']),
  'webhook-signature': String(headers['webhook-signature']),
})

test('the standardwebhooks package verifies our deliveries', () => {
  for (const arrival of ARRIVALS) {
    const verified = new StandardWebhook(SECRET).verify(arrival.body.toString(), headersOf(arrival))
    assert.equal((verified as { type: string }).type, 'webhook.test')
    assert.throws(() => new StandardWebhook(SECRET).verify(`${arrival.body.toString()} `, headersOf(arrival)))
  }
})

test('the svix package verifies our deliveries', () => {
  for (const arrival of ARRIVALS) {
    new SvixWebhook(SECRET).verify(arrival.body.toString(), headersOf(arrival))
    assert.throws(() => new SvixWebhook(SECRET).verify(`${arrival.body.toString()} `, headersOf(arrival)))
  }
})

test("the verifier of GitHub's library agrees on the HMAC over the same content", async () => {
  for (const arrival of ARRIVALS) {
    const headers = headersOf(arrival)
    const content = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${arrival.body.toString()}`
    const hex = Buffer.from(headers['webhook-signature']!.slice('v1,'.length), 'base64').toString('hex')
    assert.equal(await octokitVerify(TEXT_KEY, content, `sha256=${hex}`), true)
    assert.equal(await octokitVerify(TEXT_KEY, `${content} `, `sha256=${hex}`), false)
  }
})

test('our own helper verifies what another sender of the standard signs', () => {
  const [id, now, body] = ['msg_1', new Date(), '{"type":"x"}']
  const signature = new SvixWebhook(SECRET).sign(id, now, body)
  const timestamp = String(Math.floor(now.getTime() / 1000))
  const headers = { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signature }
  assert.equal(verify({ headers, body, secret: SECRET }).id, id)
})
