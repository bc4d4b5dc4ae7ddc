/**
 * The HTTP server, by Fastify. Answers that Fastify or Node would give by themselves become problem documents. Every response
 * has a request id, every request is logged in one line, and closing waits for requests under way.
 */
import { type AddressInfo, Socket } from 'node:net'
import { setImmediate as nextPass } from 'node:timers/promises'
import { AppError } from '@assay/model/errors'
import { uuidv7 } from '@assay/model/ids'
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify'
import { compress, isCompressed } from './answers/compression.ts'
import { holdAnswers } from './answers/held-answers.ts'
import { connectionsHere, limitConnections, limitWaiting } from './connection-limits.ts'
import { allowOtherSites } from './cors.ts'
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
import { prefixLocations, prefixOf, rewriteOf } from './prefix.ts'
import { ROUTES, type Route } from './routes.ts'

const BODY_BYTES = 1024 * 1024
/** Longest time for the headers, or for a body that is read whole, to arrive. */
const REQUEST_MS = 60_000
/** Longest time for an upload. Node applies it to every route. A minute without a byte ends an upload earlier. */
const UPLOAD_MS = 6 * 3_600_000
/** Longest time for requests under way when the server closes. Then their connections are cut. */
const CLOSE_MS = 10_000
/** Time between two sweeps of idle connections while the server closes. */
const IDLE_MS = 50

export interface Api {
  /** Resolves with the address, such as "http://127.0.0.1:8080". */
  listen(): Promise<string>
  /** The address; null until the server listens. */
  readonly address: string | null
  /** Answers a request without a socket, for tests. */
  readonly inject: FastifyInstance['inject']
  /**
   * Still answers for `lingerMs`, with /readyz at 503. Then takes no more connections, answers requests that wait, and lets
   * the others finish.
   */
  close(): Promise<void>
}

/** Makes the server. Without the role `api` it serves only health and metrics. */
export async function createApi(given: ApiDependencies): Promise<Api> {
  const [leaving, stopping] = [new AbortController(), new AbortController()]
  const services = createServices(given, { leaving: leaving.signal, stopping: stopping.signal })
  const routes = ROUTES.filter((route) => route.everywhere || given.roles.includes('api'))
  const app = createServer(given)
  limitConnections(app.server, connectionsHere(), { log: given.log, now: () => given.clock.monotonic() })
  limitWaiting(app.server, prefixOf(given.config.publicUrl))
  app.decorateRequest('principal', null)
  app.decorateRequest('rawBody', null)
  app.decorateRequest('bodyTaken', null)
  app.decorateRequest('idempotent', null)
  traceRequests(app, given.traces)
  logRequests(app, given)
  app.addHook('onRequest', (request, reply, done) => {
    mark(request, reply)
    done()
  })
  prefixLocations(app, prefixOf(given.config.publicUrl))
  // This comes before requests are refused, so that a page of another site can read the refusal.
  await allowOtherSites(app, given.config.corsOrigins)
  app.addHook('onRequest', (request, _reply, done) => done(arrive(request, routes)))
  addBodyParsers(app, services.oneByOne)
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
      await services.tokens.close()
      await services.provider?.close()
      await services.clients.close()
      await services.audit.flush()
    },
  }
}

/**
 * Gives load balancers time to leave. They send requests until they read /readyz again, so each answer closes its
 * connection. The port stays open meanwhile: closing it would reset connections that the kernel has accepted and Node
 * has not. One pass of the event loop accepts those.
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

/** Closes the server. Node closes idle connections only once, so those that become idle later are closed here. */
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
  const prefix = prefixOf(config.publicUrl)
  const app = fastify({
    ...rewriteOf(prefix),
    logger: false,
    bodyLimit: BODY_BYTES,
    requestTimeout: UPLOAD_MS,
    return503OnClosing: false,
    genReqId: () => uuidv7(),
    requestIdHeader: false,
    trustProxy: config.trustProxy ?? false,
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: 2048 },
    frameworkErrors: (error, request, reply) => {
      reply.header('x-request-id', request.id)
      sendError(error, request, reply, { log, prefix })
    },
    clientErrorHandler: (error, socket) => answerBrokenRequest(error, socket),
    // Without a Host header Node would answer by itself; `hostFault` answers with a problem.
    http: { requireHostHeader: false, headersTimeout: REQUEST_MS },
  })
  // Node answers an unknown Expect header with an empty 417; here the request is answered as usual.
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response))
  app.setErrorHandler((error, request, reply) => sendError(error, request, reply, { log, prefix }))
  return app
}

/** Time in milliseconds before the connection of a refused client is cut. An earlier reset could overtake the answer. */
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
  { log, prefix }: { log: ApiDependencies['log']; prefix: string },
): void {
  const expected = expectedError(error, request.routeOptions.bodyLimit)
  if (expected === null)
    log.error({ err: error, request_id: request.id, route: request.routeOptions.url }, 'a request failed')
  const answer = expected ?? unexpected()
  void reply
    .code(answer.status)
    .headers(problemHeaders(answer))
    .header('content-type', PROBLEM_TYPE)
    .send(JSON.stringify(problemOf(answer, request.id, prefix)))
}

/** Sets the headers of every answer. */
function mark(request: FastifyRequest, reply: FastifyReply): void {
  reply.header('x-request-id', request.id)
  reply.header('x-content-type-options', 'nosniff')
  // Answers hold data and secrets of a workspace. The few that may be cached say so themselves.
  reply.header('cache-control', 'no-store')
}

/** Checks a request before its body is read. Returns the error of a request to refuse, else undefined. */
function arrive(request: FastifyRequest, routes: readonly Route[]): AppError | undefined {
  if (request.is404) return noRoute(routes, request)
  if (request.routeOptions.config.bodyType !== ANY_TYPE) limitBody(request)
  return hostFault(request)
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
 * Adds the routes whose operations read the body themselves. A reset could overtake an answer that is sent before the end of
 * the body, so the rest of the body is read and dropped for LINGER_MS. Then the connection is cut.
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

/**
 * Returns the fault of a request without a Host header or with two. Node ignores one of two, and a proxy before the
 * service may believe that one.
 */
function hostFault({ raw }: FastifyRequest): AppError | undefined {
  let hosts = 0
  for (let at = 0; at < raw.rawHeaders.length; at += 2)
    if (raw.rawHeaders[at]!.toLowerCase() === 'host') hosts += 1
  if (hosts > 1) return new AppError('bad_request', 'The header Host came twice: send it once.')
  if (hosts === 1 || raw.httpVersionMinor === 0) return undefined
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

/** Returns the hook that looks a key up. A repeat is answered without the operation, so its body is free by then. */
const beginsBy =
  ({ begin }: Services['idempotency']) =>
  (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply | undefined> =>
    begin(request, reply).finally(() => request.bodyTaken?.())

function addRoute(app: FastifyInstance, { method, path, operation }: Route, services: Services): void {
  const { idempotency, held } = services
  const hold = holdAnswers(held)
  const { scope, bodyType, otherBodyType, bodyBytes = BODY_BYTES } = operation
  app.route({
    method,
    url: fastifyPath(path),
    exposeHeadRoute: method === 'GET' && !operation.streams,
    config: { bodyType, otherBodyType },
    bodyLimit: bodyBytes,
    handler: handlerOf({ operation, path }, services),
    ...(scope === null ? {} : { onRequest: authenticate(services, { name: operation.name, scope }) }),
    ...(isIdempotent({ method, operation })
      ? { preValidation: beginsBy(idempotency), onSend: [idempotency.end, hold] }
      : { onSend: isCompressed(operation.name) ? [compress, hold] : hold }),
  })
}
