/**
 * Serves the web console: the files that packages/console/build.ts made, from memory, with strong tags, compressed if the
 * browser accepts it. Every address of the console is the same page, whose script reads the address. If the console was
 * not built, a start page says how to build it.
 */
import { hash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import { notFound } from '@assay/model/errors'
import Type from 'typebox'
import { matchesTag } from '../http/negotiate.ts'
import { type Call, operation } from '../http/operation.ts'
import { startPage } from './pages.ts'

const DIST = path.join(import.meta.dirname, '../../../console/dist')

/** Allows the console's own files only: no inline script or style, no other host, no frame around it. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

/** The names of assets hold a hash, so a file never changes. */
const FOREVER = 'public, max-age=31536000, immutable'

const TYPES: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}

/** In the order of preference. */
const PACKINGS = [
  ['br', '.br'],
  ['gzip', '.gz'],
] as const

interface File {
  type: string
  tag: string
  /** By content coding; `identity` always. */
  forms: Map<string, Buffer>
}

type Files = Map<string, File>

async function loadFile(name: string, names: ReadonlySet<string>): Promise<File> {
  const read = (suffix: string): Promise<Buffer> => readFile(path.join(DIST, name + suffix))
  const plain = await read('')
  const forms = new Map([['identity', plain]])
  for (const [coding, suffix] of PACKINGS) if (names.has(name + suffix)) forms.set(coding, await read(suffix))
  return { type: TYPES[path.extname(name)]!, tag: hash('sha256', plain).slice(0, 24), forms }
}

/** Null: the console was not built. */
async function loadFiles(): Promise<Files | null> {
  const found = await readdir(DIST, { recursive: true }).catch(() => [])
  const names = new Set(found.map((name) => name.replaceAll('\\', '/')))
  if (!names.has('index.html')) return null
  const own = [...names].filter((name) => path.extname(name) in TYPES)
  return new Map(await Promise.all(own.map(async (name) => [name, await loadFile(name, names)] as const)))
}

let loading: Promise<Files | null> | undefined

/** The files, read once. While the console is not built they are looked for again. */
async function builtFiles(): Promise<Files | null> {
  loading ??= loadFiles()
  const files = await loading
  if (files === null) loading = undefined
  return files
}

function codingFor(file: File, accept: string | string[] | undefined): string {
  const wanted = String(accept ?? '')
  const takes = (coding: string): boolean =>
    wanted.split(',').some((part) => {
      const [name, quality = ''] = part.split(';').map((piece) => piece.trim())
      return name === coding && !/^q=0(\.0*)?$/.test(quality)
    })
  return PACKINGS.find(([coding]) => file.forms.has(coding) && takes(coding))?.[0] ?? 'identity'
}

function sendFile({ request, reply }: Call, file: File, cacheControl: string) {
  const coding = codingFor(file, request.headers['accept-encoding'])
  // A strong tag names bytes, so each coding has its own.
  const tag = `"${file.tag}.${coding}"`
  void reply
    .type(file.type)
    .header('etag', tag)
    .header('vary', 'Accept-Encoding')
    .header('cache-control', cacheControl)
    .header('referrer-policy', 'no-referrer')
    .header('content-security-policy', POLICY)
  if (matchesTag(request.headers['if-none-match'], tag)) return reply.code(304).send()
  if (coding !== 'identity') reply.header('content-encoding', coding)
  return reply.send(file.forms.get(coding)!)
}

const replies = {
  200: { description: 'A page', media: ['text/html'] },
  304: { description: 'Known' },
} as const

/** The sections of the console. A path below a section is an address of the console. */
export const SECTIONS = [
  'sign-in',
  'templates',
  'jobs',
  'insights',
  'schedules',
  'files',
  'webhooks',
  'subscriptions',
  'system',
] as const

/** Accepts any parameters, which the script of the page reads. */
const ANY = Type.Object({}, { additionalProperties: true })

export const consolePage = operation({
  name: 'consolePage',
  tag: 'Pages',
  hidden: true,
  summary: 'The web console',
  scope: null,
  params: ANY,
  query: ANY,
  replies,
  async handle(call) {
    const page = (await builtFiles())?.get('index.html')
    if (!page) return startPage(call)
    call.reply.header('cross-origin-opener-policy', 'same-origin')
    return sendFile(call, page, 'no-cache')
  },
})

export const consoleFile = operation({
  name: 'consoleFile',
  tag: 'Pages',
  hidden: true,
  summary: 'A file of the web console',
  scope: null,
  params: Type.Object({ file: Type.String() }),
  replies: {
    200: { description: 'The file', media: ['text/javascript', 'text/css', 'image/svg+xml'] },
    304: { description: 'Known' },
  },
  async handle(call) {
    const { file: name } = call.params
    const file = (await builtFiles())?.get(`assets/${name}`)
    if (!file) throw notFound('file', name)
    return sendFile(call, file, FOREVER)
  },
})
