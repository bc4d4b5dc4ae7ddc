/**
 * The HTTP server: Fastify, with every answer that Fastify or Node would give by itself turned into a problem document, a
 * request id on every response, one line in the log for each request, and a close that drains.
 */
import { type AddressInfo, Socket } from 'node:net'
import { setImmediate as nextPass } from 'node:timers/promises'
import { AppError } from '@assay/model/errors'
import { uuidv7 } from '@assay/model/ids'
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify'
import { createServices } from './create-services.ts'
import type { ApiDependencies, Services } from './dependencies.ts'
import { authenticate } from './http/auth.ts'
import { addBodyParsers, addBodyStream } from './http/body.ts'
import { ANY_TYPE, handlerOf, isIdempotent } from './http/operation.ts'
import { allowedMethods, fastifyPath } from './http/path.ts'
import {
  brokenRequest,
  expectedError,
  PROBLEM_TYPE,
  problemHeaders,
  problemOf,
  rawProblem,
  unexpected,
} from './http/problem.ts'
import { logRequests } from './http/request-log.ts'
import { traceRequests } from './http/trace.ts'
import { ROUTES, type Route } from './routes.ts'

const BODY_BYTES = 1024 * 1024
/** Longest time in which the headers, or a body that is read whole, may arrive. */
const REQUEST_MS = 60_000
/** Longest time in which an upload may arrive: Node applies it to every route. A minute without a byte ends an upload. */
const UPLOAD_MS = 6 * 3_600_000
/** Longest time for requests under way once the server closes; then their connections are cut. */
const CLOSE_MS = 10_000
/** Time between two sweeps of idle connections while the server closes. */
const IDLE_MS = 50

export interface Api {
  /** Answers with the address, e.g. "http://127.0.0.1:8080". */
  listen(): Promise<string>
  /** Null until it listens. */
  readonly address: string | null
  /** Requests without a socket, for tests. */
  readonly inject: FastifyInstance['inject']
  /** Answers on for `lingerMs` with /readyz at 503; then takes no more connections, ends requests that wait, lets the rest finish. */
  close(): Promise<void>
}

/** Without the role `api` only health and metrics are served. */
export async function createApi(given: ApiDependencies): Promise<Api> {
  const [leaving, stopping] = [new AbortController(), new AbortController()]
  const services = createServices(given, { leaving: leaving.signal, stopping: stopping.signal })
  const routes = ROUTES.filter((route) => route.everywhere || given.roles.includes('api'))
  const app = createServer(given)
  app.decorateRequest('principal', null)
  app.decorateRequest('rawBody', null)
  app.decorateRequest('idempotent', null)
  traceRequests(app, given.traces)
  logRequests(app, given)
  app.addHook('onRequest', (request, reply, done) => done(arrive(request, reply, routes)))
  addBodyParsers(app)
  const streams = ({ operation }: Route): boolean => operation.bodyType === ANY_TYPE
  for (const route of routes.filter((one) => !streams(one))) addRoute(app, route, services)
  addStreamRoutes(app, routes.filter(streams), services)
  await app.ready()
  return {
    inject: app.inject.bind(app),
    get address() {
      return addressOf(app)
    },
    async listen() {
      await app.listen({ host: given.config.host, port: given.config.port })
      return addressOf(app)!
    },
    async close() {
      leaving.abort()
      await linger(app, given)
      stopping.abort()
      services.changes.close()
      await closeConnections(app)
      await services.linkViews.close()
      await services.audit.flush()
    },
  }
}

/**
 * A load balancer sends requests until it has asked /readyz again: each answer tells it to close its connection. Closing the
 * port resets connections that the kernel has accepted and Node has not: one pass of the event loop accepts them.
 */
async function linger(
  { server }: FastifyInstance,
  { roles, clock, lingerMs = 0 }: ApiDependencies,
): Promise<void> {
  server.prependListener('request', (_request, response) => {
    response.shouldKeepAlive = false
  })
  if (lingerMs > 0 && roles.includes('api') && server.listening) await clock.sleep(lingerMs)
  await nextPass()
}

/** Node closes idle connections once, when it is told to; one that becomes idle later would stay until it times out. */
async function closeConnections(app: FastifyInstance): Promise<void> {
  const idle = setInterval(() => app.server.closeIdleConnections(), IDLE_MS)
  const cut = setTimeout(() => app.server.closeAllConnections(), CLOSE_MS)
  await app.close()
  clearInterval(idle)
  clearTimeout(cut)
}

function addressOf(app: FastifyInstance): string | null {
  const address = app.server.address() as AddressInfo | null
  if (address === null) return null
  return `http://${address.family === 'IPv6' ? `[${address.address}]` : address.address}:${address.port}`
}

function createServer({ config, log }: ApiDependencies): FastifyInstance {
  const app = fastify({
    logger: false,
    bodyLimit: BODY_BYTES,
    requestTimeout: UPLOAD_MS,
    return503OnClosing: false,
    genReqId: () => uuidv7(),
    requestIdHeader: false,
    trustProxy: config.trustProxy && ((_address, hop) => hop === 0),
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: 2048 },
    frameworkErrors: (error, request, reply) => {
      reply.header('x-request-id', request.id)
      sendError(error, request, reply, log)
    },
    clientErrorHandler: (error, socket) => answerBrokenRequest(error, socket),
    // Without a Host header Node would answer by itself; `withoutHost` answers with a problem.
    http: { requireHostHeader: false, headersTimeout: REQUEST_MS },
  })
  // Node answers an unknown Expect header with an empty 417; here the request is answered as usual.
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response))
  app.setErrorHandler((error, request, reply) => sendError(error, request, reply, log))
  return app
}

/** Time for which a refused client may go on sending before its connection is cut: a reset could overtake the answer. */
const LINGER_MS = 500
const answered = new WeakSet<Socket>()

function answerBrokenRequest(error: NodeJS.ErrnoException, socket: Socket): void {
  if (answered.has(socket)) return
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  answered.add(socket)
  socket.on('error', () => socket.destroy())
  socket.end(rawProblem(brokenRequest(error.code), uuidv7()))
  setTimeout(() => socket.destroy(), LINGER_MS).unref()
}

function sendError(
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
  log: ApiDependencies['log'],
): void {
  const expected = expectedError(error)
  if (expected === null)
    log.error({ err: error, request_id: request.id, route: request.routeOptions.url }, 'a request failed')
  const answer = expected ?? unexpected()
  void reply
    .code(answer.status)
    .headers(problemHeaders(answer))
    .header('content-type', PROBLEM_TYPE)
    .send(JSON.stringify(problemOf(answer, request.id)))
}

/** What each request passes first. Answers with the reason for which it is refused. */
function arrive(
  request: FastifyRequest,
  reply: FastifyReply,
  routes: readonly Route[],
): AppError | undefined {
  reply.header('x-request-id', request.id)
  reply.header('x-content-type-options', 'nosniff')
  // Refused before any body is read.
  if (request.is404) return noRoute(routes, request)
  if (request.routeOptions.config.bodyType !== ANY_TYPE) limitBody(request)
  return withoutHost(request)
}

function limitBody({ raw }: FastifyRequest): void {
  // An injected request (in tests) has no connection.
  if (!(raw.socket instanceof Socket)) return
  const { 'content-length': length = '0', 'transfer-encoding': coding } = raw.headers
  if (length === '0' && coding === undefined) return
  const timer = setTimeout(
    () => answerBrokenRequest(Object.assign(new Error(), { code: 'ERR_HTTP_REQUEST_TIMEOUT' }), raw.socket),
    REQUEST_MS,
  )
  timer.unref()
  for (const over of ['end', 'close']) raw.once(over, () => clearTimeout(timer))
}

/**
 * Routes whose operation reads the body itself. An answer before the end of the body (a refusal) could be overtaken by a
 * reset: the rest of the body is read and dropped for LINGER_MS, and then the connection is cut.
 */
function addStreamRoutes(app: FastifyInstance, routes: readonly Route[], services: Services): void {
  void app.register((scope, _options, registered) => {
    addBodyStream(scope)
    scope.addHook('onResponse', ({ raw }, _reply, done) => {
      if (!raw.complete && raw.socket instanceof Socket) {
        raw.resume()
        const cut = setTimeout(() => raw.socket.destroy(), LINGER_MS)
        raw.once('end', () => clearTimeout(cut))
      }
      done()
    })
    for (const route of routes) addRoute(scope, route, services)
    registered()
  })
}

function withoutHost({ raw }: FastifyRequest): AppError | undefined {
  if (raw.headers.host !== undefined || raw.httpVersionMinor === 0) return undefined
  return new AppError('bad_request', 'HTTP/1.1 requires the header Host: send the name of the service in it.')
}

function noRoute(routes: readonly Route[], request: FastifyRequest): AppError {
  const methods = allowedMethods(routes, request.url)
  const path = request.url.split('?')[0]!.slice(0, 200)
  if (methods.length === 0)
    return new AppError('not_found', `There is no operation at ${path}: /docs lists all of them.`)
  return new AppError(
    'method_not_allowed',
    `${path} takes ${methods.join(', ')}: use one of these methods.`,
    {
      headers: { allow: methods.join(', ') },
    },
  )
}

function addRoute(app: FastifyInstance, { method, path, operation }: Route, services: Services): void {
  const { tokens, requests, idempotency } = services
  const { scope, bodyType, otherBodyType, bodyBytes = BODY_BYTES } = operation
  app.route({
    method,
    url: fastifyPath(path),
    exposeHeadRoute: method === 'GET' && !operation.streams,
    config: { bodyType, otherBodyType },
    bodyLimit: bodyBytes,
    handler: handlerOf({ operation, path }, services),
    ...(scope === null ? {} : { onRequest: authenticate(tokens, requests, scope) }),
    ...(isIdempotent({ method, operation })
      ? { preValidation: idempotency.begin, onSend: idempotency.end }
      : {}),
  })
}
