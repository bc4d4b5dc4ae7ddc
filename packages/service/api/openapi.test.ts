import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ERRORS } from '@assay/model/errors'
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

test('holds schemas that a validator of JSON Schema 2020-12 takes', () => {
  const ajv = new Ajv2020({ strict: false })
  formats.default(ajv)
  for (const [name, schema] of Object.entries(document.components.schemas)) {
    const whole = { ...schema, components: document.components }
    assert.doesNotThrow(() => ajv.compile(whole), name)
  }
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
