/** For tests: a provider that signs the claims that the test gives, right or wrong. */
import { createHmac, createSign, generateKeyPairSync } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'

const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
const jwk = publicKey.export({ format: 'jwk' })
const encoded = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')

export interface Forged {
  claims?: Record<string, unknown>
  /** The algorithm of the signature. The default is RS256 by the published key. */
  alg?: 'RS256' | 'HS256' | 'none' | 'other key'
  /** The answer of the token endpoint in place of tokens. */
  answer?: string
  /** Further fields of the answer. */
  more?: Record<string, unknown>
}

const otherKey = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey

function signed(claims: object, alg: NonNullable<Forged['alg']>): string {
  const text = `${encoded({ alg: alg === 'other key' ? 'RS256' : alg, kid: 'one' })}.${encoded(claims)}`
  if (alg === 'none') return `${text}.`
  // This is the confusion of algorithms: the published key is used as a shared secret.
  if (alg === 'HS256')
    return `${text}.${createHmac('sha256', publicKey.export({ type: 'spki', format: 'pem' }))
      .update(text)
      .digest('base64url')}`
  const by = alg === 'other key' ? otherKey : privateKey
  return `${text}.${createSign('RSA-SHA256').update(text).sign(by, 'base64url')}`
}

export interface Rogue {
  issuer: string
  forged: Forged
  /** The nonce of the last request to sign in. */
  nonce: string
  /** The last requests to the token endpoint. */
  redeemed: URLSearchParams[]
  /** The number of times that its metadata were read. */
  asked: number
  /** True while it lets the token endpoint wait. */
  silent: boolean
  /** Cuts every connection. */
  cut(): void
}

export async function openRogue(test: Pick<TestContext, 'after'>): Promise<Rogue> {
  const made: Rogue = {
    issuer: '',
    forged: {},
    nonce: '',
    redeemed: [],
    asked: 0,
    silent: false,
    cut: () => server.closeAllConnections(),
  }
  const server = createServer((request, response): void => {
    const json = (value: unknown): void =>
      void response.setHeader('content-type', 'application/json').end(JSON.stringify(value))
    const { issuer } = made
    if (request.url === '/.well-known/openid-configuration') {
      made.asked += 1
      return json({
        issuer,
        authorization_endpoint: `${issuer}/authorize`,
        token_endpoint: `${issuer}/token`,
        jwks_uri: `${issuer}/keys`,
        authorization_response_iss_parameter_supported: true,
        // A careless provider lists these algorithms.
        id_token_signing_alg_values_supported: ['RS256', 'HS256', 'none'],
        response_types_supported: ['code'],
        subject_types_supported: ['public'],
      })
    }
    if (request.url === '/keys') return json({ keys: [{ ...jwk, kid: 'one', use: 'sig' }] })
    let body = ''
    request.on('data', (part: Buffer) => (body += part.toString()))
    request.on('end', () => {
      made.redeemed.push(new URLSearchParams(body))
      if (made.silent) return
      const { claims, alg = 'RS256', answer, more } = made.forged
      if (answer !== undefined) return void response.setHeader('content-type', 'application/json').end(answer)
      const now = Math.floor(Date.now() / 1000)
      const right = { iss: issuer, aud: 'assay', sub: 'mallory', nonce: made.nonce, iat: now, exp: now + 300 }
      const id_token = signed({ ...right, groups: ['staff'], ...claims }, alg)
      return json({ access_token: 'of the provider', token_type: 'Bearer', id_token, ...more })
    })
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  made.issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  test.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return made
}
