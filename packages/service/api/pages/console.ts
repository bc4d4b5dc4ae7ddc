/**
 * Serves the web console: the files that packages/console/build.ts made, from memory, with strong tags, compressed if the
 * browser accepts it. Every address of the console is the same page, whose script reads the address. If the console was
 * not built, a start page says how to build it.
 */
import { readdir, readFile } from 'node:fs/promises'
import type { IncomingHttpHeaders } from 'node:http'
import path from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, gzip } from 'node:zlib'
import { AppError, notFound } from '@assay/model/errors'
import { Type } from '@assay/model/schema'
import { preferred } from '../http/negotiate.ts'
import { type Call, operation } from '../http/operation.ts'
import { prefixOf } from '../prefix.ts'
import { type Asset, assetOf, isAsset, sendAsset } from './assets.ts'
import { startPage } from './pages.ts'

const brotli = promisify(brotliCompress)
const zip = promisify(gzip)
const DIST = path.join(import.meta.dirname, '../../../console/dist')

/** Allows the console's own files only: no inline script or style, no other host, no frame around it. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

/** A file may be cached for ever, because its name holds a hash of its content. */
const FOREVER = 'public, max-age=31536000, immutable'

/** Content codings of the files that the build has compressed, with their endings. */
const COMPRESSED = [
  ['br', '.br'],
  ['gzip', '.gz'],
] as const

type Assets = Map<string, Asset>

/**
 * Returns the page of a service below `prefix`. The page names its files and the service from the root of the host.
 */
async function pageBelow(built: Asset, prefix: string): Promise<Asset> {
  const html = built.forms
    .get('identity')!
    .toString()
    .replaceAll('="./', `="${prefix}/`)
    .replace('data-base=""', `data-base="${prefix}"`)
  const bytes = Buffer.from(html)
  return assetOf(
    'index.html',
    new Map([
      ['identity', bytes],
      ['br', await brotli(bytes)],
      ['gzip', await zip(bytes)],
    ]),
  )
}

async function loadAsset(name: string, names: ReadonlySet<string>): Promise<Asset> {
  const read = (suffix: string): Promise<Buffer> => readFile(path.join(DIST, name + suffix))
  const forms = new Map([['identity', await read('')]])
  for (const [coding, suffix] of COMPRESSED)
    if (names.has(name + suffix)) forms.set(coding, await read(suffix))
  return assetOf(name, forms)
}

/** Loads the built console. Returns null if the console was not built. */
async function loadAssets(): Promise<Assets | null> {
  const found = await readdir(DIST, { recursive: true }).catch(() => [])
  const names = new Set(found.map((name) => name.replaceAll('\\', '/')))
  if (!names.has('index.html')) return null
  const own = [...names].filter(isAsset)
  return new Map(await Promise.all(own.map(async (name) => [name, await loadAsset(name, names)] as const)))
}

let loading: Promise<Assets | null> | undefined

/** Returns the files, which are read once. While the console is not built, each call looks for them again. */
async function builtFiles(): Promise<Assets | null> {
  loading ??= loadAssets()
  const files = await loading
  if (files === null) loading = undefined
  return files
}

const pages = new WeakMap<Asset, Map<string, Promise<Asset>>>()

/** Returns the page of a service with this prefix (see prefix.ts); null if the console was not built. */
async function builtPage(prefix: string): Promise<Asset | null> {
  const built = (await builtFiles())?.get('index.html')
  if (!built) return null
  const made = pages.get(built) ?? new Map<string, Promise<Asset>>()
  pages.set(built, made)
  const page = made.get(prefix) ?? pageBelow(built, prefix)
  made.set(prefix, page)
  return page
}

const sendFile = (call: Call, file: Asset, cacheControl: string) =>
  sendAsset(call, file, {
    'cache-control': cacheControl,
    'referrer-policy': 'no-referrer',
    'content-security-policy': POLICY,
  })

const replies = {
  200: { description: 'A page', media: ['text/html'] },
  304: { description: 'Known' },
} as const

/** The sections of the console. A path below a section is an address of the console. */
export const SECTIONS = [
  'sign-in',
  'account',
  'templates',
  'metric',
  'jobs',
  'insights',
  'health',
  'schedules',
  'files',
  'data',
  'webhooks',
  'subscriptions',
  'system',
] as const

/** Accepts any parameters, which the script of the page reads. */
const ANY = Type.Object({}, { additionalProperties: true })

const WRONG_ADDRESS =
  'This is an address of the console, which answers pages. The interface is below /v1alpha: check the base address of the client.'

/**
 * Tells whether the request comes from a client of the interface with a wrong base address. A browser sends no token
 * and accepts HTML.
 */
function isProgram({ authorization, accept }: IncomingHttpHeaders): boolean {
  return authorization !== undefined || preferred(accept, ['text/html', 'application/json']) !== 'text/html'
}

export const consolePage = operation({
  name: 'consolePage',
  tag: 'Pages',
  hidden: true,
  summary: 'The web console',
  scope: null,
  params: ANY,
  query: ANY,
  replies,
  errors: ['not_found'],
  async handle(call) {
    if (isProgram(call.request.headers)) throw new AppError('not_found', WRONG_ADDRESS)
    const page = await builtPage(prefixOf(call.services.config.publicUrl))
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
