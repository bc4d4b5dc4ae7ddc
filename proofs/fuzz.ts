/**
 * Sends requests of every kind to the running service. Whatever is sent, it answers no 5xx, each 4xx is a problem
 * with a code of the table, each 2xx fits the OpenAPI document, the process stays alive and its memory does not grow.
 */
import { readFileSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { Agent, createServer, request as httpRequest, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { ERRORS, type ErrorCode } from '@assay/model/errors'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import { createFuzzer, type Document, type FuzzRequest, type Known } from '../test/hostile/fuzz.ts'
import { type Service, startService, temporaryFolder } from '../test/servers/service.ts'
import type { Proof } from './main.ts'

export interface FuzzOptions {
  requests: number
  seed: number
  log(line: string): void
}

export interface FuzzReport {
  requests: number
  /** The number of answers by status. */
  statuses: Record<number, number>
  /** The number of answers with a 2xx, by operation. */
  fitting: Record<string, number>
  resident: { early: number; late: number }
  violations: string[]
}

const TOKEN = 'fuzz-admin-token-0123456789'
const CONCURRENCY = 8
/** Operations that are called less often, because each needs an analysis process or a password hash. */
const SELDOM: Record<string, number> = {
  previewTemplate: 40,
  explainTemplate: 40,
  checkTemplate: 20,
  listChoices: 20,
  login: 20,
  testWebhook: 10,
  createUser: 20,
}
const MOST_KNOWN = 40

interface Answer {
  status: number
  headers: IncomingMessage['headers']
  text: string
  /** False if the fuzzer did not wait for the end of the body. */
  whole: boolean
}

const PATIENCE_MS = 3000

/** Returns the token for an operation. Signing out revokes the token of its request, so it gets one of its own. */
function tokenOf(operation: string): string {
  return operation === 'logout' ? `${TOKEN}-of-nobody` : TOKEN
}

/** Streams and waits are cut off after a while. The service must survive that. */
function send(
  agent: Agent,
  url: URL,
  { operation, method, target, headers, body }: FuzzRequest,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const request = httpRequest({
      agent,
      method,
      host: url.hostname,
      port: url.port,
      path: target,
      headers: {
        authorization: `Bearer ${tokenOf(operation)}`,
        ...headers,
        ...(body ? { 'content-length': body.length } : {}),
      },
    })
    let left = false
    const timer = setTimeout(() => {
      left = true
      request.destroy()
      resolve({ status: 0, headers: {}, text: '', whole: false })
    }, PATIENCE_MS)
    request.on('response', (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('error', () => undefined)
      response.on('close', () => {
        clearTimeout(timer)
        if (!left)
          resolve({
            status: response.statusCode!,
            headers: response.headers,
            text: Buffer.concat(chunks).toString('utf8'),
            whole: response.complete,
          })
      })
    })
    request.on('error', (error) => {
      clearTimeout(timer)
      if (!left) reject(error)
    })
    request.end(body ?? undefined)
  })
}

/** Returns a judge of answers by the document. */
function createJudge(document: Document) {
  const ajv = new Ajv2020({ strict: false })
  formats.default(ajv)
  const validators = new Map<string, ValidateFunction>()
  const described = new Map(
    Object.values(document.paths).flatMap((methods) =>
      Object.values(methods).map((one) => [one.operationId, one] as const),
    ),
  )

  function schemaFault(operation: string, status: number, value: unknown): string | null {
    const response = described.get(operation)!.responses[status]
    if (!response) return `the document knows no ${status}`
    const schema = response.content?.['application/json']?.schema
    if (!schema) return null
    const key = `${operation} ${status}`
    const validate = validators.get(key) ?? ajv.compile({ ...schema, components: document.components })
    validators.set(key, validate)
    return validate(value) ? null : ajv.errorsText(validate.errors)
  }

  return ({ operation, method }: FuzzRequest, { status, headers, text }: Answer): string | null => {
    if (headers['x-request-id'] === undefined) return 'an answer without x-request-id'
    if (status >= 500) return `a ${status}: ${text}`
    const type = headers['content-type'] ?? ''
    if (status >= 400) {
      if (!type.startsWith('application/problem+json')) return `a ${status} of the type ${type}`
      const { code, status: said } = JSON.parse(text) as { code: ErrorCode; status: number }
      if (ERRORS[code]?.status !== status || said !== status) return `a ${status} with the code ${code}`
      return status === 405 && headers.allow === undefined ? 'a 405 without Allow' : null
    }
    if (status >= 300 && status !== 304) return `a redirect ${status}`
    if (method === 'GET' && status === 304) return null
    return type.startsWith('application/json') ? schemaFault(operation, status, JSON.parse(text)) : null
  }
}

const REMEMBERED: Record<string, string> = {
  assignment_id: 'assignment_id',
  insight_id: 'insight_id',
  webhook_id: 'webhook_id',
  delivery_id: 'delivery_id',
  recovery_id: 'recovery_id',
  user_id: 'user_id',
  next_cursor: 'cursor',
}

/** Keeps the ids of created objects for later requests. It leaves out the first token's id, which must stay valid. */
function remember(known: Known, { operation }: FuzzRequest, { status, headers, text }: Answer): void {
  if (status >= 300 || !String(headers['content-type']).startsWith('application/json')) return
  const keep = (name: string, value: string): void => {
    const list = known.get(name) ?? []
    if (!list.includes(value)) known.set(name, [...list, value].slice(-MOST_KNOWN))
  }
  if (operation === 'createJob') keep('assignment_id', JSON.parse(text) as string)
  if (operation === 'createToken') keep('token_id', (JSON.parse(text) as { token_id: string }).token_id)
  for (const [, field, value] of text.matchAll(/"(\w+)":"([^"\\]{1,200})"/g)) {
    const name = REMEMBERED[field!]
    if (name !== undefined && value !== 'admin') keep(name, value!)
  }
}

function residentBytes(pid: number): number {
  const line = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))
  return line ? Number(line[1]) * 1024 : 0
}

const HELLO = '---\nvariables:\n  who: { type: string, default: world }\n---\n# Hello {{ vars.who }}\n'

async function openService(): Promise<{ service: Service; known: Known; close(): Promise<void> }> {
  const { folder, remove } = temporaryFolder()
  const templates = path.join(folder, 'templates')
  await mkdir(templates)
  await writeFile(path.join(templates, 'hello.md'), HELLO)
  const receiver = createServer((_, response) => response.end()).listen(0, '127.0.0.1')
  const service = await startService({
    home: path.join(folder, 'home'),
    wrapped: false,
    env: {
      ASSAY_TOKEN: TOKEN,
      ASSAY_TEMPLATES: templates,
      ASSAY_WEBHOOK_TARGETS: 'loopback',
      ASSAY_WORKERS: '1',
      ASSAY_LOG_LEVEL: 'error',
    },
  })
  const hook = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`
  const known: Known = new Map([
    ['template_id', ['hello']],
    ['url', [hook]],
    ['wait', ['0']],
    ['template_vars', []],
    ['source', [HELLO]],
  ])
  return {
    service,
    known,
    async close() {
      service.signal('SIGTERM')
      await service.exited
      receiver.closeAllConnections()
      receiver.close()
      remove()
    },
  }
}

/** Sends the wanted number of requests, and a few more that were under way. */
export async function fuzz({ requests, seed, log }: FuzzOptions): Promise<FuzzReport> {
  const { service, known, close } = await openService()
  const report: FuzzReport = {
    requests: 0,
    statuses: {},
    fitting: {},
    resident: { early: 0, late: 0 },
    violations: [],
  }
  const agent = new Agent({ keepAlive: true, maxSockets: CONCURRENCY * 2 })
  try {
    const url = new URL(service.url)
    const document = (await (await fetch(new URL('/openapi.json', url))).json()) as Document
    const judge = createJudge(document)
    const fuzzer = createFuzzer(document, known)
    let next = 0

    const one = async (index: number): Promise<void> => {
      const operation = fuzzer.operations[index % fuzzer.operations.length]!
      if (
        index % fuzzer.operations.length !== index &&
        Math.floor(index / fuzzer.operations.length) % (SELDOM[operation] ?? 1) !== 0
      )
        return
      const request = fuzzer.request(operation, seed + index)
      const answer = await send(agent, url, request)
      report.requests += 1
      report.statuses[answer.status] = (report.statuses[answer.status] ?? 0) + 1
      if (!answer.whole) return
      if (answer.status < 300) report.fitting[operation] = (report.fitting[operation] ?? 0) + 1
      remember(known, request, answer)
      const fault = judge(request, answer)
      if (fault !== null && report.violations.length < 50)
        report.violations.push(
          `${request.method} ${request.target.slice(0, 300)} (${operation}, request ${index}): ${fault.slice(0, 500)}; body ${request.body?.toString().slice(0, 300) ?? 'none'}`,
        )
    }
    const client = async (): Promise<void> => {
      while (report.requests < requests && report.violations.length < 50) {
        await one(next++)
        if (report.requests === Math.floor(requests / 4))
          report.resident.early = residentBytes(service.server)
        if (report.requests % 5000 === 0)
          log(`${report.requests} requests, ${Math.round(residentBytes(service.server) / 1e6)} MB`)
      }
    }
    await Promise.all(Array.from({ length: CONCURRENCY }, client))
    report.resident.late = residentBytes(service.server)
    const alive = await fetch(new URL('/healthz', url))
    if (alive.status !== 200) report.violations.push(`the service answers ${alive.status} in the end`)
  } catch (error) {
    report.violations.push(`the service is gone: ${(error as Error).stack}\n${service.log().slice(-2000)}`)
  } finally {
    agent.destroy()
    await close()
  }
  return report
}

export const proof: Proof = {
  summary: 'requests of every kind, half of them wrong: --requests 20000',
  async run({ seed, number, log }) {
    const { requests, statuses, fitting, resident, violations } = await fuzz({
      requests: number('requests', 20_000),
      seed,
      log,
    })
    log(`${requests} requests: ${JSON.stringify(statuses)}`)
    log(`answered with a 2xx: ${JSON.stringify(fitting)}`)
    const [early, late] = [resident.early, resident.late].map((bytes) => Math.round(bytes / 1e6))
    log(`resident: ${early} MB after a quarter, ${late} MB in the end`)
    const grown = resident.early > 0 && resident.late > 1.25 * resident.early + 50e6
    return grown ? [...violations, `memory grew from ${early} to ${late} MB`] : violations
  },
}
