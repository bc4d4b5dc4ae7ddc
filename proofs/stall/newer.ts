/** Hostile requests for rules of rows, metrics, readers, subscriptions, drafts, files of insights, frames and other sites, and lists of long rows. */

import { SECTIONS } from '../../packages/service/api/pages/console.ts'
import type { Stored } from './by-hand.ts'
import { BODY_MOST, type Entry } from './from-document.ts'
import { SHAPE_NAMES, shaped } from './shapes.ts'

const many = (count: number, of: (index: number) => string): string =>
  Array.from({ length: count }, (_, index) => of(index)).join('')
const front = (yaml: string, body = ''): string => `---\n${yaml}\n---\n${body}`
/** The characters of a text just below the length that is read at once, without a process. */
const SHORT = 15_000

interface Sent {
  method?: string
  body?: string
  type?: string
  headers?: Record<string, string>
  anonymous?: boolean
}

function request(name: string, target: string, sent: Sent = {}): Entry {
  const { method = 'GET', body, type = 'application/json', headers = {}, anonymous = false } = sent
  return {
    name,
    method,
    target,
    headers: { ...(body === undefined ? {} : { 'content-type': type }), ...headers },
    body: body === undefined ? null : Buffer.from(body),
    anonymous,
  }
}

const post = (name: string, target: string, body: unknown): Entry =>
  request(name, target, { method: 'POST', body: JSON.stringify(body) })

/** Conditions of rows and of metrics. One reader reads both. */
const CONDITIONS: Record<string, (length: number) => string> = {
  'nested brackets': (length) => `${'('.repeat(length / 2)}a = 1${')'.repeat(length / 2)}`,
  'not without end': (length) => 'not '.repeat(length / 4),
  'a chain of or': (length) => `a = 1${' or a = 1'.repeat(length / 9)}`,
  'a long list': (length) => `a in (${'1, '.repeat(length / 3)}1)`,
  'quotes never closed': (length) => `a = '${"''".repeat(length / 2)}`,
  'letters of all kinds': (length) => 'é'.repeat(length / 2),
}

function conditionEntries(): Entry[] {
  return Object.entries(CONDITIONS).flatMap(([name, of]) =>
    [SHORT, BODY_MOST].flatMap((length) => {
      const text = JSON.stringify(of(length - 500))
      const source = front(`sources:\n  s: { file: a.csv, rows: ${text} }`, '# a\n')
      const metric = `metric: hostile\nlabel: a\nsource: { file: a.csv }\ntime: { column: day }\nvalue: sum(a)\nwhere: ${text}\n`
      const to = (target: string, method: string, type: string, body: string) =>
        request(`${method} ${target.split('/').at(-1)} of ${length} with ${name}`, target, {
          method,
          type,
          body,
        })
      return [
        to('/v1alpha/jobs/templates/check', 'POST', 'text/markdown', source),
        to('/v1alpha/metrics/check', 'POST', 'application/yaml', metric),
        to('/v1alpha/metrics/hostile', 'PUT', 'application/yaml', metric),
      ]
    }),
  )
}

function metricEntries(): Entry[] {
  const values: Record<string, string> = {
    'nested sums': `${'sum('.repeat(3000)}a${')'.repeat(3000)}`,
    'cases in cases': `${'case when a then '.repeat(800)}1${' end'.repeat(800)}`,
    operators: `sum(a)${' + sum(a)'.repeat(1500)}`,
    minus: `${'-'.repeat(14_000)}1`,
  }
  const lists: Record<string, string> = {
    dimensions: `dimensions: [${many(2000, (index) => `d${index}, `)}z]`,
    tests: `tests: [${many(600, (index) => `{ not_null: c${index} }, `)}{ unique: z }]`,
    events: `events: [${many(300, () => '{ date: 2026-03-01, label: a }, ')}{ date: 2026-03-02, label: b }]`,
  }
  const metric = (value: string, more = ''): string =>
    `metric: hostile\nlabel: a\nsource: { file: a.csv }\ntime: { column: day }\nvalue: ${value}\n${more}\n`
  return [
    ...Object.entries(values).map(([name, value]) => [name, metric(JSON.stringify(value))]),
    ...Object.entries(lists).map(([name, more]) => [name, metric('sum(a)', more)]),
  ].map(([name, body]) =>
    request(`metric with ${name}`, '/v1alpha/metrics/check', {
      method: 'POST',
      type: 'application/yaml',
      body: body!,
    }),
  )
}

/** Returns entries of a CSV of readers, which is sent as lists of up to a thousand. */
function readerEntries(): Entry[] {
  const put = (name: string, readers: unknown): Entry =>
    request(`readers with ${name}`, '/v1alpha/readers', {
      method: 'PUT',
      body: JSON.stringify({ readers }),
    })
  const readers = (attributes: (index: number) => unknown, count = 1000): unknown[] =>
    Array.from({ length: count }, (_, index) => ({
      reader_id: `hostile-${index}`,
      name: 'a',
      attributes: attributes(index),
    }))
  const keys = (count: number): object =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, 'a']))
  const list = Array.from({ length: 2000 }, () => 'a')
  return [
    put(
      'fifty attributes each',
      readers(() => keys(50)),
    ),
    put(
      'too many attributes',
      readers(() => keys(8000), 4),
    ),
    put(
      'long lists',
      readers(() => ({ teams: list }), 30),
    ),
    put(
      'lists that are too long',
      readers(() => ({ teams: Array.from({ length: 60_000 }, () => 'a') }), 1),
    ),
    put(
      'one id many times',
      readers(() => ({})).map(() => ({ reader_id: 'same', name: 'a' })),
    ),
    put(
      'users who are nobody',
      Array.from({ length: 1000 }, (_, index) => ({
        reader_id: `r${index}`,
        name: 'a',
        user_id: `u${index}`,
      })),
    ),
    post('schedule over readers by many attributes', '/v1alpha/schedules', {
      name: 'a',
      template_id: 'hello',
      cron: '0 6 * * *',
      readers: { where: keys(15_000) },
    }),
    post('schedule over many readers', '/v1alpha/schedules', {
      name: 'a',
      template_id: 'hello',
      cron: '0 6 * * *',
      readers: Array.from({ length: 90_000 }, (_, index) => `r${index}`),
    }),
    post('bulk for a thousand readers who are nobody', '/v1alpha/jobs/bulk', {
      template_id: 'hello',
      items: Array.from({ length: 1000 }, (_, index) => ({ reader_id: `nobody-${index}` })),
    }),
    post('check of a template that reads many attributes', '/v1alpha/jobs/templates/preview', {
      source: `# a\n${many(20_000, (index) => `{{ reader.a${index} }} `)}`,
      template_vars: {},
      reader: { id: 'ada', ...keys(49) },
    }),
    post('check of SQL that reads many attributes', '/v1alpha/jobs/templates/preview', {
      source: `\`\`\`sql a\nselect ${many(20_000, (index) => `$reader.a${index}, `)}1\n\`\`\`\n# a\n`,
      template_vars: {},
      reader: { id: 'ada', ...keys(49) },
    }),
  ]
}

function subscriptionEntries(): Entry[] {
  const mail = { kind: 'email', presence_name: 'a' }
  const follows = (count: number) => Array.from({ length: count }, (_, index) => `template:t${index}`)
  return [
    post('subscription that follows a hundred', '/v1alpha/subscriptions', {
      ...mail,
      to: ['a@example.com'],
      follows: follows(100),
    }),
    post('subscription that follows too many', '/v1alpha/subscriptions', {
      ...mail,
      to: ['a@example.com'],
      follows: follows(40_000),
    }),
    ...['dots', 'mails', 'quotes', 'combining'].map((shape) =>
      post(`subscription to addresses of ${shape}`, '/v1alpha/subscriptions', {
        ...mail,
        to: Array.from({ length: 50 }, (_, index) => `${index}${shaped(shape, 240)}`),
      }),
    ),
    post('notify of many', '/v1alpha/jobs/', {
      payload: { type: 'template', template_id: 'hello', notify: follows(40_000) },
    }),
  ]
}

/** Returns entries of a draft, which profiles the head of a table. The author of the file chooses its names. */
function draftEntries(): Entry[] {
  const heads: Record<string, string> = {
    'many columns': many(2000, (index) => `c${index},`),
    'one name': 'a,'.repeat(2000),
    'long names': many(50, (index) => `${'n'.repeat(5000)}${index},`),
    'names of templates': many(500, (index) => `"{{ a${index} }} {% if %}",`),
  }
  return Object.entries(heads).flatMap(([name, head], index) => {
    const file = `draft-${index}.csv`
    const row = head.replaceAll(/[^,]+/g, '1')
    return [
      request(`file for a draft with ${name}`, `/v1alpha/files/${file}`, {
        method: 'PUT',
        type: 'text/csv',
        body: `${head}z\n${`${row}2\n`.repeat(20)}`,
      }),
      post(`draft with ${name}`, '/v1alpha/drafts', { file: `uploads/${file}` }),
    ]
  })
}

const SHEET = 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet'

function insightEntries({ insight_id, link }: Stored): Entry[] {
  const result = `/v1alpha/jobs/result?insight_id=${insight_id}`
  const shapes = ['letters', 'quotes', 'percents', 'dots', 'separators']
  const long = (shape: string): string => encodeURIComponent(shaped(shape, 2000)).slice(0, 9000)
  return [
    ...[SHEET, 'application/pdf'].map((accept) =>
      request(`insight as ${accept.slice(-20)}`, result, { headers: { accept } }),
    ),
    request('insight as CSV', `${result}&table=t`, { headers: { accept: 'text/csv' } }),
    ...shapes.map((shape) =>
      request(`table named by ${shape}`, `${result}&table=${long(shape)}`, { headers: { accept: SHEET } }),
    ),
    request('runs to compare with', `/v1alpha/insights/${insight_id}/earlier`),
    ...shapes.map((shape) => request(`insights by ${shape}`, `/v1alpha/insights?q=${long(shape)}`)),
    ...shapes.map((shape) =>
      request(`insights of the series ${shape}`, `/v1alpha/insights?series=${long(shape)}`),
    ),
    ...shapes.map((shape) => request(`frame with ${shape}`, `${link}?${long(shape)}`, { anonymous: true })),
    request('script of frames', `/embed.js?${long('equals')}`, { anonymous: true }),
  ]
}

/** Returns entries of pages of other sites and of pushes of git servers. */
function siteEntries(): Entry[] {
  const origins = [
    `https://${'a.'.repeat(5900)}example.com`,
    `https://${'-'.repeat(11_000)}.example.com`,
    `https://${'a.example.com.'.repeat(850)}`,
    `https://${'a'.repeat(11_000)}`,
  ]
  const asked = {
    'access-control-request-method': 'PUT',
    'access-control-request-headers': 'x-a,'.repeat(2500),
  }
  const signatures = ['x-hub-signature-256', 'x-gitea-signature', 'webhook-signature', 'x-gitlab-token']
  const push = JSON.stringify({ ref: 'refs/heads/main', commits: '['.repeat(900_000) })
  return [
    ...origins.flatMap((origin, index) => [
      request(`origin ${index}`, '/v1alpha/jobs/', { headers: { origin } }),
      request(`origin ${index} that asks`, '/v1alpha/jobs/', {
        method: 'OPTIONS',
        headers: { origin: origin.slice(0, 3000), ...asked },
        anonymous: true,
      }),
    ]),
    ...signatures.map((name) =>
      request(`push with ${name}`, '/v1alpha/repository/push', {
        method: 'POST',
        body: push,
        headers: { [name]: `sha256=${'0'.repeat(8000)}` },
        anonymous: true,
      }),
    ),
    post('change of a repository', '/v1alpha/repository/branches', {
      template_id: 'a',
      source: SHAPE_NAMES.map((shape) => shaped(shape, 15_000)).join('\n'),
    }),
    request('name of a token', '/v1alpha/tokens/00000000-0000-7000-8000-000000000000', {
      method: 'PATCH',
      body: JSON.stringify({ name: 'a'.repeat(255), scopes: Array.from({ length: 90_000 }, () => 'viewer') }),
    }),
  ]
}

/** Returns entries whose long rows add up: drafts and templates, and lists of them. */
function listEntries(): Entry[] {
  const times = (count: number, of: (index: number) => Entry): Entry[] =>
    Array.from({ length: count }, (_, index) => of(index))
  const payload = { type: 'template', template_id: 'hello', template_vars: { who: 'x'.repeat(100_000) } }
  const text = 'words '.repeat(150_000)
  return [
    ...times(40, (index) => post(`long draft ${index}`, '/v1alpha/jobs/', { payload })),
    request('list of long drafts', '/v1alpha/jobs?limit=200'),
    request(
      'list of long drafts by what lies in no index',
      '/v1alpha/jobs?limit=200&template_id=hello&presence_name=nobody',
    ),
    ...times(6, (index) =>
      request(`long template ${index}`, `/v1alpha/jobs/templates/long-${index}`, {
        method: 'PUT',
        type: 'text/markdown',
        body: `# ${index}\n${text}`,
      }),
    ),
    ...times(3, (index) => request(`list of long templates ${index}`, '/v1alpha/jobs/templates')),
  ]
}

/** Returns entries for pages and doors of programs, which anyone may send and no document describes. */
function doorEntries(): Entry[] {
  const forms: Record<string, string> = {
    'many names': many(150_000, (index) => `${index.toString(36)}&`),
    'one name': 'a=&'.repeat(300_000),
    percents: '%'.repeat(1_000_000),
    'as many names as fit': many(3000, (index) => `${index.toString(36)}&`),
  }
  const token = (text: string): string => encodeURIComponent(text).slice(0, 9000)
  const pages = ['/confirm/', '/unsubscribe/'].flatMap((page) =>
    ['dots', 'letters', 'percents'].map((shape) => `${page}${token(shaped(shape, 1500))}`),
  )
  const fields = `?next=${token(shaped('slashes', 3000))}&state=${token(shaped('quotes', 1000))}&code=a`
  const asked = [
    ...pages,
    ...['begin', 'callback', 'end'].map((step) => `/auth/${step}${fields}`),
    `/oauth/authorize${fields}`,
    `/links/${token(shaped('letters', 1500))}/${token(shaped('dots', 1500))}`,
    `/assets/${token(shaped('parents', 3000))}`,
    `/docs/${token(shaped('parents', 3000))}`,
    `/${'/'.repeat(11_000)}x`,
    `/${'x/'.repeat(5500)}`,
    ...SECTIONS.map((section) => `/${section}/${token(shaped('parents', 3000))}`),
  ]
  const type = 'application/x-www-form-urlencoded'
  return [
    ...asked.map((target) => request(`page ${target.slice(0, 24)}`, target, { anonymous: true })),
    ...['/confirm/a', '/unsubscribe/a', '/oauth/token', '/oauth/revoke'].flatMap((target) =>
      Object.entries(forms).map(([name, body]) =>
        request(`form of ${name} ${target}`, target, { method: 'POST', body, type, anonymous: true }),
      ),
    ),
    ...['/oauth/register', '/v1alpha/auth/sign-ins'].flatMap((target) =>
      [
        `{${many(30_000, (index) => `"k${index}":1,`)}"z":1}`,
        `{"redirect_uris":["${'a'.repeat(15_000)}"]}`,
      ].map((body) =>
        request(`door of ${body.length} characters ${target}`, target, {
          method: 'POST',
          body,
          anonymous: true,
        }),
      ),
    ),
  ]
}

/** A template with a table of 330,000 rows: 10 MB. */
export const HUGE = `---
limits: { rows: 330000, output: 40MB }
---
\`\`\`sql t
select range as a, range * 2 as b, 'value ' || range as c from range(330000)
\`\`\`
# Huge
`

/** Returns jobs whose insights have 10 MB, one after the other, and previews of the same. */
function hugeEntries({ drafts }: Stored): Entry[] {
  const source = HUGE
  return [
    ...drafts.flatMap((assignment_id, index) => [
      post(`huge job ${index}`, '/v1alpha/jobs/run', { payload: { type: 'assignment', assignment_id } }),
      request(`end of huge job ${index}`, `/v1alpha/jobs/status?assignment_id=${assignment_id}&wait=50`),
    ]),
    ...['application/json', 'text/markdown', 'text/html'].map((accept) => ({
      ...post(`huge preview as ${accept}`, '/v1alpha/jobs/templates/preview', { source }),
      headers: { 'content-type': 'application/json', accept },
    })),
  ]
}

export function newerEntries(stored: Stored): Entry[] {
  const all = [
    ...conditionEntries(),
    ...metricEntries(),
    ...readerEntries(),
    ...subscriptionEntries(),
    ...draftEntries(),
    ...insightEntries(stored),
    ...siteEntries(),
    ...doorEntries(),
    ...listEntries(),
    ...hugeEntries(stored),
  ]
  return all.map((entry) => ({ ...entry, name: `later: ${entry.name}` }))
}
