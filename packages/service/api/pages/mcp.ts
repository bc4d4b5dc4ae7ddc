/**
 * The MCP endpoint for agents (streamable HTTP without sessions, so any node answers any request). The agent's calls become
 * requests to this same server with the agent's token, without a socket.
 */
import { Readable } from 'node:stream'
import { type Client, createClient } from '@assay/client'
import { AppError } from '@assay/model/errors'
import { Type } from '@assay/model/schema'
import type { McpHttpHandler } from '@modelcontextprotocol/server'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Call, operation } from '../http/operation.ts'
import { hasMany } from '../http/validate.ts'

/**
 * The most values of a request of an agent. The library of the protocol takes 5 microseconds for each, on the thread
 * that answers every request.
 */
const PARTS_MOST = 10_000
/** The most bytes of an answer that a tool reads. A larger one would hold the thread for too long. */
const READ_MOST = 5_000_000

function payloadOf(body: unknown): string | Buffer | undefined {
  if (typeof body === 'string') return body
  return body instanceof Uint8Array ? Buffer.from(body) : undefined
}

/** Returns a client whose requests go to the server that got `request`, as if its sender had made them. */
function clientOf(request: FastifyRequest): Client {
  const { server, headers, ip } = request
  const token = (headers.authorization ?? '').replace(/^bearer +/i, '')
  return createClient({
    url: 'http://assay',
    token,
    retries: 0,
    fetch: async (input, init = {}) => {
      const { pathname, search, host } = new URL(input instanceof Request ? input.url : input)
      const payload = payloadOf(init.body)
      const answer = await server.inject({
        method: (init.method ?? 'GET') as 'GET',
        url: `${pathname}${search}`,
        headers: { host, ...Object.fromEntries(new Headers(init.headers)) },
        remoteAddress: ip,
        ...(payload === undefined ? {} : { payload }),
      })
      const { statusCode: status, rawPayload } = answer
      if (rawPayload.length > READ_MOST) return tooLarge()
      const body = status === 204 || status === 304 ? null : new Uint8Array(rawPayload)
      return new Response(body, { status, headers: answer.headers as Record<string, string> })
    },
  })
}

/** Returns the answer that a tool gets in place of one with too many bytes. */
function tooLarge(): Response {
  const detail = `The answer has more than ${READ_MOST / 1_000_000} MB: let the template add rows up, or show fewer of them.`
  return Response.json(
    { title: 'Too large', status: 413, code: 'payload_too_large', detail },
    { status: 413 },
  )
}

async function handlerFor(request: FastifyRequest): Promise<McpHttpHandler> {
  const { createMcpHandler } = await import('@modelcontextprotocol/server')
  const { mcpFactory } = await import('../../mcp/server.ts')
  return createMcpHandler(await mcpFactory(() => clientOf(request)))
}

async function answerWith(response: Response, reply: FastifyReply): Promise<FastifyReply> {
  reply.code(response.status)
  for (const [name, value] of response.headers) reply.header(name, value)
  if (response.body === null) return reply.send()
  return reply.send(Readable.fromWeb(response.body))
}

/** Refuses pages of other sites in browsers, whatever name led them to this address (DNS rebinding). */
async function vetOrigin({ services, request }: Call): Promise<void> {
  const { origin } = request.headers
  if (origin === undefined) return
  const { localhostAllowedOrigins, validateOriginHeader } = await import('@modelcontextprotocol/server')
  const { publicUrl } = services.config
  const own = publicUrl === null ? [] : [new URL(publicUrl).hostname]
  if (validateOriginHeader(origin, [...localhostAllowedOrigins(), ...own]).ok) return
  throw new AppError(
    'forbidden',
    'Pages of this origin may not speak with agents here: ASSAY_PUBLIC_URL names the one that may.',
  )
}

const NAME_MOST = 128
const MESSAGES_MOST = 20

/** Records each call of a tool under the tool's name. The requests that the tool makes are recorded by themselves. */
function noteCalls(call: Call): void {
  const { audit } = call.services
  for (const message of [call.body].flat()) {
    const { method, params } = (message ?? {}) as { method?: unknown; params?: { name?: unknown } }
    if (method !== 'tools/call' || typeof params?.name !== 'string') continue
    const record = audit.record('agent.call', { ...call, body: null, query: null })
    audit.note({ ...record, object_id: params.name.slice(0, NAME_MOST) })
  }
}

export const mcp = operation({
  name: 'mcp',
  // The handler records each tool that is called.
  audit: null,
  summary: 'Speak with agents (Model Context Protocol)',
  tag: 'Service',
  scope: 'viewer',
  body: Type.Unknown(),
  replies: { 200: { description: 'As the protocol says', media: ['application/json', 'text/event-stream'] } },
  idempotent: false,
  streams: true,
  hidden: true,
  errors: ['payload_too_large'],
  async handle(call) {
    const { body, request, reply, signal } = call
    await vetOrigin(call)
    if (hasMany(body, PARTS_MOST) || (Array.isArray(body) && body.length > MESSAGES_MOST))
      throw new AppError(
        'payload_too_large',
        `A call of an agent has at most ${PARTS_MOST} values and keys in at most ${MESSAGES_MOST} messages: divide it.`,
      )
    noteCalls(call)
    const handler = await handlerFor(request)
    const asked = new Request(`http://assay${request.url}`, {
      method: 'POST',
      headers: Object.entries(request.headers).flatMap(([name, value]) =>
        typeof value === 'string' ? [[name, value] as [string, string]] : [],
      ),
      body: JSON.stringify(body),
      signal: signal(),
    })
    return answerWith(await handler.fetch(asked, { parsedBody: body }), reply)
  },
})
