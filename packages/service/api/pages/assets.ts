/** Files of pages, sent from memory: compressed if the browser accepts it, with a strong tag for each content coding. */
import { hash } from 'node:crypto'
import { matchesTag } from '@assay/model/entity-tag'
import { preferredCoding } from '../http/negotiate.ts'
import type { Call } from '../http/operation.ts'

/** Content codings in the order of preference. */
const CODINGS = ['br', 'gzip']

export interface Asset {
  type: string
  tag: string
  /** The bytes by content coding; `identity` always exists. */
  forms: ReadonlyMap<string, Buffer>
}

const TYPES: Record<string, string> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
}

const typeOf = (name: string): string | undefined => TYPES[/\.(\w+)$/.exec(name)?.[1] ?? '']

export const isAsset = (name: string): boolean => typeOf(name) !== undefined

/** Makes an asset. `name` has an ending that `isAsset` accepts. */
export function assetOf(name: string, forms: ReadonlyMap<string, Buffer>): Asset {
  return { type: typeOf(name)!, tag: hash('sha256', forms.get('identity')!).slice(0, 24), forms }
}

export function sendAsset({ request, reply }: Call, asset: Asset, headers: Record<string, string>) {
  const made = CODINGS.filter((one) => asset.forms.has(one))
  const coding = preferredCoding(request.headers['accept-encoding'], made) ?? 'identity'
  const tag = `"${asset.tag}.${coding}"`
  void reply.type(asset.type).headers({ etag: tag, vary: 'Accept-Encoding', ...headers })
  if (matchesTag(request.headers['if-none-match'], tag)) return reply.code(304).send()
  if (coding !== 'identity') reply.header('content-encoding', coding)
  return reply.send(asset.forms.get(coding)!)
}
