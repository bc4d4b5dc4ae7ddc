/**
 * For tests: a real OpenID Connect provider (oidc-provider) in this process. It signs in the person that the test
 * names.
 */
import { generateKeyPairSync } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'

export const CLIENT = { client_id: 'assay', client_secret: 'a secret of the tests' }

interface Account {
  sub: string
  claims: Record<string, unknown>
}

/** The types of the parts of oidc-provider that the fixture uses, because it ships none. */
interface Library {
  callback(): (request: IncomingMessage, response: ServerResponse) => void
  interactionFinished(request: IncomingMessage, response: ServerResponse, result: object): Promise<void>
}
interface GrantContext {
  oidc: {
    provider: { Grant: new (of: object) => { addOIDCScope(scope: string): void; save(): Promise<string> } }
    client: { clientId: string }
    session: { accountId: string }
  }
}

export interface TestProvider {
  issuer: string
  /** The person who signs in next. */
  person: Account
  /** Ends the provider. Its own address answers no more. */
  stop(): Promise<void>
  /** Replaces the key that signs, and publishes the new one alone. */
  rotate(): Promise<void>
  /** Walks through the pages of the provider as a browser does. Resolves with the address at which it leaves them. */
  walk(address: string): Promise<URL>
}

const newKey = (kid: string) => ({
  ...generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ format: 'jwk' }),
  kid,
  use: 'sig',
  alg: 'RS256',
})

const SCOPES = 'openid profile email groups'

async function libraryFor(issuer: string, back: string, accounts: Map<string, Account>, kid: string) {
  // A variable keeps the compiler from looking for the types, which the library does not ship.
  const name: string = 'oidc-provider'
  const { Provider } = (await import(name)) as { Provider: new (issuer: string, options: object) => Library }
  return new Provider(issuer, {
    clients: [
      {
        ...CLIENT,
        redirect_uris: [`${back}/auth/callback`],
        post_logout_redirect_uris: [`${back}/sign-in`],
        response_types: ['code'],
        grant_types: ['authorization_code'],
      },
    ],
    jwks: { keys: [newKey(kid)] },
    cookies: { keys: ['of the tests'] },
    scopes: SCOPES.split(' '),
    claims: {
      openid: ['sub'],
      profile: ['name', 'preferred_username'],
      email: ['email'],
      groups: ['groups'],
    },
    conformIdTokenClaims: false,
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_: unknown, { uid }: { uid: string }) => `/interaction/${uid}` },
    findAccount: (_: unknown, sub: string) => ({
      accountId: sub,
      claims: () => ({ sub, ...accounts.get(sub)?.claims }),
    }),
    async loadExistingGrant({ oidc }: GrantContext) {
      const of = { clientId: oidc.client.clientId, accountId: oidc.session.accountId }
      const grant = new oidc.provider.Grant(of)
      grant.addOIDCScope(SCOPES)
      await grant.save()
      return grant
    },
  })
}

/** Opens the provider. `back`: the public address of the service. */
export async function openProvider(test: Pick<TestContext, 'after'>, back: string): Promise<TestProvider> {
  const accounts = new Map<string, Account>()
  let library: Library
  let kids = 0
  const server = createServer((request, response) => {
    if (!request.url?.startsWith('/interaction/')) return library.callback()(request, response)
    accounts.set(made.person.sub, made.person)
    const result = { login: { accountId: made.person.sub }, consent: {} }
    library
      .interactionFinished(request, response, result)
      .catch((error: unknown) => response.destroy(error as Error))
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const made: TestProvider = {
    issuer,
    person: { sub: 'ada', claims: {} },
    async rotate() {
      kids += 1
      library = await libraryFor(issuer, back, accounts, `key-${kids}`)
    },
    stop: () =>
      new Promise((stopped) => {
        server.closeAllConnections()
        server.close(() => stopped())
      }),
    walk: (address) => walk(address, issuer),
  }
  await made.rotate()
  test.after(() => server.listening && made.stop())
  return made
}

async function walk(address: string, issuer: string): Promise<URL> {
  const cookies = new Map<string, string>()
  let url = new URL(address)
  while (url.href.startsWith(issuer)) {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const answer = await fetch(url, { redirect: 'manual', headers: { cookie } })
    for (const set of answer.headers.getSetCookie()) {
      const [name, value] = set.split(';')[0]!.split('=')
      cookies.set(name!, value ?? '')
    }
    const to = answer.headers.get('location')
    if (to === null) throw new Error(`The provider answered ${answer.status}: ${await answer.text()}`)
    url = new URL(to, url)
  }
  return url
}
