/**
 * Runs the files of deploy/proxies before a real service, with TLS: nginx, Caddy and HAProxy, on a host of its own
 * and below a path. The clients of both languages, the official client of agents, and Chromium use each. The output
 * names a program that is not installed.
 */
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { setDefaultCACertificates } from 'node:tls'
import { createClient } from '@assay/client'
import { auth } from '@modelcontextprotocol/client'
import type { Browser } from 'playwright-core'
import { keeper } from '../packages/service/api/oauth/client-fixture.ts'
import { openBrowser, openPage, signIn } from '../test/console/browser.ts'
import { freePort } from '../test/servers/free-port.ts'
import { eventually, startService, temporaryFolder } from '../test/servers/service.ts'
import type { Proof, ProofInput } from './main.ts'

const root = path.dirname(import.meta.dirname)
const TOKEN = 'proxies-proof-token-0123456789'
const BELOW = '/assay'
const MEGABYTE = 1_000_000
/**
 * The milliseconds within which the first event must arrive if nothing holds it back, on a busy machine. The stream
 * of a draft lasts for longer.
 */
const PROMPT_MS = 20_000

interface Stage {
  folder: string
  /** The ports of the proxy, and of the service behind it. */
  port: number
  behind: number
}

interface Proxy {
  program: string
  file: string
  /** Returns the file as the proof runs it, with the text that must stand around it. */
  around(text: string, stage: Stage): string
  args(file: string): string[]
}

const PROXIES: Record<string, Proxy> = {
  nginx: {
    program: 'nginx',
    file: 'nginx.conf',
    around: (text, { folder, port }) => {
      const kept = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
      const http = kept.map((name) => `${name}_temp_path ${folder}/${name};`).join(' ')
      const site = text
        .replaceAll('listen 443', `listen 127.0.0.1:${port}`)
        .replaceAll('/var/log/nginx/', `${folder}/`)
      const user = process.getuid?.() === 0 ? 'user root;' : ''
      return `${user} daemon off; pid ${folder}/nginx.pid; error_log ${folder}/nginx-error.log;\nevents {}\nhttp { ${http}\n${site}\n}\n`
    },
    args: (file) => ['-c', file],
  },
  caddy: {
    program: 'caddy',
    file: 'Caddyfile',
    around: (text, { port }) =>
      `{\n\tadmin off\n\tauto_https disable_redirects\n\tdefault_bind 127.0.0.1\n}\n${text
        .replace(/^localhost /m, `localhost:${port} `)
        .replace(/^127\.0\.0\.1 /m, `127.0.0.1:${port} `)}`,
    args: (file) => ['run', '--adapter', 'caddyfile', '--config', file],
  },
  haproxy: {
    program: 'haproxy',
    file: 'haproxy.cfg',
    around: (text, { port }) => text.replace('bind :443', `bind 127.0.0.1:${port}`),
    args: (file) => ['-db', '-f', file],
  },
}

const isThere = (program: string): boolean =>
  spawnSync(program, [program === 'caddy' ? 'version' : '-v']).error === undefined

/** Makes a certificate for this proof, which its own clients trust. */
function makeCertificate(folder: string): string {
  const [key, cert] = ['key.pem', 'cert.pem'].map((name) => path.join(folder, name)) as [string, string]
  const names = 'subjectAltName=DNS:localhost,IP:127.0.0.1'
  const made = [
    'req',
    '-x509',
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:P-256',
    '-nodes',
    '-days',
    '2',
  ]
  execFileSync(
    'openssl',
    [...made, '-subj', '/CN=localhost', '-addext', names, '-keyout', key, '-out', cert],
    {
      stdio: 'ignore',
    },
  )
  const text = readFileSync(cert, 'utf8')
  writeFileSync(path.join(folder, 'both.pem'), text + readFileSync(key, 'utf8'))
  setDefaultCACertificates([text])
  return cert
}

async function startProxy({ program, file, around, args }: Proxy, stage: Stage): Promise<ChildProcess> {
  const text = readFileSync(path.join(root, 'deploy/proxies', file), 'utf8')
    .replaceAll('127.0.0.1:8080', `127.0.0.1:${stage.behind}`)
    .replaceAll('assay.example.com', 'localhost')
    .replaceAll('tools.example.com', '127.0.0.1')
    .replaceAll('/etc/assay/tls/', `${stage.folder}/`)
  const made = path.join(stage.folder, file)
  writeFileSync(made, around(text, stage))
  const child = spawn(program, args(made), {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, HOME: stage.folder, XDG_DATA_HOME: stage.folder },
  })
  let said = ''
  child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString('utf8')))
  child.on('exit', (code) => {
    if (code !== 0 && code !== null)
      process.stderr.write(`${program} ended with ${code}:\n${said.slice(-2000)}\n`)
  })
  return child
}

async function stopProxy(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return
  const ended = new Promise((resolve) => child.once('exit', resolve))
  child.kill('SIGTERM')
  await ended
}

type Check = (url: string) => Promise<string | null>

const workflow: Check = async (url) => {
  const assay = createClient({ url, token: TOKEN })
  const insight = await assay.jobs.runAndWait('nile-flow')
  const { url: page } = await assay.links.create(insight.insight_id, { expires_in: 3600 })
  if (!page.startsWith(`${url}/links/`)) return `a link is ${page}`
  const opened = await fetch(page)
  return opened.status === 200 && (await opened.text()).includes('Nile')
    ? null
    : `a link answers ${opened.status}`
}

const upload: Check = async (url) => {
  const assay = createClient({ url, token: TOKEN })
  const rows = `a,b\n${'1,2\n'.repeat((5 * MEGABYTE) / 4)}`
  const { bytes } = await assay.files.put('big.csv', new Blob([rows]))
  return bytes === rows.length ? null : `of an upload of ${rows.length} bytes ${bytes} arrived`
}

const stream: Check = async (url) => {
  const assay = createClient({ url, token: TOKEN })
  const begun = performance.now()
  for await (const job of assay.jobs.watch(await assay.jobs.create({ template_id: 'nile-flow' }))) {
    const took = performance.now() - begun
    return job.job_status === 'draft' && took < PROMPT_MS ? null : `the first event came after ${took} ms`
  }
  return 'a stream ended before its first event'
}

/** Checks the longest call that waits. */
const wait: Check = async (url) => {
  const id = await createClient({ url, token: TOKEN }).jobs.create({ template_id: 'nile-flow' })
  const headers = { authorization: `Bearer ${TOKEN}` }
  const answer = await fetch(`${url}/v1alpha/jobs/status?assignment_id=${id}&wait=60`, { headers })
  return answer.status === 200 ? null : `a call that waits is answered ${answer.status}`
}

/** Checks that X-Forwarded-For as a client writes it does not count as its address. */
const address: Check = async (url) => {
  const headers = { authorization: `Bearer ${TOKEN}`, 'x-forwarded-for': '203.0.113.9' }
  const made = await fetch(`${url}/v1alpha/tokens`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'address', scopes: ['viewer'] }),
  })
  const { token_id } = (await made.json()) as { token_id: string }
  const { items } = await createClient({ url, token: TOKEN }).audit({ object_id: token_id })
  return items[0]?.address === '127.0.0.1' ? null : `the address of a client is ${items[0]?.address}`
}

const packed: Check = async (url) => {
  const answer = await fetch(url, { headers: { 'accept-encoding': 'br, gzip' } })
  const coding = answer.headers.get('content-encoding')
  return coding === null ? 'the page came unpacked' : null
}

const agent: Check = async (url) => {
  const { kept, provider } = keeper('http://127.0.0.1:9/callback')
  const found = await auth(provider, { serverUrl: `${url}/mcp`, scope: 'analyst' })
  return found === 'REDIRECT' && String(kept.address).startsWith(`${url}/oauth/authorize`)
    ? null
    : `an agent is sent to ${String(kept.address)}`
}

const python =
  (certificate: string): Check =>
  async (url) => {
    const program = `from assay_client import Client\nassay = Client("${url}", "${TOKEN}")\nprint(assay.markdown(assay.run("nile-flow")["insight_id"])[:2], end="")`
    const { stdout, stderr } = spawnSync('python3', ['-c', program], {
      encoding: 'utf8',
      env: { ...process.env, SSL_CERT_FILE: certificate, PYTHONPATH: path.join(root, 'clients/python') },
    })
    return stdout === '# ' ? null : `the Python client says ${stderr.slice(-500)}`
  }

const browserCheck =
  (browser: Browser): Check =>
  async (url) => {
    const insight = await createClient({ url, token: TOKEN }).jobs.runAndWait('nile-flow')
    const { page, context, complaints } = await openPage(browser, url, { anyCertificate: true })
    try {
      await signIn(page, TOKEN)
      await page.goto(`insights/${insight.insight_id}`)
      const title = page.getByRole('heading', { name: /Nile/, level: 1 })
      await title.waitFor()
      await page.reload()
      await title.waitFor()
      await page.goto('docs')
      await page.getByRole('heading', { name: 'Templates', exact: false }).first().waitFor()
      return complaints.length === 0 ? null : `Chromium complains: ${complaints.join('; ')}`
    } finally {
      await context.close()
    }
  }

async function proveOne(url: string, checks: Record<string, Check>): Promise<string[]> {
  const told = await Promise.all(
    Object.entries(checks).map(async ([name, check]) => {
      const broken = await check(url).catch((error: unknown) => String(error))
      return broken === null ? [] : [`${name}: ${broken}`]
    }),
  )
  return told.flat()
}

async function provePath(stage: Stage, below: string, checks: Record<string, Check>, log: ProofInput['log']) {
  const url = `https://${below === '' ? 'localhost' : '127.0.0.1'}:${stage.port}${below}`
  const service = await startService({
    home: path.join(stage.folder, `home${below.replace('/', '-')}`),
    port: stage.behind,
    wrapped: false,
    env: { ASSAY_TOKEN: TOKEN, ASSAY_PUBLIC_URL: url, ASSAY_TRUST_PROXY: '127.0.0.1' },
  })
  const broken: string[] = []
  try {
    for (const [name, proxy] of Object.entries(PROXIES).filter(([, { program }]) => isThere(program))) {
      const child = await startProxy(proxy, stage)
      try {
        await eventually(async () => (await fetch(`${url}/healthz`).catch(() => null))?.status === 200, name)
        const found = await proveOne(url, checks)
        log(`${name}, ${url}: ${found.length === 0 ? 'held' : found.join('; ')}`)
        broken.push(...found.map((sentence) => `${name}, ${url}: ${sentence}`))
      } finally {
        await stopProxy(child)
      }
    }
  } finally {
    service.signal('SIGTERM')
    await service.exited
  }
  return broken
}

export const proof: Proof = {
  summary: 'nginx, Caddy and HAProxy before the service, on a host of its own and below a path',
  async run({ log }) {
    const missing = Object.keys(PROXIES).filter((name) => !isThere(PROXIES[name]!.program))
    if (missing.length > 0) log(`not installed, so not tried: ${missing.join(', ')}`)
    if (missing.length === Object.keys(PROXIES).length) return ['no proxy is installed']
    const { folder, remove } = temporaryFolder()
    mkdirSync(folder, { recursive: true })
    const certificate = makeCertificate(folder)
    const stage = { folder, port: await freePort(), behind: await freePort() }
    const browser = await openBrowser()
    try {
      const shared = { workflow, upload, stream, address, packed, agent }
      const checks = { ...shared, python: python(certificate), browser: browserCheck(browser) }
      return [
        ...(await provePath(stage, '', { ...checks, wait }, log)),
        ...(await provePath(stage, BELOW, checks, log)),
      ]
    } finally {
      await browser.close()
      remove()
    }
  },
}
