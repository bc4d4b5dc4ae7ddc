/**
 * A bare loop of POSTs with undici. For each message {url, body, count, connections} it sends all of them and answers
 * when they are sent.
 */
import { Pool } from 'undici'

export interface SendAsk {
  url: string
  body: string
  count: number
  connections: number
}

async function sendAll({ url, body, count, connections }: SendAsk): Promise<void> {
  const { origin, pathname } = new URL(url)
  const pool = new Pool(origin, { connections, pipelining: 1 })
  let left = count
  const one = async (): Promise<void> => {
    while (left > 0) {
      left -= 1
      const headers = { 'content-type': 'application/json' }
      const answer = await pool.request({ method: 'POST', path: pathname, headers, body })
      await answer.body.dump()
      if (answer.statusCode !== 204) throw new Error(`The receiver answered ${answer.statusCode}.`)
    }
  }
  await Promise.all(Array.from({ length: connections }, one))
  await pool.close()
}

process.on('message', (ask: SendAsk) => {
  void (async () => {
    const began = performance.now()
    await sendAll(ask)
    process.send!(performance.now() - began)
  })()
})
process.on('disconnect', () => process.exit())
process.send!('ready')
