/** Reads the newest commit of a git repository, without its history. It runs in a thread of its own (pull.ts). */
import fs from 'node:fs'
import type { RepositoryCommit } from '@assay/model/repository'
import * as git from 'isomorphic-git'
import { PullError } from './pull-fault.ts'
import { openTransport, type Transport, type TransportOptions } from './transport/transport.ts'

export interface PullInput extends TransportOptions {
  /** The name of the branch. Null stands for the repository's default branch. */
  branch: string | null
  /** The folder below the root of the repository; "" is the whole repository. */
  folder: string
  /** The id of a commit whose files the caller has already; null if there is none. */
  known: string | null
  /** An empty folder for the objects of the commit. */
  gitdir: string
}

/** The commit. `files`: bytes by path below the folder; null if the commit has no such folder. */
export type PulledCommit =
  | { unchanged: true }
  | { commit: RepositoryCommit; files: Map<string, Uint8Array<ArrayBuffer>> | null }

/** `unreached` is a sentence on why there is no commit. */
export type Pull = PulledCommit | { unreached: string }

const FILES_MOST = 2000
/** The most bytes of all files together, unpacked. */
const BYTES_MOST = 20_000_000
/** The most entries of all folders. A tree may hold the same folder many times, so its size says nothing. */
const ENTRIES_MOST = 50_000
const BRANCHES_SHOWN = 5
const HEADS = 'refs/heads/'

interface Tip {
  ref: string
  oid: string
}

/** Returns the newest commit of the branch. Throws PullError if there is none. */
async function tipOf(transport: Transport, { branch }: Pick<PullInput, 'branch'>): Promise<Tip> {
  const list = (prefix: string, symrefs: boolean) =>
    git.listServerRefs({ ...transport.remote(), prefix, symrefs })
  if (branch === null) {
    const head = (await list('HEAD', true)).find(({ ref }) => ref === 'HEAD')
    if (head) return { ref: head.target ?? 'HEAD', oid: head.oid }
  } else {
    const found = (await list(`${HEADS}${branch}`, false)).find(({ ref }) => ref === `${HEADS}${branch}`)
    if (found) return { ref: found.ref, oid: found.oid }
  }
  const names = (await list(HEADS, false)).map(({ ref }) => ref.slice(HEADS.length))
  if (names.length === 0) throw new PullError('The repository has no commit yet: push one.')
  const shown = names.slice(0, BRANCHES_SHOWN).join(', ')
  throw new PullError(
    `The repository has no ${branch === null ? 'default branch' : `branch ${JSON.stringify(branch)}`}: set ASSAY_TEMPLATES_BRANCH to one of ${shown}.`,
  )
}

const store = (gitdir: string) => ({ fs, gitdir, cache: {} })
export type Objects = ReturnType<typeof store>

async function commitOf(objects: Objects, oid: string): Promise<RepositoryCommit> {
  const { commit } = await git.readCommit({ ...objects, oid })
  const { name, timestamp } = commit.author
  return {
    commit_id: oid,
    subject: commit.message.split('\n')[0]!.slice(0, 200),
    author: name.slice(0, 200),
    committed_at: new Date(timestamp * 1000).toISOString(),
  }
}

/** Returns the tree of a folder. Null if the commit has no such folder. */
async function treeAt(objects: Objects, oid: string, folder: string): Promise<string | null> {
  let tree = (await git.readTree({ ...objects, oid })).oid
  for (const name of folder.split('/').filter(Boolean)) {
    const found = (await git.readTree({ ...objects, oid: tree })).tree.find(({ path }) => path === name)
    if (found?.type !== 'tree') return null
    tree = found.oid
  }
  return tree
}

/** Returns every regular file below the tree that is not hidden. It leaves out links, which may lead anywhere. */
async function filesOf(objects: Objects, root: string): Promise<Map<string, Uint8Array<ArrayBuffer>>> {
  const files = new Map<string, Uint8Array<ArrayBuffer>>()
  let bytes = 0
  let entries = 0
  const waiting = [{ oid: root, prefix: '' }]
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    const { tree } = await git.readTree({ ...objects, oid: next.oid })
    entries += 1 + tree.length
    if (entries > ENTRIES_MOST)
      throw new PullError(
        `The folder has more than ${ENTRIES_MOST} entries: name the folder of the templates in ASSAY_TEMPLATES_FOLDER.`,
      )
    for (const { path, oid, type, mode } of tree) {
      if (path.startsWith('.')) continue
      if (type === 'tree') waiting.push({ oid, prefix: `${next.prefix}${path}/` })
      if (type !== 'blob' || !mode.startsWith('100')) continue
      const { blob } = await git.readBlob({ ...objects, oid })
      bytes += blob.length
      files.set(`${next.prefix}${path}`, new Uint8Array(blob))
      if (bytes > BYTES_MOST || files.size > FILES_MOST)
        throw new PullError(
          `The folder has more than ${FILES_MOST} files or ${BYTES_MOST / 1e6} MB: name the folder of the templates in ASSAY_TEMPLATES_FOLDER.`,
        )
    }
  }
  return files
}

/** Reads the newest commit without its history into `gitdir`. It reads only the id of a commit that is `known`. */
export async function fetchTip(
  transport: Transport,
  input: Omit<PullInput, 'known'> & { known?: string | null },
): Promise<{ objects: Objects; oid: string }> {
  const { gitdir, known } = input
  const objects = store(gitdir)
  const tip = await tipOf(transport, input)
  if (tip.oid === known) return { objects, oid: tip.oid }
  await git.init({ ...objects, bare: true, defaultBranch: 'main' })
  await git.addRemote({ ...objects, remote: 'origin', url: transport.remote().url })
  const { fetchHead } = await git.fetch({
    ...objects,
    ...transport.remote(),
    ref: tip.ref,
    remoteRef: tip.ref,
    singleBranch: true,
    depth: 1,
    tags: false,
  })
  return { objects, oid: fetchHead ?? tip.oid }
}

/**
 * Reads the commit. Rejects with PullError and with errors of isomorphic-git, undici and the guard (pull-fault.ts).
 */
export async function pullCommit(input: PullInput): Promise<PulledCommit> {
  const { folder, known } = input
  const transport = openTransport(input)
  try {
    const { objects, oid } = await fetchTip(transport, input)
    if (oid === known) return { unchanged: true }
    const commit = await commitOf(objects, oid)
    const tree = await treeAt(objects, oid, folder)
    return { commit, files: tree === null ? null : await filesOf(objects, tree) }
  } finally {
    await transport.close()
  }
}
