/**
 * A port of the loopback that stays free until its server is started, and while that is down between two starts. So it is
 * none of the ports that the system assigns: those begin at 32768 (Linux) or 49152, and a test that listens on port 0, or
 * only connects to somewhere, could be given it meanwhile. Each process begins at another place.
 */
import { createServer } from 'node:net'

const FIRST = 20_000
const COUNT = 12_000
/** More than a file asks for. */
const OF_ONE_PROCESS = 64

let asked = 0

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer().on('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}

export async function freePort(): Promise<number> {
  for (let tried = 0; tried < COUNT; tried += 1) {
    const port = FIRST + ((process.pid * OF_ONE_PROCESS + asked) % COUNT)
    asked += 1
    if (await isFree(port)) return port
  }
  throw new Error(`No port from ${FIRST} to ${FIRST + COUNT - 1} is free.`)
}
