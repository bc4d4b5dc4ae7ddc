/**
 * Checks the Helm chart: its values are closed and hold no secret, and its kept renderings are of the present files
 * and fit together.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { ROLES } from '@assay/service/config/config'
import { Ajv } from 'ajv'
import {
  CHART,
  defaultValues,
  EXAMPLES,
  type Example,
  type Manifest,
  manifestsIn,
  renderedFile,
  stampOf,
  type Values,
  valuesOf,
} from './chart.ts'

const schema = JSON.parse(readFileSync(path.join(CHART, 'values.schema.json'), 'utf8')) as object
const fits = new Ajv({ allErrors: true, strict: false }).compile(schema)

test('the values of the chart and of its examples keep the schema', () => {
  for (const values of [defaultValues(), ...EXAMPLES.map(valuesOf)])
    assert.ok(fits(values), JSON.stringify(fits.errors))
})

/** Wrong values, each with the place of its fault. */
const WRONG: [string, unknown][] = [
  ['replicas', 3],
  ['api.replica', 3],
  ['api.replicas', 0],
  ['api.replicas', '2'],
  ['api.resources.limits.memory', 'much'],
  ['api.resources.limits.disk', '1Gi'],
  ['worker.autoscaling.cpu', 120],
  ['worker.disruption.maxUnavailable', '0%'],
  ['image.digest', 'sha256:abc'],
  ['image.pullPolicy', 'Sometimes'],
  ['publicUrl', 'assay.example.com'],
  ['publicUrl', 'https://ada:word@assay.example.com'],
  ['publicUrl', 'https://assay.example.com/?a=1'],
  ['walls', 'yes'],
  ['secret.store', 'postgres://assay:word@db/assay'],
  ['settings.ASSAY_NO_SUCH', 'x'],
  ['settings.ASSAY_SMTP_URL', 'smtp://ada:word@mail'],
  ['settings.ASSAY_TOKEN', 'word'],
  ['settings.ASSAY_ROLES', 'api'],
  ['secretSettings.ASSAY_SMTP_URL', 'smtp://ada:word@mail'],
  ['secretSettings.ASSAY_KEEP_JOBS', { name: 'a', key: 'b' }],
  ['files.claim', 'Not A Name'],
  ['service.port', 70_000],
  ['ingress.host', 'assay.example.com'],
  ['tolerations', { key: 'a' }],
]

test('an unknown value, an impossible value and a secret in plain text are refused', () => {
  for (const [where, value] of WRONG) {
    const values = structuredClone(valuesOf('plain'))
    const names = where.split('.')
    const last = names.pop()!
    let holder = values
    for (const name of names) holder = holder[name] as Values
    holder[last] = value
    assert.ok(!fits(values), `${where}: ${JSON.stringify(value)}`)
  }
  const twice = { ...valuesOf('everything'), settings: { ASSAY_FILES: 's3://a/b' } }
  assert.ok(!fits(twice), 'uploads in a claim and in a bucket')
})

const rendered = (example: Example): string => readFileSync(renderedFile(example), 'utf8')

test('the kept renderings of the chart are of the present files', () => {
  for (const example of EXAMPLES)
    assert.equal(rendered(example).split('\n')[0], stampOf(example), 'npm run proof -- chart --write 1')
})

interface Container {
  env: { name: string; value?: string; valueFrom?: { secretKeyRef: { name: string; key: string } } }[]
  volumeMounts: { name: string }[]
  securityContext: Values
  [name: string]: unknown
}
interface Pod {
  metadata: { labels: Record<string, string> }
  spec: Values & { containers: Container[]; volumes: { name: string }[] }
}
const podOf = ({ spec }: Manifest): Pod => spec.template as Pod

test('one Deployment runs each role, without rights, with probes, and with secrets by their names only', () => {
  for (const example of EXAMPLES) {
    const nodes = manifestsIn(rendered(example)).filter(({ kind }) => kind === 'Deployment')
    const roles = nodes.map(
      (node) => podOf(node).spec.containers[0]!.env.find(({ name }) => name === 'ASSAY_ROLES')?.value,
    )
    assert.deepEqual(new Set(roles), new Set(ROLES))
    for (const node of nodes) {
      const { spec } = podOf(node)
      const [container] = spec.containers
      assert.ok(container)
      assert.equal((spec.securityContext as Values).runAsNonRoot, true)
      const { allowPrivilegeEscalation, readOnlyRootFilesystem, capabilities } = container.securityContext
      assert.deepEqual(
        [allowPrivilegeEscalation, readOnlyRootFilesystem, capabilities],
        [false, true, { drop: ['ALL'] }],
      )
      for (const probe of ['startupProbe', 'livenessProbe', 'readinessProbe'])
        assert.ok(container[probe], probe)
      const named = container.env.map(({ name }) => name)
      assert.equal(new Set(named).size, named.length, 'each setting once')
      for (const secret of ['ASSAY_STORE', 'ASSAY_SECRET_KEY', 'ASSAY_TOKEN']) {
        const held: Container['env'][number] | undefined = container.env.find(({ name }) => name === secret)
        assert.deepEqual(
          [held?.value, typeof held?.valueFrom?.secretKeyRef.key],
          [undefined, 'string'],
          secret,
        )
      }
      const volumes = spec.volumes.map(({ name }) => name)
      assert.deepEqual(
        container.volumeMounts.map(({ name }) => name),
        volumes,
      )
    }
  }
})

test('budgets, scaling, service and ingress select existing nodes, and walls get what they need', () => {
  const manifests = manifestsIn(rendered('everything'))
  const nodes = manifests.filter(({ kind }) => kind === 'Deployment')
  const labels = nodes.map((node) => podOf(node).metadata.labels)
  const selected = (selector: object) =>
    labels.filter((own) => Object.entries(selector).every(([name, value]) => own[name] === value)).length
  const of = (kind: string) => manifests.filter((manifest) => manifest.kind === kind).map(({ spec }) => spec)
  const budgets = of('PodDisruptionBudget')
  assert.equal(budgets.length, 3)
  for (const { selector } of budgets) assert.equal(selected((selector as Values).matchLabels as object), 1)
  assert.equal(selected(of('Service')[0]!.selector as object), 1)
  const [scaling] = of('HorizontalPodAutoscaler')
  const scaled = (scaling!.scaleTargetRef as { name: string }).name
  assert.equal(nodes.find(({ metadata }) => metadata.name === scaled)?.spec.replicas, undefined)
  const text = rendered('everything')
  for (const path of [
    '/assay',
    '/.well-known/oauth-authorization-server/assay',
    '/.well-known/oauth-protected-resource/assay',
  ])
    assert.ok(text.includes(`- path: ${path}\n`), path)
  for (const needed of ['hostUsers: false', 'procMount: Unmasked', 'type: Unconfined'])
    assert.ok(text.includes(needed) && !rendered('plain').includes(needed), needed)
})
