/**
 * Examples of what is sent and answered. Bodies of requests are written by hand; answers are made from their schemas, with a value for
 * each name of a field that has a meaning of its own. A test holds every example to its schema.
 */
import type { PlainSchema } from '../http/plain-schema.ts'

const ID = '019c0f5e-7a10-7c3b-9c55-3f0d8a1b2c3d'
const TIME = '2026-01-31T12:00:00.000Z'

const TEMPLATE = `---
title: Hello
variables:
  name: { type: string, default: world }
---
# Hello, {{ name }}
`
const READER = {
  name: 'Ada',
  email: 'ada@example.com',
  user_id: null,
  attributes: { region: 'north', level: 3, teams: ['sales', 'press'] },
}
const METRIC = `metric: revenue
label: Revenue
source: { file: uploads/orders.csv }
time: { column: day, grain: day }
value: sum(amount)
`

/** The examples of bodies of requests, by operation. */
const BODIES: Record<string, unknown> = {
  checkTemplate: TEMPLATE,
  putTemplate: TEMPLATE,
  previewTemplate: { source: TEMPLATE, template_vars: { name: 'Ada' } },
  explainTemplate: { source: TEMPLATE, template_vars: { name: 'Ada' } },
  checkMetric: METRIC,
  putMetric: METRIC,
  proposeChange: { template_id: 'hello', source: TEMPLATE, message: 'Greet the world' },
  createDraft: { file: 'uploads/orders.csv', dialect: ['dates: dmy'] },
  keepDraft: { source: TEMPLATE },
  createJob: {
    payload: {
      type: 'template',
      template_id: 'flight-delays',
      template_vars: { origin: 'ORD' },
      metadata: { report: 'weekly' },
    },
  },
  createJobs: {
    template_id: 'flight-delays',
    items: [{ template_vars: { origin: 'ORD' } }, { template_vars: { origin: 'SFO' } }],
    run: true,
  },
  checkJobs: { template_id: 'flight-delays', items: [{ template_vars: { origin: 'ORD' } }] },
  runJob: { payload: { type: 'assignment', assignment_id: ID } },
  cancelJob: { payload: { type: 'assignment', assignment_id: ID } },
  createCollectionLink: { expires_in: 86_400, label: 'for the intranet' },
  createLink: { expires_in: 86_400, label: 'for the board' },
  createCollection: { name: 'Board', description: 'What the board reads on Mondays' },
  changeCollection: { name: 'Board, weekly' },
  addToCollection: { newest: true },
  pinInsight: { newest: true },
  createSchedule: {
    name: 'Delays every morning',
    template_id: 'flight-delays',
    cron: '0 6 * * MON-FRI',
    time_zone: 'Europe/Paris',
    template_vars: { origin: 'ORD' },
  },
  changeSchedule: { paused: true },
  runScheduleNow: { reader_id: 'ada' },
  putReader: READER,
  putReaders: {
    readers: [
      { reader_id: 'ada', ...READER },
      { reader_id: 'grace', name: 'Grace', attributes: { region: 'west' } },
    ],
  },
  createWebhook: {
    url: 'https://example.com/hook',
    user_id: 'ada',
    presence_name: 'reports',
    events: ['job.completed', 'job.failed'],
  },
  changeWebhook: { status: 'disabled' },
  rotateSecret: { overlap_seconds: 86_400 },
  recoverDeliveries: { since: TIME, event_types: ['job.completed'] },
  recoverSubscription: { since: TIME },
  createSubscription: { kind: 'email', to: ['ada@example.com'], presence_name: 'reports', attach: 'pdf' },
  changeSubscription: { to: ['ada@example.com', 'grace@example.com'] },
  createConnection: {
    name: 'sales',
    kind: 'postgresql',
    options: { host: 'db.example.com', database: 'sales', user: 'reader' },
    secrets: { password: 'a-password' },
  },
  tryConnection: {
    name: 'sales',
    kind: 'postgresql',
    options: { host: 'db.example.com', database: 'sales', user: 'reader' },
    secrets: { password: 'a-password' },
  },
  changeConnection: { secrets: { password: 'another-password' } },
  testConnection: { secrets: { password: 'another-password' } },
  login: { username: 'ada', password: 'correct horse battery staple', scope: 'analyst' },
  changePassword: { present: 'correct horse battery staple', password: 'another long password' },
  beginSignIn: { username: 'ada', password: 'correct horse battery staple' },
  createGrant: {
    client_id: 'https://client.example/id.json',
    redirect_uri: 'http://127.0.0.1:4567/callback',
    response_type: 'code',
    code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
    code_challenge_method: 'S256',
    granted: 'analyst',
  },
  createToken: { name: 'nightly', scopes: ['analyst'] },
  changeToken: { scopes: ['viewer'], expires_at: TIME },
  createUser: { username: 'ada', password: 'correct horse battery staple', scopes: ['analyst'] },
  changeUser: { scopes: ['viewer'] },
  createWorkspace: { workspace_id: 'marketing', name: 'Marketing' },
  changeWorkspace: { max_queued: 100 },
  changeOutgoing: { stopped: true, reason: 'A template sends too much.' },
}

/** By the name of a field or parameter, where its text has a meaning that its schema does not tell. */
const FIELDS: Record<string, unknown> = {
  template_id: 'flight-delays',
  template_vars: { origin: 'ORD' },
  template_version: '3b1f0c9a2d4e',
  metric_id: 'revenue',
  title: 'Flight delays from ORD, June 2001',
  headline: 'Delays rose by 12 %.',
  markdown: '# Flight delays from ORD, June 2001\n\nDelays rose by 12 %.\n',
  description: 'What it is for',
  summary: 'Delays rose by 12 %.',
  user_id: 'ada',
  username: 'ada',
  workspace_id: 'default',
  presence_name: 'reports',
  metadata: { report: 'weekly' },
  label: 'for the board',
  variable: 'origin',
  name: 'sales',
  cron: '0 6 * * MON-FRI',
  time_zone: 'Europe/Paris',
  url: 'https://example.com/hook',
  path: 'orders.csv',
  file: 'uploads/orders.csv',
  column: 'day',
  table: 'rows',
  block: 'rows',
  series: 'flight-delays',
  tag: 'aviation',
  q: 'delays',
  prefix: '2026/',
  etag: '"9f2c4b7d"',
  cursor: 'eyJhdCI6IjIwMjYifQ',
  next_cursor: null,
  wait: 50,
  limit: 50,
  days: 7,
  percent: 100,
  step: 4,
  steps: 4,
  status: 200,
  code: 'invalid',
  detail: 'The variable "origin" is required.',
  message: 'Greet the world',
  branch: 'main',
  server: '17.2',
  version: '0.1.0',
  token: 'a-token-that-is-shown-once',
  access_token: 'a-token-that-is-shown-once',
  signing_secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
  address: '192.0.2.1',
  object_id: 'flight-delays',
  to: ['ada@example.com'],
  error: null,
  schema: { type: 'object' },
  example: {},
  variables: [],
}

/** Examples for fields that are a text in one place and something else in another. */
const AS_TEXT: Record<string, string> = { metadata: 'report:weekly' }

const FORMATS: Record<string, unknown> = {
  uuid: ID,
  'date-time': TIME,
  date: '2026-01-31',
  uri: 'https://example.com',
  email: 'ada@example.com',
}

const typesOf = ({ type }: PlainSchema): string[] => (type === undefined ? [] : [type].flat())

function fits(schema: PlainSchema, value: unknown): boolean {
  const types = typesOf(schema)
  if (types.length === 0) return schema.anyOf?.some((branch) => fits(branch, value)) ?? true
  if (schema.enum || schema.pattern !== undefined) return false
  return types.some((type) => {
    if (type === 'null') return value === null
    if (type === 'array')
      return Array.isArray(value) && (value.length === 0 || fits(schema.items ?? {}, value[0]))
    if (type === 'object') return typeof value === 'object' && value !== null && !schema.properties
    if (type === 'integer') return Number.isInteger(value)
    return typeof value === type
  })
}

function plainExample(schema: PlainSchema): unknown {
  const [type] = typesOf(schema).filter((one) => one !== 'null')
  if (type === 'integer' || type === 'number') return schema.minimum ?? 1
  if (type === 'boolean') return false
  if (type === 'string') return 'text'
  return type === undefined && typesOf(schema).length > 0 ? null : {}
}

/** Returns a value that the schema accepts. `name`: the name of the field that has the value. */
export function exampleOf(schema: PlainSchema, name = ''): unknown {
  if ('const' in schema) return schema.const
  if (schema.enum) return schema.enum.find((value) => value !== null)
  const known = [FIELDS[name], AS_TEXT[name]].find((value) => value !== undefined && fits(schema, value))
  if (known !== undefined) return known
  if (schema.format !== undefined && schema.format in FORMATS) return FORMATS[schema.format]
  if (schema.anyOf) return exampleOf(schema.anyOf[0]!, name)
  if (schema.properties) {
    const required = Object.entries(schema.properties).filter(([field]) => schema.required?.includes(field))
    return Object.fromEntries(required.map(([field, own]) => [field, exampleOf(own, field)]))
  }
  if (schema.items) return [exampleOf(schema.items, name)]
  return plainExample(schema)
}

/** Returns the example of the body of a request; undefined if none is written. */
export const bodyExample = (operation: string): unknown => BODIES[operation]

/**
 * Answers whose example from the schema would mislead. Checkers read an object with `type` and `example` as a schema.
 */
const ANSWERS: Record<string, unknown> = { listEventTypes: [] }

/** Returns the written example of an answer; undefined if it is made from its schema. */
export const answerExample = (operation: string): unknown => ANSWERS[operation]
