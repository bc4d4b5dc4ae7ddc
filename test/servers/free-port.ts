/**
 * Finds a loopback port that stays free until its server starts, and between two starts of it. It lies below the
 * ports that the system assigns (from 32768 on Linux, else 49152), which any test may get that listens on port 0 or
 * connects. Each process begins its search at another port.
 */
import { createServer } from 'node:net'

const FIRST = 20_000
const COUNT = 12_000
/** The ports of one process. They are more than a test file needs. */
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
