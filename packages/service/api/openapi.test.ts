import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ERRORS, JOB_ERRORS } from '@assay/model/errors'
import { EVENT_TYPES } from '@assay/model/event'
import { Ajv2020 } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import { openapiPath } from './http/path.ts'
import { validator } from './http/validate.ts'
import { openapiDocument } from './openapi.ts'
import { ROUTES } from './routes.ts'
import { openTestServer } from './test-server.ts'

interface Doc {
  paths: Record<
    string,
    Record<string, { operationId: string; responses: Record<string, unknown>; tags: string[] }>
  >
  tags: { name: string }[]
  webhooks: Doc['paths']
  components: { schemas: Record<string, Record<string, unknown>>; responses: Record<string, unknown> }
}
const document = openapiDocument() as unknown as Doc

test('describes every operation once, under a name of its own', () => {
  const shown = ROUTES.filter((route) => !route.operation.hidden)
  const described = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  )
  assert.deepEqual(
    described.toSorted(),
    shown.map(({ method, path }) => `${method} ${openapiPath(path)}`).toSorted(),
  )
  const names = shown.map((route) => route.operation.name)
  assert.equal(new Set(names).size, names.length)
})

test('refers only to what the document holds', () => {
  const references = [...JSON.stringify(document).matchAll(/"\$ref":"#\/components\/(\w+)\/([^"]+)"/g)]
  assert.ok(references.length > 100)
  const components = document.components as unknown as Record<string, Record<string, unknown>>
  for (const [, kind, name] of references) assert.ok(components[kind!]?.[name!], `${kind}/${name}`)
})

/** A validator that knows the whole document, so that each component is compiled once. */
const ajv = new Ajv2020({ strict: false })
formats.default(ajv)
ajv.addSchema({ $id: 'document', components: document.components })
const known = new Map<string, ReturnType<typeof ajv.compile>>()
function compiled(schema: object): ReturnType<typeof ajv.compile> {
  const text = JSON.stringify(schema).replaceAll('"#/components', '"document#/components')
  const made = known.get(text) ?? ajv.compile(JSON.parse(text) as object)
  known.set(text, made)
  return made
}

test('holds schemas that a validator of JSON Schema 2020-12 takes', () => {
  for (const name of Object.keys(document.components.schemas))
    assert.doesNotThrow(() => compiled({ $ref: `#/components/schemas/${name}` }), name)
})

test('names every object that is sent or answered as a component', () => {
  type Content = Record<string, { schema: { properties?: unknown } }>
  const inline: string[] = []
  for (const methods of Object.values(document.paths))
    for (const operation of Object.values(methods)) {
      const { requestBody, responses } = operation as unknown as {
        requestBody?: { content: Content }
        responses: Record<string, { content?: Content }>
      }
      const contents = [requestBody?.content, ...Object.values(responses).map(({ content }) => content)]
      for (const { schema } of contents.flatMap((content) => Object.values(content ?? {})))
        if (schema.properties) inline.push(operation.operationId)
    }
  assert.deepEqual(inline, [])
  assert.ok(document.components.schemas.JobPage)
})

test('gives a component one meaning, however many operations name it', () => {
  const titles = new Map<string, string>()
  const look = (schema: unknown): void => {
    if (typeof schema !== 'object' || schema === null) return
    const { title, properties } = schema as { title?: unknown; properties?: unknown }
    if (typeof title === 'string' && properties) {
      const text = JSON.stringify(schema)
      assert.equal(titles.get(title) ?? text, text, title)
      titles.set(title, text)
    }
    for (const value of Object.values(schema)) look(value)
  }
  for (const { operation } of ROUTES) {
    look(operation.body)
    look(Object.values(operation.replies).map(({ schema }) => schema))
  }
  assert.ok(titles.size > 30)
})

test('takes null for every optional member of every body', () => {
  for (const { operation } of ROUTES) {
    const { properties, required = [] } = (operation.body ?? {}) as {
      properties?: Record<string, unknown>
      required?: string[]
    }
    if (!properties) continue
    const optional = Object.keys(properties).filter((name) => !required.includes(name))
    const given = Object.fromEntries(optional.map((name) => [name, null]))
    const { faults } = validator(operation.body!)(given, '')
    assert.deepEqual(
      faults.map(({ path }) => path).filter((path) => optional.includes(path)),
      [],
      operation.name,
    )
  }
})

test('gives an example that fits its schema for every parameter, body, answer and webhook', () => {
  const fits = (schema: object, example: unknown, where: string): void => {
    assert.notEqual(example, undefined, where)
    const check = compiled(schema)
    assert.ok(check(example), `${where}: ${ajv.errorsText(check.errors)} ${JSON.stringify(example)}`)
  }
  interface Told {
    schema: object
    example?: unknown
  }
  interface Parts {
    parameters: (Told & { $ref?: string; name: string })[]
    requestBody?: { content: Record<string, Told> }
    responses: Record<string, { content?: Record<string, Told> }>
  }
  let [parts, bodies] = [0, 0]
  for (const methods of [...Object.values(document.paths), ...Object.values(document.webhooks)])
    for (const operation of Object.values(methods)) {
      const { parameters, requestBody, responses } = operation as unknown as Parts
      for (const { $ref, name, schema, example } of parameters) {
        if ($ref === undefined && example !== undefined)
          fits(schema, example, `${operation.operationId} ${name}`)
        parts += 1
      }
      for (const [media, { schema, example }] of Object.entries(requestBody?.content ?? {})) {
        if (media === '*/*') continue
        fits(schema, example, `${operation.operationId} ${media}`)
        bodies += 1
      }
      for (const [status, { content = {} }] of Object.entries(responses))
        if (content['application/json'])
          fits(
            content['application/json'].schema,
            content['application/json'].example,
            `${operation.operationId} ${status}`,
          )
    }
  assert.ok(parts > 100 && bodies > 30, `${parts} ${bodies}`)
})

test('explains every tag, and names the headers by which clients act', async (t) => {
  const named = document.tags.map(({ name }) => name)
  const used = Object.values(document.paths).flatMap((methods) =>
    Object.values(methods).flatMap(({ tags }) => tags),
  )
  assert.deepEqual(named.toSorted(), [...new Set(used)].toSorted())
  const headersOf = (path: string, method: string, status: number): string[] => {
    const { headers = {} } = document.paths[path]![method]!.responses[status] as { headers?: object }
    return Object.keys(headers)
  }
  const { ask } = await openTestServer(t)
  const body = { name: 'Told', template_id: 'hello', cron: '0 6 * * *' }
  const made = await ask('POST', '/v1alpha/schedules', { body })
  assert.equal(made.status, 201)
  for (const name of ['X-Request-Id', 'Location']) {
    assert.ok(headersOf('/v1alpha/schedules', 'post', 201).includes(name))
    assert.ok(made.headers[name.toLowerCase()], name)
  }
  assert.ok(headersOf('/v1alpha/jobs/result', 'get', 304).includes('ETag'))
})

test('describes what is sent to webhooks, and the data of each type of event', () => {
  assert.deepEqual(Object.keys(document.webhooks), [...EVENT_TYPES])
  const { CompletedEventData, Job } = document.components.schemas as Record<
    string,
    {
      properties: Record<string, { type?: string; const?: string; properties?: { code: { enum: string[] } } }>
    }
  >
  assert.equal(CompletedEventData!.properties.insight_id!.type, 'string')
  assert.deepEqual(Job!.properties.error!.properties!.code.enum, Object.keys(JOB_ERRORS))
})

test('lists all codes of errors, and documents those that each operation may answer', () => {
  const { Problem } = document.components.schemas as { Problem: { properties: { code: { enum: string[] } } } }
  assert.deepEqual(Problem.properties.code.enum, Object.keys(ERRORS))
  for (const { method, path, operation } of ROUTES.filter((route) => !route.operation.hidden)) {
    const { responses } = document.paths[openapiPath(path)]![method.toLowerCase()]!
    for (const code of operation.errors) assert.ok(responses[ERRORS[code].status], `${path}: ${code}`)
  }
})

test('is served as it is generated, to anyone', async (t) => {
  const { ask } = await openTestServer(t)
  const answer = await ask('GET', '/openapi.json', { token: null })
  assert.equal(answer.headers['content-type'], 'application/json; charset=utf-8')
  assert.deepEqual(answer.json(), JSON.parse(JSON.stringify(document)))
})

test('shows pages that ask no other host and let nothing else run', async (t) => {
  const { ask } = await openTestServer(t)
  for (const path of ['/', '/jobs/x?status=queued', '/docs', '/docs/errors']) {
    const page = await ask('GET', path, { token: null })
    assert.equal(page.status, 200)
    assert.match(String(page.headers['content-security-policy']), /default-src 'none'; script-src 'self'/)
    assert.doesNotMatch(page.text, /(src|href)="(https?:)?\/\//)
  }
  assert.match((await ask('GET', '/docs/errors', { token: null })).text, /id="idempotency_mismatch"/)
})

test('serves the files of the reference, packed where the browser can unpack, once', async (t) => {
  const { ask } = await openTestServer(t)
  const script = await ask('GET', '/docs/swagger-ui-bundle.js', { token: null })
  assert.equal(script.headers['content-type'], 'text/javascript; charset=utf-8')
  assert.ok(script.text.length > 1_000_000)
  const packed = await ask('GET', '/docs/swagger-ui-bundle.js', {
    headers: { 'accept-encoding': 'gzip, br' },
  })
  assert.equal(packed.headers['content-encoding'], 'gzip')
  assert.ok(Number(packed.headers['content-length']) < 600_000)
  const known = await ask('GET', '/docs/swagger-ui.css', { headers: { 'if-none-match': '*' } })
  assert.equal(known.status, 304)
  for (const file of ['..%2fpackage.json', 'constructor', '__proto__', 'x.js'])
    assert.equal((await ask('GET', `/docs/${file}`)).status, 404, file)
})
