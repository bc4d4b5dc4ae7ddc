/**
 * The HTTP server: Fastify, with every answer that it or Node would give by itself turned into a problem of ours, a
 * request id on every response, one wide line in the log for each request, and a close that drains.
 */
import { type AddressInfo, Socket } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { AppError } from '@assay/model/errors'
import { uuidv7 } from '@assay/model/ids'
import {
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  fastify,
  type HookHandlerDoneFunction,
} from 'fastify'
import { type Authenticate, authenticate } from './http/auth.ts'
import { addBodyParsers, addBodyStream } from './http/body.ts'
import { createObserver, type Observer } from './http/observe.ts'
import type { ApiParts, Services } from './http/parts.ts'
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
import { ANY_TYPE, type BodyType, handlerOf } from './http/route.ts'
import { createServices } from './http/services.ts'
import { traceRequests } from './http/trace.ts'
import { ROUTES, type Route } from './routes.ts'

const BODY_BYTES = 1024 * 1024
/** For the headers, and for a body that is read whole. */
const REQUEST_MS = 60_000
/** For a file: Node's own limit, whatever the route. While it comes, a minute without a byte ends it. */
const UPLOAD_MS = 6 * 3_600_000
/** How long what is under way may take once the server closes, before its connections are cut. */
const CLOSE_MS = 10_000
/** How long a connection that has become idle meanwhile may hold up the close. */
const IDLE_MS = 50

export interface Api {
  /** Answers with the address, e.g. "http://127.0.0.1:8080". */
  listen(): Promise<string>
  /** Null until it listens. */
  readonly address: string | null
  /** Requests without a socket, for tests. */
  readonly inject: FastifyInstance['inject']
  /** Not ready from now on, it answers for `lingerMs`; then it takes no more connections, ends what waits, lets the rest finish. */
  close(): Promise<void>
}

/** Without the role `api` only health and metrics are served. */
export async function createApi(parts: ApiParts): Promise<Api> {
  const [leaving, stopping] = [new AbortController(), new AbortController()]
  const services = createServices(parts, { leaving: leaving.signal, stopping: stopping.signal })
  const routes = ROUTES.filter((route) => route.everywhere || parts.roles.includes('api'))
  const app = createServer(parts)
  traceRequests(app, parts.traces)
  app.decorateRequest('principal', null)
  app.decorateRequest('rawBody', null)
  app.decorateRequest('idempotent', null)
  addBodyParsers(app)
  const observer = createObserver(app, parts)
  const streams = ({ operation }: Route): boolean => operation.bodyType === ANY_TYPE
  for (const route of routes.filter((one) => !streams(one))) addRoute(app, route, services, observer)
  addStreamRoutes(app, routes.filter(streams), services, observer)
  addNoRoute(app, routes, observer)
  await app.ready()
  return {
    inject: app.inject.bind(app),
    get address() {
      return addressOf(app)
    },
    async listen() {
      await app.listen({ host: parts.config.host, port: parts.config.port })
      return addressOf(app)!
    },
    async close() {
      leaving.abort()
      await linger(app, parts)
      stopping.abort()
      services.hints.close()
      await closeConnections(app)
      await services.openings.close()
      await services.audit.flush()
    },
  }
}

/**
 * A balancer goes on sending until it has asked /readyz again: each answer tells it to close its connection. Those that
 * the kernel has taken but Node has not would be reset when the port is closed: one turn of the event loop takes them.
 */
async function linger({ server }: FastifyInstance, { roles, clock, lingerMs = 0 }: ApiParts): Promise<void> {
  server.prependListener('request', (_request, response) => {
    response.shouldKeepAlive = false
  })
  if (lingerMs > 0 && roles.includes('api') && server.listening) await clock.sleep(lingerMs)
  await nextTurn()
}

/** Node closes those that are idle when it is told to; one whose answer ended later would be kept until it times out. */
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

function createServer({ config, log }: ApiParts): FastifyInstance {
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
    // Node would answer by itself where there is none: `addHooks` does it with a problem.
    http: { requireHostHeader: false, headersTimeout: REQUEST_MS },
  })
  // An expectation that Node does not know would be its own empty 417: the request is simply answered.
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response))
  app.setErrorHandler((error, request, reply) => sendError(error, request, reply, log))
  return app
}

/** How long a client that is refused may go on sending before it is cut: a reset could overtake the answer. */
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

function sendError(error: unknown, request: FastifyRequest, reply: FastifyReply, log: ApiParts['log']): void {
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

/**
 * What each request passes first, in one hook of its route: a hook of the whole server would have to find out the route
 * again, and each more is run by a closure of its own.
 */
function arrival(
  observer: Observer,
  { bodyType, admit }: { bodyType: BodyType; admit: Authenticate | null },
) {
  return (request: FastifyRequest, reply: FastifyReply, done: HookHandlerDoneFunction): void => {
    observer.begin(request)
    reply.header('x-request-id', request.id)
    reply.header('x-content-type-options', 'nosniff')
    if (bodyType !== ANY_TYPE) limitBody(request)
    const refusal = withoutHost(request)
    if (refusal || !admit) done(refusal)
    else admit(request, reply, done)
  }
}

function limitBody({ raw }: FastifyRequest): void {
  // One that came over no line (a test's) never ends by itself.
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
 * Routes whose operation reads the body itself. Where it answers before the end (a refusal), the rest is thrown away for a
 * moment, so that the answer is not overtaken by a reset, and then the line is cut.
 */
function addStreamRoutes(
  app: FastifyInstance,
  routes: readonly Route[],
  services: Services,
  observer: Observer,
): void {
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
    for (const route of routes) addRoute(scope, route, services, observer)
    registered()
  })
}

function withoutHost({ raw }: FastifyRequest): AppError | undefined {
  if (raw.headers.host !== undefined || raw.httpVersionMinor === 0) return undefined
  return new AppError('bad_request', 'HTTP/1.1 asks for the header Host: send the name of the service in it.')
}

/** In a scope of its own, whose hooks no route has: refused before any body is read. */
function addNoRoute(app: FastifyInstance, routes: readonly Route[], observer: Observer): void {
  void app.register((scope, _options, registered) => {
    const refuse: Authenticate = (request, _reply, done) => done(noRoute(routes, request))
    scope.addHook('onRequest', arrival(observer, { bodyType: 'application/json', admit: refuse }))
    scope.addHook('onSend', observer.observe('none'))
    scope.setNotFoundHandler((request) => {
      throw noRoute(routes, request)
    })
    registered()
  })
}

function noRoute(routes: readonly Route[], request: FastifyRequest): AppError {
  const methods = allowedMethods(routes, request.url)
  const path = request.url.split('?')[0]!.slice(0, 200)
  if (methods.length === 0)
    return new AppError('not_found', `There is nothing at ${path}: see /docs for the operations.`)
  return new AppError('method_not_allowed', `${path} takes ${methods.join(', ')}.`, {
    headers: { allow: methods.join(', ') },
  })
}

function addRoute(
  app: FastifyInstance,
  { method, path, operation }: Route,
  services: Services,
  observer: Observer,
): void {
  const { tokens, requests, idempotency } = services
  const idempotent = method === 'POST' && operation.idempotent && operation.scope !== null
  const url = fastifyPath(path)
  const admit = operation.scope === null ? null : authenticate(tokens, requests, operation.scope)
  const observe = observer.observe(url)
  app.route({
    method,
    url,
    exposeHeadRoute: method === 'GET' && !operation.streams,
    config: { bodyType: operation.bodyType, otherBodyType: operation.otherBodyType },
    bodyLimit: operation.bodyBytes ?? BODY_BYTES,
    handler: handlerOf({ operation, path }, services),
    onRequest: arrival(observer, { bodyType: operation.bodyType, admit }),
    ...(idempotent
      ? {
          preValidation: async (request: FastifyRequest, reply: FastifyReply) =>
            idempotency.begin(request, reply),
          onSend: [
            async (request: FastifyRequest, reply: FastifyReply, payload: unknown) => {
              await idempotency.end(request, reply, payload)
              return payload
            },
            observe,
          ],
        }
      : { onSend: observe }),
  })
}
