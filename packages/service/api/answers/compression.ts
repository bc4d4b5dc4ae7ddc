/**
 * Compresses answers to GET whose text is longer than a few packets, in the coding that the client prefers. Streams are
 * not compressed, and an answer that already has a coding keeps it.
 *
 * BREACH (https://breachattack.com, 2013) guesses a secret from the lengths of compressed answers that hold both the
 * secret and text of the attacker, who makes a browser ask for them. Tokens, signing secrets and addresses of links are
 * shown once, by POST, and those answers are never compressed. A delivery shows the mail that was sent, with the
 * addresses of links in it: it is not compressed either. Nor can another site make a browser ask with the rights of its
 * user: the cookie is SameSite, and programs send a token that sites do not have.
 */
import { promisify } from 'node:util'
import { brotliCompress, type CompressCallback, constants, gzip, zstdCompress } from 'node:zlib'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { preferredCoding } from '../http/negotiate.ts'

/** The least bytes of an answer that is compressed. A shorter answer saves too few packets for the work. */
const LEAST_BYTES = 4096
const TEXT = /^(?:text\/(?!event-stream)|application\/(?:problem\+)?json\b|image\/svg\+xml)/

/** Brotli's own window of 4 MB costs four times the work of a window of 256 KB, for the same bytes of a list. */
const BROTLI = { [constants.BROTLI_PARAM_QUALITY]: 3, [constants.BROTLI_PARAM_LGWIN]: 18 }

/**
 * The codings in the order of preference at equal quality. Their levels are quick ones, because an answer is
 * compressed for one request alone.
 */
const CODINGS = {
  zstd: (bytes: Buffer, done: CompressCallback) =>
    zstdCompress(bytes, { params: { [constants.ZSTD_c_compressionLevel]: 1 } }, done),
  br: (bytes: Buffer, done: CompressCallback) => brotliCompress(bytes, { params: BROTLI }, done),
  gzip: (bytes: Buffer, done: CompressCallback) => gzip(bytes, { level: 1 }, done),
}
/** Operations whose answers to GET may hold secrets. */
const WITH_SECRETS: readonly string[] = ['getDelivery']

export const isCompressed = (operation: string): boolean => !WITH_SECRETS.includes(operation)

const NAMES = Object.keys(CODINGS) as (keyof typeof CODINGS)[]

function addVary(reply: FastifyReply): void {
  const vary = reply.getHeader('vary')
  void reply.header('vary', vary === undefined ? 'Accept-Encoding' : `${String(vary)}, Accept-Encoding`)
}

/** Gives the coded answer a tag of its own, because a strong tag names the bytes that are sent. */
function codeTag(reply: FastifyReply, coding: string): void {
  const tag = reply.getHeader('etag')
  if (typeof tag === 'string') void reply.header('etag', tag.replace(/"$/, `.${coding}"`))
}

/** Returns the coding of an answer, or null if it is sent without one. */
function codingOf(
  request: FastifyRequest,
  reply: FastifyReply,
  payload: unknown,
): keyof typeof CODINGS | null {
  if (request.method !== 'GET' || (typeof payload !== 'string' && !Buffer.isBuffer(payload))) return null
  if (payload.length < LEAST_BYTES || reply.hasHeader('content-encoding')) return null
  if (!TEXT.test(String(reply.getHeader('content-type')))) return null
  addVary(reply)
  return preferredCoding(request.headers['accept-encoding'], NAMES)
}

/** The compressed forms of bytes that are still sent, such as those of a kept page. */
const coded = new WeakMap<Buffer, Map<keyof typeof CODINGS, Promise<Buffer>>>()

/** Compresses bytes once, however many requests ask for the same: anyone may open the page of a link again and again. */
function codedOf(bytes: Buffer, coding: keyof typeof CODINGS): Promise<Buffer> {
  const forms = coded.get(bytes) ?? new Map<keyof typeof CODINGS, Promise<Buffer>>()
  coded.set(bytes, forms)
  const form = forms.get(coding) ?? promisify(CODINGS[coding])(bytes)
  forms.set(coding, form)
  return form
}

/** Compresses an answer. It is the last hook, so an answer that is stored for repeats is stored before it. */
export async function compress(
  request: FastifyRequest,
  reply: FastifyReply,
  payload: unknown,
): Promise<unknown> {
  const coding = codingOf(request, reply, payload)
  if (coding === null) return payload
  const bytes = typeof payload === 'string' ? Buffer.from(payload) : (payload as Buffer)
  const short = await codedOf(bytes, coding)
  codeTag(reply, coding)
  void reply.header('content-encoding', coding).removeHeader('content-length')
  return short
}
