/** Finds the programs that proofs/clients/package.json installs, and runs a service for their results. */
import { spawnSync } from 'node:child_process'
import { existsSync, symlinkSync } from 'node:fs'
import path from 'node:path'
import { startService, temporaryFolder } from '../../test/servers/service.ts'

export const root = path.join(import.meta.dirname, '../..')
const modules = path.join(import.meta.dirname, 'node_modules')
const TOKEN = 'clients-proof-token-0123456789'
const PATIENCE_MS = 300_000

/** Returns what is missing, or null if the tools are installed. */
export function missingTools(): string | null {
  if (existsSync(modules)) return null
  return 'the programs are not installed: run "npm --prefix proofs/clients ci" first'
}

const platform = `${process.platform}-${process.arch}`

/** The paths of programs that ship a binary for each platform. */
const buns = ['bun/bin/bun.exe', `@oven/bun-${platform}/bin/bun`].map((file) => path.join(modules, file))
/** The path of Bun. Its install script moves it if scripts may run. */
export const BUN = buns.findLast((file) => existsSync(file)) ?? buns[0]!
export const DENO = path.join(modules, `@deno/${platform}-glibc/deno`)
export const WORKERD = path.join(
  modules,
  `@cloudflare/workerd-${process.platform}-${process.arch === 'x64' ? '64' : process.arch}/bin/workerd`,
)
export const toolFile = (name: string): string => path.join(modules, name)

export interface Ran {
  status: number | null
  /** The output of the program, from stdout and stderr. */
  text: string
}

export function run(program: string, args: string[], cwd: string, env: Record<string, string> = {}): Ran {
  const { status, stdout, stderr, error } = spawnSync(program, args, {
    cwd,
    encoding: 'utf8',
    timeout: PATIENCE_MS,
    maxBuffer: 64e6,
    env: { ...process.env, ...env, REDOCLY_TELEMETRY: 'off', DO_NOT_TRACK: '1', NO_UPDATE_NOTIFIER: '1' },
  })
  return { status, text: `${stdout ?? ''}${stderr ?? ''}${error ? error.message : ''}`.trim() }
}

/** Runs work with a service and a folder in which the programs' packages are found. Resolves with the broken promises. */
export async function withService(
  prove: (given: { folder: string; env: { ASSAY_URL: string; ASSAY_TOKEN: string } }) => Promise<string[]>,
): Promise<string[]> {
  const { folder, remove } = temporaryFolder()
  symlinkSync(modules, path.join(folder, 'node_modules'), 'junction')
  const service = await startService({
    home: path.join(folder, 'home'),
    env: { ASSAY_TOKEN: TOKEN },
    wrapped: false,
  })
  try {
    return await prove({ folder, env: { ASSAY_URL: service.url, ASSAY_TOKEN: TOKEN } })
  } finally {
    service.signal('SIGTERM')
    await service.exited
    remove()
  }
}
