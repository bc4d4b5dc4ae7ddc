/**
 * For tests: a git server that does not use the program git. It serves a bare repository in a folder by the smart
 * HTTP protocol (version 1 of gitprotocol-http: the refs, a shallow fetch, and a push).
 */
import { Buffer } from 'node:buffer'
import fs from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import * as git from 'isomorphic-git'

const ZERO = '0'.repeat(40)
const AUTHOR = { name: 'Ada', email: 'ada@example.com', timestamp: 1_767_225_600, timezoneOffset: 0 }

export interface GitServer {
  /** The address of the repository. */
  url: string
  /** Makes a commit on the branch after its last one; null deletes a file. Resolves with the id of the commit. */
  commit(files: Record<string, string | Uint8Array | null>, message: string, branch?: string): Promise<string>
  /** Makes a commit of the tree whose id `make` resolves with, however strange the tree is. */
  commitTree(make: (repository: Repository) => Promise<string>): Promise<string>
  /** Reads the files of the newest commit of a branch. */
  read(branch: string): Promise<Record<string, string>>
  branches(): Promise<string[]>
  /** Set it to true to answer every request with 503. */
  down: boolean
  /** The number of answered requests. */
  requests: number
}

const packet = (text: string | Buffer): Buffer => {
  const body = Buffer.from(text as string)
  return Buffer.concat([Buffer.from((body.length + 4).toString(16).padStart(4, '0')), body])
}
const FLUSH = Buffer.from('0000')

/** Returns the lines up to the flush that ends the commands, and the bytes after it. */
function packets(bytes: Buffer): { lines: string[]; rest: Buffer } {
  const lines: string[] = []
  let at = 0
  while (at < bytes.length) {
    const length = Number.parseInt(bytes.subarray(at, at + 4).toString(), 16)
    if (length === 0 && lines.some((line) => line.includes('report-status')))
      return { lines, rest: bytes.subarray(at + 4) }
    if (length > 0) lines.push(bytes.subarray(at + 4, at + length).toString())
    at += Math.max(length, 4)
  }
  return { lines, rest: Buffer.alloc(0) }
}

function sideBand(data: Uint8Array): Buffer {
  const parts: Buffer[] = []
  for (let at = 0; at < data.length; at += 60_000)
    parts.push(packet(Buffer.concat([Buffer.from([1]), data.subarray(at, at + 60_000)])))
  return Buffer.concat(parts)
}

export type Repository = { fs: typeof fs; gitdir: string }

/** Returns the ids of a commit and of every object in its tree. */
async function objectsOf(repository: Repository, oid: string): Promise<string[]> {
  const found = new Set([oid])
  const waiting = [(await git.readTree({ ...repository, oid })).oid]
  for (let tree = waiting.pop(); tree; tree = waiting.pop()) {
    if (found.has(tree)) continue
    found.add(tree)
    for (const one of (await git.readTree({ ...repository, oid: tree })).tree)
      if (one.type === 'tree') waiting.push(one.oid)
      else if (one.type === 'blob') found.add(one.oid)
  }
  return [...found]
}

async function refsOf(repository: Repository): Promise<[string, string][]> {
  const branches = await git.listBranches(repository)
  return Promise.all(
    branches.map(async (name): Promise<[string, string]> => {
      const ref = `refs/heads/${name}`
      return [ref, await git.resolveRef({ ...repository, ref })]
    }),
  )
}

async function advertise(repository: Repository, service: string): Promise<Buffer> {
  const refs = await refsOf(repository)
  const head = refs.find(([ref]) => ref === 'refs/heads/main')
  const all: [string, string][] = head && service === 'git-upload-pack' ? [['HEAD', head[1]], ...refs] : refs
  const can =
    service === 'git-upload-pack'
      ? 'multi_ack_detailed side-band-64k shallow ofs-delta symref=HEAD:refs/heads/main'
      : 'report-status side-band-64k ofs-delta'
  const lines = all.map(([ref, oid], index) => packet(`${oid} ${ref}${index === 0 ? `\0${can}` : ''}\n`))
  if (lines.length === 0) lines.push(packet(`${ZERO} capabilities^{}\0${can}\n`))
  return Buffer.concat([packet(`# service=${service}\n`), FLUSH, ...lines, FLUSH])
}

async function upload(repository: Repository, body: Buffer): Promise<Buffer> {
  const wanted = packets(body)
    .lines.find((line) => line.startsWith('want '))!
    .slice(5, 45)
  const { packfile } = await git.packObjects({
    ...repository,
    oids: await objectsOf(repository, wanted),
    write: false,
  })
  return Buffer.concat([packet(`shallow ${wanted}\n`), FLUSH, packet('NAK\n'), sideBand(packfile!), FLUSH])
}

async function receive(repository: Repository, body: Buffer): Promise<Buffer> {
  const { lines, rest } = packets(body)
  const [, oid, name] = lines[0]!.split('\0')[0]!.split(' ') as [string, string, string]
  const filepath = `objects/pack/pack-${oid}.pack`
  await writeFile(path.join(repository.gitdir, filepath), rest)
  await git.indexPack({ ...repository, dir: repository.gitdir, filepath })
  await git.writeRef({ ...repository, ref: name, value: oid, force: true })
  const report = Buffer.concat([packet('unpack ok\n'), packet(`ok ${name}\n`), FLUSH])
  return Buffer.concat([sideBand(report), FLUSH])
}

/** Writes a tree of files by path. Resolves with its id. */
async function writeTree(repository: Repository, files: Map<string, string>): Promise<string> {
  const folders = new Map<string, Map<string, string>>()
  const tree: { mode: string; path: string; oid: string; type: 'blob' | 'tree' }[] = []
  for (const [name, oid] of files) {
    const [first, ...rest] = name.split('/') as [string, ...string[]]
    if (rest.length === 0) tree.push({ mode: '100644', path: first, oid, type: 'blob' })
    else folders.set(first, (folders.get(first) ?? new Map<string, string>()).set(rest.join('/'), oid))
  }
  for (const [name, inside] of folders)
    tree.push({ mode: '040000', path: name, oid: await writeTree(repository, inside), type: 'tree' })
  return git.writeTree({ ...repository, tree })
}

async function blobsOf(repository: Repository, oid: string, prefix = ''): Promise<Map<string, string>> {
  const found = new Map<string, string>()
  for (const one of (await git.readTree({ ...repository, oid })).tree) {
    if (one.type === 'blob') found.set(`${prefix}${one.path}`, one.oid)
    else
      for (const [name, blob] of await blobsOf(repository, one.oid, `${prefix}${one.path}/`))
        found.set(name, blob)
  }
  return found
}

const tipOf = (repository: Repository, branch: string): Promise<string | null> =>
  git.resolveRef({ ...repository, ref: `refs/heads/${branch}` }).catch(() => null)

/** Opens a server. `token`: the password that each request must have. */
export async function openGitServer(
  test: { after(clean: () => Promise<void>): void },
  { token }: { token?: string } = {},
): Promise<GitServer> {
  const gitdir = await mkdtemp(path.join(tmpdir(), 'assay-git-'))
  const repository = { fs, gitdir }
  await git.init({ ...repository, bare: true, defaultBranch: 'main' })
  fs.mkdirSync(path.join(gitdir, 'objects/pack'), { recursive: true })

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const parts: Buffer[] = []
    for await (const part of request) parts.push(part as Buffer)
    const url = new URL(request.url!, 'http://localhost')
    const given = Buffer.from(
      (request.headers.authorization ?? '').replace('Basic ', ''),
      'base64',
    ).toString()
    server.requests += 1
    if (server.down) return void response.writeHead(503).end()
    if (token !== undefined && given.split(':')[1] !== token)
      return void response.writeHead(401, { 'www-authenticate': 'Basic' }).end()
    const service = url.searchParams.get('service') ?? url.pathname.split('/').pop()!
    const send = (kind: string, body: Buffer): void =>
      void response.writeHead(200, { 'content-type': `application/x-${service}-${kind}` }).end(body)
    if (!url.pathname.startsWith('/reports.git/')) response.writeHead(404).end()
    else if (url.pathname.endsWith('/info/refs')) send('advertisement', await advertise(repository, service))
    else if (service === 'git-upload-pack') send('result', await upload(repository, Buffer.concat(parts)))
    else send('result', await receive(repository, Buffer.concat(parts)))
  }

  const http = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => response.writeHead(500).end(String(error)))
  })
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  test.after(async () => {
    http.closeAllConnections()
    http.close()
    await rm(gitdir, { recursive: true, force: true })
  })
  const server: GitServer = {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/reports.git`,
    down: false,
    requests: 0,
    branches: () => git.listBranches(repository),
    async read(branch) {
      const blobs = await blobsOf(repository, (await tipOf(repository, branch))!)
      const texts = [...blobs].map(async ([name, oid]) => [
        name,
        Buffer.from((await git.readBlob({ ...repository, oid })).blob).toString(),
      ])
      return Object.fromEntries(await Promise.all(texts)) as Record<string, string>
    },
    async commit(files, message, branch = 'main') {
      const parent = (await tipOf(repository, branch)) ?? (await tipOf(repository, 'main'))
      const blobs = parent ? await blobsOf(repository, parent) : new Map<string, string>()
      for (const [name, content] of Object.entries(files))
        if (content === null) blobs.delete(name)
        else blobs.set(name, await git.writeBlob({ ...repository, blob: Buffer.from(content as string) }))
      return git.commit({
        ...repository,
        message,
        ref: `refs/heads/${branch}`,
        parent: parent ? [parent] : [],
        tree: await writeTree(repository, blobs),
        author: AUTHOR,
      })
    },
    commitTree: async (make) =>
      git.commit({
        ...repository,
        message: 'A strange tree',
        ref: 'refs/heads/main',
        parent: [],
        tree: await make(repository),
        author: AUTHOR,
      }),
  }
  return server
}
