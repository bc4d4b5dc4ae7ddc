/** The files of deploy/ name what there is: settings, roles, commands, files. (No engine runs them here.) */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { ROLES, SETTINGS } from '@assay/service/config/config'
import { parse } from 'yaml'
import { ALERTS, WATCHED } from '../deploy/monitoring/watched.ts'
import { createMetrics } from '../packages/service/runtime/metrics.ts'

const root = path.dirname(import.meta.dirname)
const read = (file: string): string => readFileSync(path.join(root, file), 'utf8')
const known = new Set(Object.values(SETTINGS).map(({ env }) => env))

test('every setting that a file of deploy/ or a guide sets exists', () => {
  const files = [
    ...readdirSync(path.join(root, 'deploy'), { withFileTypes: true, recursive: true })
      .filter((entry) => entry.isFile())
      .map((entry) => path.relative(root, path.join(entry.parentPath, entry.name))),
    ...readdirSync(path.join(root, 'docs'))
      .filter((file) => file.endsWith('.md'))
      .map((file) => `docs/${file}`),
  ]
  // Of commands, tests and the compose file itself.
  const others = new Set(['ASSAY_URL', 'ASSAY_TEST_POSTGRES', 'ASSAY_TEST_LEASE', 'ASSAY_DATA_FOLDER'])
  for (const file of files)
    for (const [name] of read(file).matchAll(/\bASSAY_[A-Z]+(?:_[A-Z]+)*\b(?!_)/g))
      assert.ok(
        [name, name.replace(/_FILE$/, '')].some((one) => known.has(one) || others.has(one)),
        `${file}: ${name}`,
      )
})

test('the compose file starts every role once, and what it mounts and builds from is there', () => {
  const compose = parse(read('deploy/compose.yaml'), { merge: true }) as {
    services: Record<string, { environment?: Record<string, string>; build?: { dockerfile: string } }>
  }
  const services = Object.values(compose.services)
  const roles = services.flatMap(({ environment }) => environment?.ASSAY_ROLES ?? [])
  assert.deepEqual(roles.toSorted(), [...ROLES].toSorted())
  for (const { build } of services)
    assert.ok(build === undefined || existsSync(path.join(root, build.dockerfile)))
})

test('the unit and the image start the program by a file that is there', () => {
  for (const file of ['deploy/assay.service', 'deploy/Dockerfile']) assert.match(read(file), /bin\/assay\.js/)
  assert.ok(existsSync(path.join(root, 'bin/assay.js')))
})

test('neither the image nor the repository takes the secrets that stand beside the compose file', () => {
  for (const [file, line] of [
    ['.dockerignore', '**/.env'],
    ['.gitignore', '.env'],
  ] as const)
    assert.ok(read(file).split('\n').includes(line), file)
})

test('alert rules, dashboard and the table of metrics name metrics that there are, and leave out none', async () => {
  const known = new Map(
    (await createMetrics().registry.getMetricsAsJSON()).map(({ name, type }) => [
      name,
      type as unknown as string,
    ]),
  )
  const expressions = [
    ...ALERTS.map(({ when }) => when),
    ...WATCHED.flatMap(({ panel }) => panel?.queries.map(([expression]) => expression) ?? []),
    ...WATCHED.map(({ metric }) => metric),
  ]
  const named = expressions.flatMap((text) => text.match(/\b(?:assay|nodejs|process)_[a-z0-9_]+/g) ?? [])
  for (const name of named) {
    const base = known.has(name) ? name : name.replace(/_(?:bucket|count|sum)$/, '')
    assert.ok(known.has(base), name)
  }
  const told = new Set(WATCHED.flatMap(({ metric }) => metric.match(/\bassay_[a-z0-9_]+/g) ?? []))
  const own = [...known.keys()].filter((name) => name.startsWith('assay_'))
  assert.deepEqual(
    own.filter((name) => !told.has(name)),
    [],
    'every metric is explained',
  )
  for (const name of own)
    assert.equal(
      name.endsWith('_total'),
      known.get(name) === 'counter',
      `${name}: counters alone end in _total`,
    )
})

const promtool = spawnSync('promtool', ['--version']).error === undefined

test('promtool takes the alert rules', { skip: promtool ? false : 'no promtool here' }, () => {
  const { status, stdout, stderr } = spawnSync(
    'promtool',
    ['check', 'rules', path.join(root, 'deploy/monitoring/alerts.yaml')],
    {
      encoding: 'utf8',
    },
  )
  assert.equal(status, 0, stdout + stderr)
})
