/** For tests: a pool over the shipped samples and a data folder of its own, and templates from text. */
import { mkdtempSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { type Clock, systemClock } from '@assay/model/clock'
import type { Findings } from '@assay/model/insight'
import type { Reader } from '@assay/model/reader'
import { DEFAULT_LIMITS, type TemplateSource } from '@assay/model/template'
import { templateVersion } from '../reading/partials.ts'
import { sampleFiles } from '../reading/samples.ts'
import type { ConnectionAccess } from './connection-requests.ts'
import { createPool, type Pool, type RunOptions, type WorkspaceBudgets } from './pool/pool.ts'
import type { Caps, Roots, RunResult } from './protocol.ts'

export const STARTED_AT = '2026-01-15T12:00:00.000Z'
export const CAPS: Caps = {
  ...DEFAULT_LIMITS,
  timeout_ms: 900_000,
  memory_bytes: 4e9,
  threads: 4,
  rows: 100_000,
}

export function templateOf(source: string, partials: Record<string, string> = {}): TemplateSource {
  return { template_id: 'a-test', version: templateVersion(source, partials), source, partials }
}

/** Makes a template of one SQL block named `a`. */
export function sqlTemplate(sql: string, front = ''): TemplateSource {
  return templateOf(`---\n${front}\n---\n\n\`\`\`sql a\n${sql}\n\`\`\`\n\n# A test\n\n{{ a.size }}\n`)
}

/**
 * A template whose run takes no processor time and ends when it is stopped, because `NEVER` withholds its connection.
 */
export const HELD = templateOf(
  '---\nsources:\n  s: { connection: never, query: select 1 }\n---\n\n```sql a\nselect * from s\n```\n\n# A test\n\n{{ a.size }}\n',
)
export const NEVER: ConnectionAccess = {
  acquire: () => new Promise(() => undefined),
  release: () => undefined,
  end: () => undefined,
}

export interface TestPool {
  pool: Pool
  roots: Roots
  data: string
  tempRoot: string
  run(
    template: TemplateSource,
    variables?: Record<string, unknown>,
    options?: Partial<RunOptions> & { reader?: Reader },
  ): Promise<RunResult>
  /** Returns the folders of jobs that still exist. */
  leftovers(): Promise<string[]>
  close(): Promise<void>
}

interface TestPoolOptions {
  size?: number
  single?: boolean
  files?: Record<string, string | Buffer>
  clock?: Clock
  spillBytes?: number
  budgets?: WorkspaceBudgets
}

/** The pool that tests without options share. A process takes half a second to start, and does one task after the other. */
let plain: { pool: Pool; tempRoot: string } | null = null
let users = 0

async function plainPool(): Promise<{ pool: Pool; tempRoot: string; stop(): Promise<void> }> {
  users += 1
  if (plain === null) {
    const tempRoot = mkdtempSync(path.join(tmpdir(), 'assay-analysis-'))
    plain = {
      pool: createPool({ size: 1, single: true, clock: systemClock, caps: CAPS, tempRoot }),
      tempRoot,
    }
  }
  const { pool, tempRoot } = plain
  return {
    pool,
    tempRoot,
    async stop() {
      users -= 1
      if (users > 0) return
      plain = null
      await pool.stop()
      await rm(tempRoot, { recursive: true, force: true })
    },
  }
}

async function ownPool(tempRoot: string, { size = 1, single = false, clock, ...rest }: TestPoolOptions) {
  const { spillBytes, budgets } = rest
  const bounds = {
    ...(spillBytes === undefined ? {} : { spillBytes }),
    ...(budgets === undefined ? {} : { budgets }),
  }
  await mkdir(tempRoot)
  const pool = createPool({ size, single, clock: clock ?? systemClock, caps: CAPS, tempRoot, ...bounds })
  return { pool, tempRoot, stop: () => pool.stop() }
}

/**
 * Opens a pool for tests. By default it keeps one process, starts none ahead, and is that of all test files in this
 * process; with any option but `files` it is a pool of its own.
 */
export async function openTestPool({ files = {}, ...options }: TestPoolOptions = {}): Promise<TestPool> {
  const home = await mkdtemp(path.join(tmpdir(), 'assay-analysis-'))
  const data = path.join(home, 'data')
  await mkdir(data)
  for (const [name, content] of Object.entries(files)) {
    await mkdir(path.dirname(path.join(data, name)), { recursive: true })
    await writeFile(path.join(data, name), content)
  }
  const own = Object.keys(options).length > 0
  const single = options.size === undefined
  const opened = own ? await ownPool(path.join(home, 'tmp'), { single, ...options }) : await plainPool()
  const { pool, tempRoot } = opened
  const roots: Roots = { sample: sampleFiles(), data }
  return {
    pool,
    roots,
    data,
    tempRoot,
    run: (template, variables = {}, { reader, ...run } = {}) =>
      pool.run(
        { kind: 'run', template, variables, started_at: STARTED_AT, roots, reader: reader ?? null },
        { workspace_id: 'test', ...run },
      ),
    leftovers: () => readdir(tempRoot),
    async close() {
      await opened.stop()
      await rm(home, { recursive: true, force: true })
    },
  }
}

/** Returns the findings of a run that must have succeeded. */
export function findingsOf(result: RunResult): Findings {
  if (result.status !== 'done') throw new Error(`The run ended as ${JSON.stringify(result)}`)
  return result.findings
}
