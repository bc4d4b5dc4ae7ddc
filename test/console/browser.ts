/**
 * Starts Chromium for the tests of the console: the one inside the npm package, or that of CHROMIUM_PATH. It sends
 * requests to no host but the service under test.
 */
import { execFile } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { mkdtemp, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { type Browser, type BrowserContext, chromium as launcher, type Page } from 'playwright-core'

/** The most milliseconds of a wait. It only guards against hanging, because a busy machine may be slow. */
export const PATIENCE_MS = 180_000

const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-dev-shm-usage',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--disable-extensions',
  '--font-render-hinting=none',
]

const ROOT = path.join(import.meta.dirname, '..', '..')
const { devDependencies } = JSON.parse(readFileSync(path.join(ROOT, 'package.json'), 'utf8')) as {
  devDependencies: Record<string, string>
}
const VERSION = devDependencies['@sparticuz/chromium']
const UNPACK = "import chromium from '@sparticuz/chromium'; await chromium.executablePath()"

/**
 * Unpacks Chromium once on a machine, into a folder that appears only when it is complete. The package's own folder is
 * shared: a test that starts meanwhile would find an incomplete program there.
 */
async function unpacked(): Promise<string> {
  const place = path.join(tmpdir(), `assay-chromium-${VERSION}-${process.getuid?.() ?? ''}`)
  if (!existsSync(place)) {
    const made = await mkdtemp(`${place}-`)
    await promisify(execFile)(process.execPath, ['--input-type=module', '-e', UNPACK], {
      cwd: ROOT,
      env: { ...process.env, TMPDIR: made },
    })
    // The rename fails if another process was faster.
    await rename(made, place).catch(() => rm(made, { recursive: true, force: true }))
  }
  return path.join(place, 'chromium')
}

export async function openBrowser(): Promise<Browser> {
  const executablePath = process.env.CHROMIUM_PATH ?? (await unpacked())
  return launcher.launch({ executablePath, headless: true, args: FLAGS, timeout: PATIENCE_MS })
}

/** A page, and the faults that it reported. */
export interface Watched {
  page: Page
  context: BrowserContext
  /** Errors of the console, exceptions, violations of the policy, and requests to any other host. */
  complaints: string[]
}

export interface View {
  dark?: boolean
  width?: number
  height?: number
  timeZone?: string
  /** True to accept a certificate that no authority has signed. */
  anyCertificate?: boolean
}

export async function openPage(browser: Browser, url: string, view: View = {}): Promise<Watched> {
  const context = await browser.newContext({
    baseURL: `${url}/`,
    colorScheme: view.dark ? 'dark' : 'light',
    viewport: { width: view.width ?? 1280, height: view.height ?? 900 },
    reducedMotion: 'reduce',
    locale: 'en-GB',
    timezoneId: view.timeZone ?? 'UTC',
    acceptDownloads: true,
    ignoreHTTPSErrors: view.anyCertificate === true,
  })
  context.setDefaultTimeout(PATIENCE_MS)
  const page = await context.newPage()
  const complaints: string[] = []
  page.on('console', (message) => {
    // The network of the machine has changed meanwhile, as each jail of an analysis adds one. The page repeats the
    // request.
    if (message.text().endsWith('net::ERR_NETWORK_CHANGED')) return
    if (['error', 'warning'].includes(message.type())) complaints.push(`${message.type()}: ${message.text()}`)
  })
  page.on('pageerror', (error) => complaints.push(`exception: ${error.message}`))
  page.on('request', (request) => {
    const address = request.url()
    if (!address.startsWith(`${url}/`) && !/^(data|blob):/.test(address)) complaints.push(`asked ${address}`)
  })
  return { page, context, complaints }
}

export async function signIn(page: Page, token: string): Promise<void> {
  await page.goto('sign-in')
  await page.getByLabel('Token').fill(token)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.getByRole('heading', { name: 'Insights', level: 1 }).waitFor()
}
