/**
 * Checks the chart of deploy/chart as Kubernetes gets it. Helm renders it or, if Helm is not installed, Go's
 * templates and sprig (proofs/chart/render.go). The schemas of Kubernetes check the result. `--write 1` keeps the
 * renderings for the tests.
 */
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { stringify } from 'yaml'
import {
  CHART,
  EXAMPLES,
  type Example,
  type Manifest,
  manifestsIn,
  renderedFile,
  stampOf,
  valuesOf,
} from '../test/chart/chart.ts'
import { temporaryFolder } from '../test/servers/service.ts'
import { missingTools, toolFile } from './clients/tools.ts'
import type { Proof, ProofInput } from './main.ts'

const isThere = (program: string, argument: string): boolean =>
  spawnSync(program, [argument]).error === undefined

interface Renderer {
  name: string
  program: string
  args(values: string): string[]
  env: Record<string, string>
}

const HELM: Renderer = {
  name: 'helm',
  program: 'helm',
  args: (values) => ['template', 'assay', CHART, '--values', values],
  env: {},
}
const GO: Renderer = {
  name: "Go's templates with sprig, in place of helm",
  program: 'go',
  args: (values) => ['run', path.join(import.meta.dirname, 'chart/render.go'), CHART, values, 'assay'],
  env: { GO111MODULE: 'off', GOPATH: process.env.GOPATH ?? '/usr/share/gocode' },
}

function render({ program, args, env }: Renderer, values: object): { text: string; fault: string | null } {
  const { folder, remove } = temporaryFolder()
  try {
    const file = path.join(folder, 'values.yaml')
    writeFileSync(file, stringify(values))
    const { status, stdout, stderr } = spawnSync(program, args(file), {
      encoding: 'utf8',
      env: { ...process.env, ...env },
    })
    return { text: stdout, fault: status === 0 ? null : stderr.trim() }
  } finally {
    remove()
  }
}

interface Model {
  validate(): void
}

/** Validates a manifest by the published schema of its kind. Returns null if it fits. */
function faultOf(manifest: Manifest): string | null {
  const require = createRequire(toolFile('kubernetes-models/package.json'))
  const models = require(`kubernetes-models/${manifest.apiVersion}`) as Record<
    string,
    new (
      given: object,
    ) => Model
  >
  const Kind = models[manifest.kind]
  if (Kind === undefined) return `${manifest.apiVersion} has no ${manifest.kind}`
  try {
    new Kind(manifest).validate()
    return null
  } catch (error) {
    return `${manifest.kind} ${manifest.metadata.name}: ${String(error)}`
  }
}

function proveExample(example: Example, renderer: Renderer, { log, number }: ProofInput): string[] {
  const { text, fault } = render(renderer, valuesOf(example))
  if (fault !== null) return [`${example} is not rendered: ${fault}`]
  const manifests = manifestsIn(text)
  const faults = manifests.map(faultOf).filter((found) => found !== null)
  const kept = `${stampOf(example)}\n${text}`
  if (number('write', 0) === 1) writeFileSync(renderedFile(example), kept)
  else if (readFileSync(renderedFile(example), 'utf8') !== kept && renderer === GO)
    faults.push(`${example} is rendered otherwise than test/chart keeps it: --write 1`)
  log(`${example}: ${manifests.map(({ kind, metadata }) => `${kind} ${metadata.name}`).join(', ')}`)
  return faults
}

/** Checks that the schemas find a planted fault, so that no finding means no fault. */
function proveFinding(renderer: Renderer): string[] {
  const [manifest] = manifestsIn(render(renderer, valuesOf('plain')).text)
  const wrong = { ...manifest!, spec: { ...manifest!.spec, replicas: 'two' } }
  return faultOf(wrong) === null ? ['a Deployment with "two" replicas passes'] : []
}

export const proof: Proof = {
  summary: 'the chart, rendered and checked by the schemas of Kubernetes',
  async run(input) {
    const missing = missingTools()
    if (missing !== null) return [missing]
    const renderer = isThere('helm', 'version') ? HELM : GO
    if (renderer === GO && !isThere('go', 'version')) return ['neither helm nor go is installed']
    input.log(`rendered by ${renderer.name}`)
    const broken = EXAMPLES.flatMap((example) => proveExample(example, renderer, input))
    const without = render(renderer, { ...valuesOf('plain'), settings: {} })
    if (!without.fault?.includes('Uploads need a place'))
      broken.push('a chart without a place of uploads is rendered')
    if (renderer === HELM) {
      const { status, stdout } = spawnSync('helm', ['lint', '--strict', CHART], { encoding: 'utf8' })
      input.log(stdout.trim())
      if (status !== 0) broken.push('helm lint finds faults')
    }
    return [...broken, ...proveFinding(renderer)]
  },
}
