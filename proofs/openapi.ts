/**
 * Checks the OpenAPI document as others use it. It must be clean under the checkers of Redocly and Spectral. The
 * clients that openapi-typescript, hey-api and orval make from it must compile strictly and run the main workflow
 * against the service.
 */
import { cpSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { GENERATED, TOLD } from './clients/programs.ts'
import { BUN, missingTools, root, run, toolFile, withService } from './clients/tools.ts'
import type { Proof, ProofInput } from './main.ts'

const NODE = process.execPath
const rulesOf = (file: string): string => path.join(import.meta.dirname, 'clients', file)

/** The checkers, with the words at the end of their output for a document without a fault. */
const CHECKERS: [name: string, args: string[], clean: RegExp][] = [
  [
    'redocly',
    [toolFile('@redocly/cli/bin/cli.js'), 'lint', 'openapi.json', '--config', rulesOf('redocly.yaml')],
    /Your API description is valid(?![\s\S]*warning)/,
  ],
  [
    'spectral',
    [
      toolFile('@stoplight/spectral-cli/dist/index.js'),
      'lint',
      'openapi.json',
      '--ruleset',
      rulesOf('spectral.yaml'),
      '--fail-severity',
      'hint',
    ],
    /No results with a severity of 'hint' or higher found/,
  ],
]

/** The call of each generator. */
const GENERATORS: Record<string, string[]> = {
  'openapi-typescript': [toolFile('openapi-typescript/bin/cli.js'), 'openapi.json', '--output', 'schema.ts'],
  'hey-api': [
    toolFile('@hey-api/openapi-ts/bin/run.js'),
    '--input',
    'openapi.json',
    '--output',
    'hey',
    '--client',
    '@hey-api/client-fetch',
  ],
  orval: [toolFile('orval/dist/bin/orval.mjs'), '--config', 'orval.config.mjs'],
}

const ORVAL = {
  input: './openapi.json',
  output: {
    target: './orval-client.ts',
    client: 'fetch',
    mode: 'single',
    baseUrl: { runtime: 'process.env.ASSAY_URL' },
    override: { fetch: { includeHttpResponseReturnType: false } },
  },
}

const STRICT = {
  strict: true,
  noUncheckedIndexedAccess: true,
  noImplicitOverride: true,
  target: 'es2023',
  lib: ['es2023', 'dom', 'dom.iterable'],
  module: 'preserve',
  moduleResolution: 'bundler',
  noEmit: true,
  allowImportingTsExtensions: true,
  skipLibCheck: true,
  typeRoots: [path.join(root, 'node_modules/@types')],
  types: ['node'],
}

function checked(folder: string, log: ProofInput['log']): string[] {
  return CHECKERS.flatMap(([name, args, clean]) => {
    const { status, text } = run(NODE, args, folder)
    log(`${name}: ${status === 0 && clean.test(text) ? 'clean' : text.slice(-2000)}`)
    return status === 0 && clean.test(text) ? [] : [`${name} finds faults in openapi.json`]
  })
}

function compiled(folder: string, log: ProofInput['log']): string[] {
  const files = Object.keys(GENERATED).map((name) => `${name}.ts`)
  writeFileSync(
    path.join(folder, 'tsconfig.json'),
    JSON.stringify({ compilerOptions: STRICT, files }, null, 2),
  )
  const { status, text } = run(NODE, [toolFile('typescript/bin/tsc'), '-p', '.'], folder)
  log(`strict compilation: ${status === 0 ? 'clean' : text.slice(0, 3000)}`)
  return status === 0 ? [] : ['a client from the document does not compile strictly']
}

export const proof: Proof = {
  summary:
    'openapi.json is clean, and clients made from it run the workflow (needs npm --prefix proofs/clients ci)',
  async run({ log }) {
    const missing = missingTools()
    if (missing !== null) return [missing]
    return withService(async ({ folder, env }) => {
      cpSync(path.join(root, 'openapi.json'), path.join(folder, 'openapi.json'))
      writeFileSync(
        path.join(folder, 'orval.config.mjs'),
        `export default { assay: ${JSON.stringify(ORVAL)} }\n`,
      )
      const broken = checked(folder, log)
      for (const [name, args] of Object.entries(GENERATORS)) {
        const { status, text } = run(NODE, args, folder)
        if (status !== 0) return [...broken, `${name} makes no client: ${text.slice(-2000)}`]
        writeFileSync(path.join(folder, `${name}.ts`), GENERATED[name]!)
      }
      broken.push(...compiled(folder, log))
      for (const name of Object.keys(GENERATED)) {
        const { text } = run(BUN, ['run', `${name}.ts`], folder, env)
        const ran = text.endsWith(TOLD)
        log(`${name}: ${ran ? 'ran the workflow' : text.slice(-2000)}`)
        if (!ran) broken.push(`the client of ${name} does not run the workflow`)
      }
      return broken
    })
  },
}
