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
import { operation } from '../http/operation.ts'
import { hasMany } from '../http/validate.ts'

/** The library of the protocol takes 5 microseconds of the thread that answers every request for each value. */
const PARTS_MOST = 10_000

/** A client whose requests go to the server that `request` came to, as if its sender had made them. */
function clientOf(request: FastifyRequest): Client {
  const { server, headers, ip } = request
  const token = (headers.authorization ?? '').replace(/^bearer +/i, '')
  return createClient({
    url: 'http://assay',
    token,
    retries: 0,
    fetch: async (input, init = {}) => {
      const { pathname, search, host } = new URL(input instanceof Request ? input.url : input)
      const answer = await server.inject({
        method: (init.method ?? 'GET') as 'GET',
        url: `${pathname}${search}`,
        headers: { host, ...Object.fromEntries(new Headers(init.headers)) },
        remoteAddress: ip,
        ...(typeof init.body === 'string' ? { payload: init.body } : {}),
      })
      const body = answer.statusCode === 204 || answer.statusCode === 304 ? null : answer.body
      return new Response(body, {
        status: answer.statusCode,
        headers: answer.headers as Record<string, string>,
      })
    },
  })
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

export const mcp = operation({
  name: 'mcp',
  // The requests that a tool makes are recorded by their own operations.
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
  async handle({ body, request, reply, signal }) {
    if (hasMany(body, PARTS_MOST))
      throw new AppError(
        'payload_too_large',
        `A call of an agent has at most ${PARTS_MOST} values and keys: divide it.`,
      )
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
