/** Commits that somebody made to harm whoever reads them. */
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { type TestContext, test } from 'node:test'
import * as git from 'isomorphic-git'
import { type GitServer, openGitServer, type Repository } from './git-server-fixture.ts'
import { type PulledCommit, pullCommit } from './pull-commit.ts'
import { nameFaults, partsOf } from './tree.ts'

type Entries = Parameters<typeof git.writeTree>[0]['tree']

async function pull(t: TestContext, { url: address }: GitServer): Promise<PulledCommit> {
  const gitdir = await mkdtemp(path.join(tmpdir(), 'assay-pull-'))
  t.after(() => rm(gitdir, { recursive: true, force: true }))
  const nobody = { user: 'git', token: null, key: null, hostKeys: [] }
  return pullCommit({
    address,
    branch: null,
    folder: '',
    known: null,
    gitdir,
    ...nobody,
    targets: ['loopback'],
  })
}

const blob = (repository: Repository, text: string): Promise<string> =>
  git.writeBlob({ ...repository, blob: Buffer.from(text) })
const tree = (repository: Repository, entries: Entries): Promise<string> =>
  git.writeTree({ ...repository, tree: entries })

test('a tree that holds the same folder again and again is refused by its entries, not by time', async (t) => {
  const server = await openGitServer(t)
  await server.commitTree(async (repository) => {
    let oid = await tree(repository, [])
    for (let depth = 0; depth < 12; depth += 1)
      oid = await tree(
        repository,
        Array.from({ length: 12 }, (_, nth) => ({ mode: '040000', path: `d${nth}`, oid, type: 'tree' })),
      )
    return oid
  })
  await assert.rejects(pull(t, server), /The folder has more than 50000 entries: name the folder/)
})

test('links, submodules and hidden files are left out, and no name is more than a name', async (t) => {
  const server = await openGitServer(t)
  await server.commitTree(async (repository) => {
    const link = await blob(repository, '/etc/passwd')
    const text = await blob(repository, '# A\n')
    const hooks = await tree(repository, [{ mode: '100755', path: 'post-checkout', oid: text, type: 'blob' }])
    return tree(repository, [
      { mode: '120000', path: 'link.md', oid: link, type: 'blob' },
      { mode: '120000', path: 'partials', oid: link, type: 'blob' },
      { mode: '160000', path: 'module', oid: 'a'.repeat(40), type: 'commit' },
      { mode: '040000', path: '.github', oid: hooks, type: 'tree' },
      { mode: '100644', path: '.gitmodules', oid: text, type: 'blob' },
      { mode: '100644', path: '--upload-pack=touch x.md', oid: text, type: 'blob' },
      { mode: '100644', path: 'CON.md', oid: text, type: 'blob' },
      { mode: '100644', path: '__proto__.md', oid: text, type: 'blob' },
      { mode: '100644', path: 'sound.md', oid: text, type: 'blob' },
    ])
  })
  const pulled = await pull(t, server)
  assert.ok('files' in pulled && pulled.files)
  const names = [...pulled.files.keys()].toSorted()
  assert.deepEqual(names, ['--upload-pack=touch x.md', 'CON.md', '__proto__.md', 'sound.md'])
  const { parts } = partsOf(pulled.files)
  assert.deepEqual(
    nameFaults(parts).map(({ file }) => file),
    ['--upload-pack=touch x.md', 'CON.md', '__proto__.md'],
  )
})

test('a file that lies elsewhere is a template at fault by its text, and is not fetched', async (t) => {
  const server = await openGitServer(t)
  const pointer = `version https://git-lfs.github.com/spec/v1\noid sha256:${'a'.repeat(64)}\nsize 5000000000\n`
  await server.commit({ 'large.md': pointer }, 'A pointer')
  const asked = server.requests
  const pulled = await pull(t, server)
  assert.ok('files' in pulled && pulled.files)
  assert.equal(Buffer.from(pulled.files.get('large.md')!).toString(), pointer)
  assert.ok(server.requests - asked <= 3, 'it asks for the refs and the commit alone')
})
