/** A Redis for BullMQ: that of BENCH_REDIS, or else `redis-server` from the path, durable (an fsync for each write). */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { Redis } from 'ioredis'

export interface RunningRedis {
  url: string
  /** How durable the server is, in its own words. */
  settings: string
  stop(): Promise<void>
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  return port
}

async function settingsOf(url: string): Promise<string> {
  const client = new Redis(url, { maxRetriesPerRequest: null })
  // The server may not listen yet, so the client tries again.
  client.on('error', () => undefined)
  const kept: string[] = []
  for (const name of ['appendonly', 'appendfsync']) {
    const pair: unknown = await client.config('GET', name)
    kept.push([pair].flat().join(' '))
  }
  client.disconnect()
  return kept.join(', ')
}

/** Starts a Redis server, or takes the one of BENCH_REDIS. Returns null if none is installed. */
export async function startRedis(): Promise<RunningRedis | null> {
  const given = process.env.BENCH_REDIS
  if (given) return { url: given, settings: await settingsOf(given), stop: async () => undefined }
  const folder = mkdtempSync(path.join(tmpdir(), 'assay-redis-'))
  const port = await freePort()
  const flags = { port, bind: '127.0.0.1', dir: folder, save: '', appendonly: 'yes', appendfsync: 'always' }
  const args = Object.entries(flags).flatMap(([name, value]) => [`--${name}`, String(value)])
  const server: ChildProcess = spawn('redis-server', args, { stdio: 'ignore' })
  const end = (): void => {
    server.kill('SIGKILL')
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
  }
  const started = await new Promise<boolean>((resolve) => {
    server.once('error', () => resolve(false))
    server.once('spawn', () => resolve(true))
  })
  if (!started) {
    end()
    return null
  }
  process.on('exit', end)
  const url = `redis://127.0.0.1:${port}`
  const settings = await settingsOf(url)
  return {
    url,
    settings,
    async stop() {
      process.off('exit', end)
      end()
      await once(server, 'exit')
    },
  }
}
