/**
 * server.json in the home: how the command line finds the service that holds it. Only its owner can read it, because
 * it bears an admin token that is valid for this run of the service.
 */
import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'

export interface RunningServer {
  url: string
  pid: number
  token: string
}

const fileOf = (home: string): string => path.join(home, 'server.json')

export async function writeServerFile(home: string, server: RunningServer): Promise<void> {
  const draft = `${fileOf(home)}.${process.pid}`
  await writeFile(draft, `${JSON.stringify(server)}\n`, { mode: 0o600 })
  await rename(draft, fileOf(home))
}

export async function removeServerFile(home: string): Promise<void> {
  const server = await readServerFile(home)
  if (server?.pid === process.pid) await rm(fileOf(home), { force: true })
}

async function readServerFile(home: string): Promise<RunningServer | null> {
  try {
    return JSON.parse(await readFile(fileOf(home), 'utf8')) as RunningServer
  } catch {
    return null
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** The service that holds the home, where it is alive and answers. */
export async function findServer(home: string): Promise<RunningServer | null> {
  const server = await readServerFile(home)
  if (!server || !isAlive(server.pid)) return null
  const health = await fetch(new URL('/healthz', server.url), { signal: AbortSignal.timeout(5000) }).catch(
    () => null,
  )
  return health?.ok ? server : null
}
