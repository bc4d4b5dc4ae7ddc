/** Starts the service as a user does, from an empty home, and a browser that is signed in as its admin. */
import path from 'node:path'
import { after, before } from 'node:test'
import type { Browser } from 'playwright-core'
import { ensureConsole } from '../../packages/console/build.ts'
import { freePort } from '../servers/free-port.ts'
import { type Service, startService, temporaryFolder } from '../servers/service.ts'
import { openBrowser, openPage, signIn, type Watched } from './browser.ts'
import { apiOf, assertSilent, TOKEN } from './steps.ts'

export interface Stand {
  service: Service
  browser: Browser
  watched: Watched
  /** The folder for files that a test writes. */
  folder: string
  /** Asserts that the browser reported no fault since the last call. */
  assertSilent(allowed?: RegExp[]): void
  /** Opens a page that is signed in with a token of the scope. */
  openAs(scope: 'viewer' | 'analyst'): Promise<Watched>
}

/** The one browser for all stands of a process. Each stand has pages of its own, which share nothing. */
const shared: { browser: Promise<Browser> | null; stands: number } = { browser: null, stands: 0 }

/**
 * Starts a stand. It is called at the top of a test file, and its result is filled before the first test. `below`: the
 * path below which the service is shown, such as "/assay"; its address then includes it.
 */
export function stand(env: Record<string, string> = {}, { below = '' } = {}): Stand {
  const home = temporaryFolder()
  const made = { folder: home.folder } as Stand
  made.assertSilent = (allowed) => assertSilent(made.watched, allowed)
  made.openAs = async (scope) => {
    const { token } = await apiOf(made.service.url).tokens.create({ name: scope, scopes: [scope] })
    const other = await openPage(made.browser, made.service.url)
    await signIn(other.page, token)
    return other
  }
  shared.stands += 1
  before(async () => {
    await ensureConsole()
    shared.browser ??= openBrowser()
    const port = below === '' ? 0 : await freePort()
    const all: Record<string, string> = { ASSAY_TOKEN: TOKEN, ...env }
    if (below !== '') all.ASSAY_PUBLIC_URL = `http://127.0.0.1:${port}${below}`
    const started = await Promise.all([
      startService({ home: path.join(home.folder, 'home'), port, wrapped: false, env: all }),
      shared.browser,
    ])
    made.service = { ...started[0], url: started[0].url + below }
    made.browser = started[1]
    made.watched = await openPage(made.browser, made.service.url)
    await signIn(made.watched.page, TOKEN)
  })
  after(async () => {
    await made.watched?.context.close()
    shared.stands -= 1
    if (shared.stands === 0) await (await shared.browser)?.close()
    made.service?.signal('SIGTERM')
    await made.service?.exited
    home.remove()
  })
  return made
}
