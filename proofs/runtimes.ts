/**
 * Runs the TypeScript client on each runtime that it supports: Node as a module and as CommonJS, Bun, Deno, and two
 * edge runtimes.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { build } from 'vite'
import { installPacked } from '../test/installed/packed-project.ts'
import { freePort } from '../test/servers/free-port.ts'
import { eventually } from '../test/servers/service.ts'
import { OWN, TOLD } from './clients/programs.ts'
import { BUN, DENO, missingTools, run, toolFile, WORKERD, withService } from './clients/tools.ts'
import type { Proof } from './main.ts'

type Environment = { ASSAY_URL: string; ASSAY_TOKEN: string }
type Runtime = (project: string, env: Environment) => Promise<string>

const MAIN = `import { workflow } from './workflow.mjs'
import process from 'node:process'
console.log(await workflow(process.env.ASSAY_URL, process.env.ASSAY_TOKEN))
`
const COMMON = `const { createClient } = require('@assay/client')
${OWN.replace(/^import.*$/m, "const { etagOf } = require('@assay/client')").replace('export async', 'async')}
workflow(process.env.ASSAY_URL, process.env.ASSAY_TOKEN).then(console.log)
`
const WORKER = `import { workflow } from './workflow.mjs'
export default {
  async fetch(request) {
    const { url, token } = await request.json()
    return new Response(await workflow(url, token).catch((error) => String(error.stack)))
  },
}
`
const SCRIPT = `import { workflow } from './workflow.mjs'
globalThis.workflow = workflow
`
const CONFIG = (port: number): string => `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "main", worker = .worker),
    (name = "internet", network = (allow = ["public", "private", "local"])),
  ],
  sockets = [(name = "http", address = "127.0.0.1:${port}", http = (), service = "main")],
);
const worker :Workerd.Worker = (
  modules = [(name = "main", esModule = embed "bundled/worker.js")],
  compatibilityDate = "2026-01-01",
);
`

/** Bundles the entry with the client into one file, as for a browser. */
async function bundle(project: string, entry: string, format: 'es' | 'iife'): Promise<string> {
  const name = path.basename(entry, '.mjs')
  await build({
    root: project,
    logLevel: 'error',
    build: {
      lib: {
        entry: path.join(project, entry),
        formats: [format],
        name: 'bundled',
        fileName: () => `${name}.js`,
      },
      outDir: path.join(project, 'bundled'),
      emptyOutDir: false,
      minify: false,
    },
  })
  return readFileSync(path.join(project, 'bundled', `${name}.js`), 'utf8')
}

interface EdgeRuntime {
  evaluate(code: string): unknown
}

async function inEdgeRuntime(project: string, env: Environment): Promise<string> {
  const require = createRequire(toolFile('edge-runtime/package.json'))
  const { EdgeRuntime: Made } = require('edge-runtime') as {
    EdgeRuntime: new (options: { initialCode: string }) => EdgeRuntime
  }
  const runtime = new Made({ initialCode: await bundle(project, 'script.mjs', 'iife') })
  const call = `workflow(${JSON.stringify(env.ASSAY_URL)}, ${JSON.stringify(env.ASSAY_TOKEN)})`
  return (await runtime.evaluate(call)) as string
}

async function inWorkerd(project: string, env: Environment): Promise<string> {
  await bundle(project, 'worker.mjs', 'es')
  const port = await freePort()
  writeFileSync(path.join(project, 'config.capnp'), CONFIG(port))
  const child: ChildProcess = spawn(WORKERD, ['serve', 'config.capnp'], { cwd: project, stdio: 'inherit' })
  const body = JSON.stringify({ url: env.ASSAY_URL, token: env.ASSAY_TOKEN })
  try {
    let told = ''
    const answered = (): Promise<boolean> =>
      fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body }).then(
        async (response) => {
          told = await response.text()
          return true
        },
        () => false,
      )
    await eventually(answered, 'workerd answers')
    return told
  } finally {
    child.kill()
  }
}

const started =
  (program: string, args: string[]): Runtime =>
  async (project, env) =>
    run(program, args, project, { ...env, DENO_DIR: path.join(project, 'deno') }).text

const RUNTIMES: Record<string, Runtime> = {
  'Node, as a module': started(process.execPath, ['main.mjs']),
  'Node 20 or what the machine has, as CommonJS': started('node', ['main.cjs']),
  Bun: started(BUN, ['run', 'main.mjs']),
  Deno: started(DENO, [
    'run',
    '--allow-net',
    '--allow-env',
    '--allow-read',
    '--node-modules-dir=manual',
    '--no-lock',
    'main.mjs',
  ]),
  'edge-runtime': inEdgeRuntime,
  workerd: inWorkerd,
}

export const proof: Proof = {
  summary:
    'the TypeScript client runs in Node, Bun, Deno, edge-runtime and workerd (needs npm --prefix proofs/clients ci)',
  async run({ log }) {
    const missing = missingTools()
    if (missing !== null) return [missing]
    return withService(async ({ folder, env }) => {
      const project = path.join(folder, 'project')
      mkdirSync(project)
      installPacked(['client'], project)
      writeFileSync(path.join(project, 'workflow.mjs'), OWN)
      writeFileSync(path.join(project, 'main.mjs'), MAIN)
      writeFileSync(path.join(project, 'main.cjs'), COMMON)
      writeFileSync(path.join(project, 'worker.mjs'), WORKER)
      writeFileSync(path.join(project, 'script.mjs'), SCRIPT)
      const broken: string[] = []
      for (const [name, runtime] of Object.entries(RUNTIMES)) {
        const text = await runtime(project, env).catch((error: Error) => error.stack ?? error.message)
        const ran = text.includes(TOLD)
        log(`${name}: ${ran ? 'ran the workflow' : text.slice(-1500)}`)
        if (!ran) broken.push(`the client does not run in ${name}`)
      }
      return broken
    })
  },
}
