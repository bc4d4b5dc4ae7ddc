/**
 * Chromium for the tests of the console: the one that comes inside the npm package, or CHROMIUM_PATH. It asks no host but
 * the service that it is shown.
 */
import chromium from '@sparticuz/chromium'
import { type Browser, type BrowserContext, chromium as launcher, type Page } from 'playwright-core'

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

export async function openBrowser(): Promise<Browser> {
  const executablePath = process.env.CHROMIUM_PATH ?? (await chromium.executablePath())
  return launcher.launch({ executablePath, headless: true, args: FLAGS })
}

/** A page, and all that it said or asked where it should have been silent. */
export interface Watched {
  page: Page
  context: BrowserContext
  /** Errors of the console, exceptions, violations of the policy; requests to any other host. */
  complaints: string[]
}

export interface View {
  dark?: boolean
  width?: number
  height?: number
}

export async function openPage(browser: Browser, url: string, view: View = {}): Promise<Watched> {
  const context = await browser.newContext({
    baseURL: url,
    colorScheme: view.dark ? 'dark' : 'light',
    viewport: { width: view.width ?? 1280, height: view.height ?? 900 },
    reducedMotion: 'reduce',
    locale: 'en-GB',
    timezoneId: 'UTC',
    acceptDownloads: true,
  })
  const page = await context.newPage()
  const complaints: string[] = []
  page.on('console', (message) => {
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
  await page.goto('/sign-in')
  await page.getByLabel('Token').fill(token)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.getByRole('heading', { name: 'Templates', level: 1 }).waitFor()
}
