/**
 * The pages of the service itself: the API reference, the list of errors, and a start page while the console is not built. They
 * load nothing from other hosts, which a strict policy enforces. The reference is Swagger UI, from the files that
 * @fastify/swagger-ui ships.
 */
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { escapeHtml } from '@assay/engine/pages/html'
import { COLOR_STYLE } from '@assay/engine/pages/page-style'
import { ERRORS, JOB_ERRORS, notFound } from '@assay/model/errors'
import { Type } from '@assay/model/schema'
import { type Call, operation } from '../http/operation.ts'
import { prefixOf } from '../prefix.ts'
import { type Asset, assetOf, sendAsset } from './assets.ts'

const compress = promisify(gzip)
const HTML = 'text/html; charset=utf-8'

/** Allows what Swagger UI needs and nothing else: its script sets style attributes, and its icons are data URIs. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

const INITIALIZER = `SwaggerUIBundle({
  url: new URL('../openapi.json', document.currentScript.src).href,
  dom_id: '#reference',
  deepLinking: true,
  validatorUrl: null,
  queryConfigEnabled: false,
  defaultModelsExpandDepth: 0,
  displayRequestDuration: true,
})
`

const FILES: Record<string, () => Promise<Buffer>> = {
  'swagger-ui-bundle.js': () => shipped('swagger-ui-bundle.js'),
  'swagger-ui.css': () => shipped('swagger-ui.css'),
  'reference.js': async () => Buffer.from(INITIALIZER),
}

function shipped(name: string): Promise<Buffer> {
  return readFile(createRequire(import.meta.url).resolve(`@fastify/swagger-ui/static/${name}`))
}

const assets = new Map<string, Promise<Asset>>()

async function load(name: string): Promise<Asset> {
  const bytes = await FILES[name]!()
  return assetOf(
    name,
    new Map([
      ['identity', bytes],
      ['gzip', await compress(bytes)],
    ]),
  )
}

const STYLE = `${COLOR_STYLE}
body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:3rem auto;padding:0 1rem;color:var(--ink);background:var(--paper)}
pre{background:var(--shade);padding:1rem;overflow-x:auto;border-radius:6px}code{font:14px/1.5 ui-monospace,monospace}
table{border-collapse:collapse;width:100%}td,th{text-align:left;vertical-align:top;padding:.4rem .8rem .4rem 0;border-bottom:1px solid var(--line)}
a{color:var(--accent)}:target{background:var(--notice-wash)}`

function page(title: string, body: string): string {
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<title>${escapeHtml(title)}</title><style>${STYLE}</style></head><body>
${body}
</body></html>
`
}

function sendPage({ reply }: Call, html: string): string {
  void reply.type(HTML).header('content-security-policy', POLICY).header('referrer-policy', 'no-referrer')
  return html
}

const WORKFLOW = `api=ADDRESS/v1alpha
auth="Authorization: Bearer $ASSAY_TOKEN"
json='Content-Type: application/json'

curl -s "$api/jobs/templates" -H "$auth" | jq -r '.[].template_id'
id=$(curl -s "$api/jobs/" -H "$auth" -H "$json" -d '{"payload": {"type": "template", "template_id": "TEMPLATE"}}' | jq -r .)
curl -s "$api/jobs/run" -H "$auth" -H "$json" -d '{"payload": {"type": "assignment", "assignment_id": "'$id'"}}'
insight=$(curl -s "$api/jobs/status?assignment_id=$id&wait=50" -H "$auth" | jq -r .insight_id)
curl -s "$api/jobs/result?insight_id=$insight" -H "$auth"`

/** The start page of a service whose console was not built. */
export function startPage(call: Call): string {
  const { services, request } = call
  const [first] = services.catalog.list()
  const prefix = prefixOf(services.config.publicUrl)
  const workflow = WORKFLOW.replace(
    'ADDRESS',
    services.config.publicUrl ?? `http://${/^[\w.:[\]-]+$/.test(request.host) ? request.host : 'HOST'}`,
  ).replace('TEMPLATE', first?.template.template_id ?? 'TEMPLATE')
  return sendPage(
    call,
    page(
      'Assay',
      `<h1>Assay</h1><p>Analysis jobs from Markdown templates: created and run over HTTP, with insights as Markdown and signed webhooks. Version ${escapeHtml(services.version)}.</p>
<p><a href="${prefix}/docs">Reference</a> · <a href="${prefix}/openapi.json">openapi.json</a> · <a href="${prefix}/docs/errors">Errors</a></p>
<p>The web console has not been built: run <code>npm ci</code> (with development packages), or <code>node bin/runtime.js packages/console/build.ts</code>, in the folder of Assay, and load this page again.</p>
<h2>From a template to an insight</h2><pre><code>${escapeHtml(workflow)}</code></pre>`,
    ),
  )
}

export const reference = operation({
  name: 'reference',
  tag: 'Pages',
  hidden: true,
  summary: 'The rendered reference',
  scope: null,
  replies: { 200: { description: 'A page', media: ['text/html'] } },
  handle(call) {
    const docs = `${prefixOf(call.services.config.publicUrl)}/docs`
    return sendPage(
      call,
      `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<title>Assay: reference</title><link rel="stylesheet" href="${docs}/swagger-ui.css"></head><body>
<div id="reference"></div><script src="${docs}/swagger-ui-bundle.js"></script><script src="${docs}/reference.js"></script>
</body></html>
`,
    )
  },
})

export const referenceFile = operation({
  name: 'referenceFile',
  tag: 'Pages',
  hidden: true,
  summary: 'A file of the reference',
  scope: null,
  params: Type.Object({ file: Type.String() }),
  replies: {
    200: { description: 'The file', media: ['text/javascript', 'text/css'] },
    304: { description: 'Known' },
  },
  async handle(call) {
    const { file } = call.params
    if (!Object.hasOwn(FILES, file)) throw notFound('file', file)
    const loading = assets.get(file) ?? load(file)
    assets.set(file, loading)
    return sendAsset(call, await loading, { 'cache-control': 'no-cache' })
  },
})

export const errorsPage = operation({
  name: 'errorsPage',
  tag: 'Pages',
  hidden: true,
  summary: 'List every error code, with what to do',
  scope: null,
  replies: { 200: { description: 'A page', media: ['text/html'] } },
  handle(call) {
    const rows = Object.entries(ERRORS).map(
      ([code, { status, title, remedy }]) =>
        `<tr id="${code}"><td><code>${code}</code></td><td>${status}</td><td>${escapeHtml(title)}. ${escapeHtml(remedy)}</td></tr>`,
    )
    const jobs = Object.entries(JOB_ERRORS).map(
      ([code, remedy]) => `<tr id="${code}"><td><code>${code}</code></td><td>${escapeHtml(remedy)}</td></tr>`,
    )
    return sendPage(
      call,
      page(
        'Assay: errors',
        `<h1>Errors</h1><p>Every error is <code>application/problem+json</code> with one of these codes.</p>
<table><tr><th>code</th><th>status</th><th>what to do</th></tr>${rows.join('\n')}</table>
<h2>Jobs</h2><p>A job that does not complete ends as <code>canceled</code> with one of these as <code>error.code</code>.</p>
<table><tr><th>code</th><th>what to do</th></tr>${jobs.join('\n')}</table>`,
      ),
    )
  },
})

export const openapi = operation({
  name: 'openapi',
  tag: 'Service',
  summary: 'This document',
  scope: null,
  replies: { 200: { description: 'OpenAPI 3.1', schema: Type.Record(Type.String(), Type.Unknown()) } },
  handle: ({ services, reply }) => reply.type('application/json; charset=utf-8').send(services.openapi()),
})
