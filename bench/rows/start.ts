/**
 * Measures the time from the start of the command until it listens, beside bare Fastify, and the size of an
 * installation on disk.
 */
import { execFile } from 'node:child_process'
import { copyFile, mkdir, readdir } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { atMost, type Figure } from '../figure.ts'
import {
  environment,
  type Form,
  inTurns,
  milliseconds,
  ROOT,
  startPeer,
  startService,
  withFolder,
} from '../measure.ts'

const run = promisify(execFile)

export const startRow = {
  name: 'start',
  run: async (form: Form): Promise<Figure[]> => [await starts(form), await installSize()],
}

async function starts({ turns }: Form): Promise<Figure> {
  const ours = (): Promise<number> =>
    withFolder(async (home) => {
      const began = performance.now()
      const service = await startService(home)
      const answer = await fetch(`${service.url}/readyz`)
      const ms = performance.now() - began
      await service.stop()
      if (!answer.ok) throw new Error(`/readyz was answered ${answer.status}.`)
      return ms
    })
  const theirs = (): Promise<number> =>
    milliseconds(async () => {
      const peer = await startPeer('fastify.ts', ['status', '{}'])
      await peer.stop()
    })
  return {
    work: 'start to ready, fresh home',
    beside: 'bare Fastify, start to listening and stop',
    aim: atMost(1000, 'ms'),
    compare: 'value',
    unit: 'ms',
    turns: await inTurns(turns, ours, theirs),
    note: 'with the migrations of a new database and the first token; compile cache warm',
  }
}

async function sizeOf(folder: string): Promise<number> {
  const { stdout } = await run('du', ['-sk', folder])
  return Number(stdout.split('\t')[0]) / 1000
}

async function installSize(): Promise<Figure> {
  return withFolder(async (folder) => {
    const packages = (await readdir(path.join(ROOT, 'packages'))).map((name) => `packages/${name}`)
    for (const name of packages) await mkdir(path.join(folder, name), { recursive: true })
    const described = packages.map((name) => `${name}/package.json`)
    for (const file of ['package.json', 'package-lock.json', ...described])
      await copyFile(path.join(ROOT, file), path.join(folder, file))
    const args = ['ci', '--omit=dev', '--ignore-scripts', '--no-audit', '--no-fund']
    await run('npm', args, { cwd: folder, env: environment() })
    const modules = path.join(folder, 'node_modules')
    const whole = await sizeOf(modules)
    const duckdb = await sizeOf(path.join(modules, '@duckdb'))
    const node = await sizeOf(path.join(modules, `node-linux-${process.arch}`)).catch(() => 0)
    const data = await sizeOf(path.join(modules, 'vega-datasets')).catch(() => 0)
    return {
      work: 'size of `npm ci --omit=dev`',
      beside: '',
      aim: null,
      compare: 'value',
      unit: 'MB',
      turns: [{ ours: whole, theirs: 0 }],
      note: `of which DuckDB ${duckdb.toFixed(0)} MB, the pinned Node ${node.toFixed(0)} MB, sample data ${data.toFixed(0)} MB: no build step, no other install`,
    }
  })
}
