import assert from 'node:assert/strict'
import { mkdir, mkdtemp, rm, unlink, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import test, { type TestContext } from 'node:test'
import { type BrokenTemplate, createCatalog } from './catalog.ts'

/** Makes a catalog over two fresh folders. Only `later` moves its clock. */
async function fixture(t: TestContext) {
  const root = await mkdtemp(path.join(os.tmpdir(), 'assay-catalog-'))
  t.after(() => rm(root, { recursive: true, force: true }))
  const [shipped, own] = [path.join(root, 'shipped'), path.join(root, 'own')]
  await mkdir(path.join(shipped, 'partials'), { recursive: true })
  await mkdir(path.join(own, 'partials'), { recursive: true })
  let time = 0
  const told: BrokenTemplate[] = []
  const catalog = createCatalog({
    shipped,
    folders: [own, path.join(root, 'missing')],
    now: () => time,
    onBroken: (broken) => told.push(broken),
  })
  return {
    catalog,
    told,
    write: (name: string, text: string | Buffer) => writeFile(path.join(root, name), text),
    remove: (name: string) => unlink(path.join(root, name)),
    later: () => {
      time += 1000
    },
    ids: () => catalog.list().map(({ template, origin }) => `${template.template_id} ${origin}`),
  }
}

test('lists the templates of all folders by id, a folder before what ships', async (t) => {
  const { write, ids, catalog } = await fixture(t)
  await write('shipped/a.md', '---\ntitle: shipped\n---\n')
  await write('shipped/b.md', '# B from {{ vars.x | upcase }}\n')
  await write('shipped/README.md', 'no template')
  await write('own/a.md', '---\ntitle: own\n---\n')
  await write('own/x.md', '---\nid: c\n---\n')
  assert.deepEqual(ids(), ['a folder', 'b shipped', 'c folder'])
  assert.equal(catalog.get('a')!.view.title, 'own')
  assert.equal(catalog.get('b')!.view.title, 'B')
  assert.equal(catalog.get('x'), null)
})

test('a file with faults is not listed, told once, and listed once it is mended', async (t) => {
  const { write, ids, catalog, told, later } = await fixture(t)
  await write('own/good.md', 'fine')
  await write('own/bad.md', '{{ a b }}')
  await write('own/binary.md', Buffer.from([0xff, 0xfe, 0x00]))
  assert.deepEqual(ids(), ['good folder'])
  later()
  assert.deepEqual(ids(), ['good folder'])
  assert.deepEqual(
    told.map(({ template_id }) => template_id),
    ['bad', 'binary'],
  )
  assert.deepEqual(
    catalog.broken()[0]!.faults.map(({ line, column, code }) => [line, column, code]),
    [[1, 6, 'liquid_syntax']],
  )
  await write('own/bad.md', '{{ vars }} mended')
  later()
  assert.deepEqual(ids(), ['bad folder', 'good folder'])
})

test('changes are seen after a second, also those of partials', async (t) => {
  const { write, catalog, later, remove } = await fixture(t)
  await write('own/a.md', '{% render "p" %}')
  await write('own/partials/p.md', 'one')
  const first = catalog.get('a')!
  await write('own/partials/p.md', 'another')
  assert.equal(catalog.get('a'), first)
  later()
  const second = catalog.get('a')!
  assert.notEqual(second.template.version, first.template.version)
  assert.deepEqual(second.source.partials, { p: 'another' })
  await remove('own/partials/p.md')
  later()
  assert.equal(catalog.get('a'), null)
  await write('own/partials/p.md', 'one')
  later()
  assert.equal(catalog.get('a')!.template.version, first.template.version)
  await remove('own/a.md')
  later()
  assert.equal(catalog.get('a'), null)
})

test('a template that did not change is not parsed again', async (t) => {
  const { write, catalog, later } = await fixture(t)
  await write('own/a.md', 'text')
  const first = catalog.get('a')
  later()
  assert.equal(catalog.get('a'), first)
  later()
  assert.equal(catalog.list()[0]!.template, first!.template)
})

test('a title before there is a run has the defaults, and neither its period nor what has no default', async (t) => {
  const { write, catalog } = await fixture(t)
  const variables =
    'variables: { place: { type: string }, since: { type: integer, default: 1965 }, days: { type: period, default: last_week }, code: { type: string, required: true } }'
  const titles: [string, string][] = [
    ['Delays{% if vars.place %} from {{ vars.place }}{% endif %}, {{ vars.days.label }}', 'Delays'],
    ['Air since {{ vars.since }} ({{ vars.days.label }})', 'Air since 1965'],
    ['From {{ vars.code }} to {{ vars.days.start }}', 'own'],
    ['Report of {{ vars.code | upcase }}: growth', 'Report: growth'],
  ]
  for (const [index, [title]] of titles.entries())
    await write(`own/t${index}.md`, `---\ntitle: ${JSON.stringify(title)}\n${variables}\n---\n`)
  for (const [index, [, shown]] of titles.entries())
    assert.equal(catalog.get(`t${index}`)?.view.title, shown === 'own' ? `t${index}` : shown)
})
