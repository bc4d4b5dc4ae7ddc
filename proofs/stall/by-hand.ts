/** Hostile requests that are written by hand: what attackers of parsers, patterns, headers, packed files and pages send. */
import { gzipSync } from 'node:zlib'
import { BODY_MOST, type Entry } from './from-document.ts'
import { SHAPE_NAMES, shaped } from './shapes.ts'

/** The objects that the service holds before the corpus is sent. */
export interface Stored {
  assignment_id: string
  /** An insight with a table of tens of thousands of rows and several charts. */
  insight_id: string
  /** The path of a link to the insight. */
  link: string
  /** Drafts whose insights have 10 MB. */
  drafts: readonly string[]
}

const markdown = { 'content-type': 'text/markdown' }
const json = { 'content-type': 'application/json' }

/** Returns a source as entries: checked, put and previewed. */
function ofSource(name: string, source: string): Entry[] {
  const text = source.slice(0, BODY_MOST)
  return [
    {
      name: `check ${name}`,
      method: 'POST',
      target: '/v1alpha/jobs/templates/check',
      headers: markdown,
      body: Buffer.from(text),
    },
    {
      name: `put ${name}`,
      method: 'PUT',
      target: '/v1alpha/jobs/templates/hostile',
      headers: markdown,
      body: Buffer.from(text),
    },
    previewed(name, text, {}),
  ]
}

function previewed(name: string, source: string, template_vars: object, accept = 'text/html'): Entry {
  return {
    name: `preview ${name}`,
    method: 'POST',
    target: '/v1alpha/jobs/templates/preview',
    headers: { ...json, accept },
    body: Buffer.from(JSON.stringify({ source, template_vars })),
  }
}

const many = (count: number, of: (index: number) => string): string =>
  Array.from({ length: count }, (_, index) => of(index)).join('')
const front = (yaml: string, body = ''): string => `---\n${yaml}\n---\n${body}`

/** Returns hostile shapes of YAML, in which front matter is written. */
function yamlSources(): Record<string, string> {
  return {
    'aliases of aliases': front(
      `a: &a [x, x, x, x, x, x, x, x, x]\n${many(9, (index) => `${'bcdefghij'[index]}: &${'bcdefghij'[index]} [${Array.from({ length: 9 }, () => `*${'abcdefghi'[index]}`).join(', ')}]\n`)}`,
    ),
    'deep lists': front(`title: ${'['.repeat(100_000)}`),
    'deep closed lists': front(`title: ${'['.repeat(100_000)}${']'.repeat(100_000)}`),
    'deep maps': front(`title: ${'{a: '.repeat(60_000)}`),
    'deep indents': front(many(400, (index) => `${' '.repeat(index)}a:\n`)),
    'many keys': front(many(60_000, (index) => `k${index}: 1\n`)),
    'one key many times': front('title: a\n'.repeat(60_000)),
    'many tags': front(`tags: [${'a, '.repeat(200_000)}a]`),
    'many variables': front(`variables:\n${many(20_000, (index) => `  v${index}: { type: string }\n`)}`),
    'many sources': front(`sources:\n${many(20_000, (index) => `  s${index}: { file: a.csv }\n`)}`),
    'a long enum': front(
      `variables:\n  v: { type: string, enum: [${many(100_000, (index) => `a${index}, `)}z] }`,
    ),
    'block scalars': front(`title: |\n${'  a\n'.repeat(150_000)}`),
    'quoted breaks': front(`title: "${'\n\n'.repeat(200_000)}"`),
    escapes: front(`title: "${'\\u0041'.repeat(100_000)}"`),
    comments: front('# a\n'.repeat(200_000)),
    documents: `---\n${'--- a\n'.repeat(100_000)}---\n`,
    'merge keys': front(`a: &a { x: 1 }\n${many(20_000, (index) => `b${index}: { <<: *a }\n`)}`),
    tabs: front(`title:\t${'\t'.repeat(300_000)}x`),
    'question marks': front('? '.repeat(200_000)),
    colons: front(': '.repeat(200_000)),
    anchors: front(many(50_000, (index) => `- &a${index} x\n`)),
    tagged: front(`title: ${'!!str '.repeat(100_000)}`),
    'many faults': front(many(100_000, () => '@ \n')),
  }
}

const PATTERNS: [string, string][] = [
  ['^a{0,200}a{0,200}a{0,200}a{0,200}$', 'a'.repeat(1000)],
  ['^(a+)+$', `${'a'.repeat(5000)}!`],
  ['^(a|aa)+$', `${'a'.repeat(5000)}!`],
  ['^(.*)*$', `${'x'.repeat(20_000)}\n`],
  ['^[ab]*a[ab]{500}[cd]$', 'ab'.repeat(5000)],
  ['^(([a-z])+.)+[A-Z]([a-z])+$', 'a'.repeat(10_000)],
  ['(x{1000}){1000}', 'x'.repeat(1000)],
  ['^(\\w+\\s?)*$', 'aaaa '.repeat(4000)],
  ['(?=a+$)a+b', 'a'.repeat(2000)],
  ['^(a)\\1+$', 'a'.repeat(2000)],
  ['\\p{L}*\\p{L}*\\p{L}*\\p{L}*x', 'é'.repeat(5000)],
  [`^${'a?'.repeat(300)}${'a'.repeat(300)}$`, 'a'.repeat(300)],
  [`${'('.repeat(1000)}a${')'.repeat(1000)}`, 'a'],
  [`^(${many(3000, (index) => `a${index}|`)}z)*$`, 'a1'.repeat(3000)],
  ['[^]'.repeat(3000), 'a'.repeat(3000)],
]

function patternEntries(): Entry[] {
  return PATTERNS.flatMap(([pattern, value]) => {
    const quoted = `'${pattern.replaceAll("'", "''")}'`
    const one = front(`variables:\n  v: { type: string, pattern: ${quoted} }`, '# a\n')
    const list = front(`variables:\n  v: { type: list, items: string, pattern: ${quoted} }`, '# a\n')
    const shown = pattern.slice(0, 30)
    return [
      previewed(`pattern ${shown}`, one, { v: value }),
      previewed(`pattern of a list ${shown}`, list, {
        v: Array.from({ length: 400 }, () => value.slice(0, 1500)),
      }),
    ]
  })
}

/** Returns hostile Liquid and Markdown. */
function proseSources(): Record<string, string> {
  const block = (count: number, sql: string): string =>
    many(count, (index) => `\`\`\`sql b${index}\n${sql}\n\`\`\`\n`)
  return {
    'nested branches': `${'{% if true %}'.repeat(20_000)}a${'{% endif %}'.repeat(20_000)}`,
    'open branches': '{% if a %}'.repeat(80_000),
    // This entry only ends at its own time limit, and the proof would wait for that of the service.
    'nested loops': front(
      'limits: { timeout: 3s }',
      `${'{% for a in (1..9) %}'.repeat(12)}a${'{% endfor %}'.repeat(12)}`,
    ),
    'a long range': '{% for a in (1..1000000000) %}a{% endfor %}',
    'many prints': '{{ 1 }}'.repeat(120_000),
    'many filters': `{{ 1 ${'| plus: 1 '.repeat(80_000)}}}`,
    'a long expression': `{{ ${'a.b.c.'.repeat(100_000)}d }}`,
    'a long condition': `{% if ${'a and '.repeat(100_000)}a %}a{% endif %}`,
    'strings never closed': `{{ "${'a'.repeat(800_000)}`,
    captures: `{% assign a = "aaaaaaaaaa" %}${'{% capture a %}{{ a }}{{ a }}{% endcapture %}'.repeat(40)}{{ a }}`,
    'many cases': `{% case 1 %}${'{% when 2 %}'.repeat(60_000)}{% endcase %}`,
    'raw never closed': '{% raw %}'.repeat(80_000),
    'comments never closed': '{% comment %}'.repeat(60_000),
    blocks: block(20_000, 'select 1'),
    'blocks of one name': '```sql a\nselect 1\n```\n'.repeat(20_000),
    'fences never closed': '```sql a\n'.repeat(80_000),
    'analysis blocks': many(
      500,
      (index) => `\`\`\`analysis a${index}\n{ method: anova, of: ${'['.repeat(50)} }\n\`\`\`\n`,
    ),
    'one large analysis': `\`\`\`analysis a\n{ method: anova, of: [${'a, '.repeat(15_000)}a] }\n\`\`\`\n`,
    'one long statement': block(1, `select ${many(40_000, (index) => `a${index}, `)}1`),
    'nested selects': block(1, `${'select (('.repeat(2000)}1${'))'.repeat(2000)}`),
    'nested parentheses': block(1, `select ${'('.repeat(200_000)}1`),
    'comments of SQL': block(1, `select 1 ${'/* '.repeat(200_000)}`),
    'dollar quotes': block(1, `select ${many(20_000, (index) => `$a${index}$ `)}`),
    recursion: block(
      1,
      'with recursive a as (select 1 as x union all select x + 1 from a) select count(*) from a',
    ),
    unions: block(1, `select 1 ${'union all select 1 '.repeat(20_000)}`),
    charts: `${block(1, 'select 1 as x, 2 as y')}${'{% chart b0, type: "bar", x: "x", y: "y" %}\n'.repeat(20_000)}`,
    'a chart of a long title': `${block(1, 'select 1 as x, 2 as y')}{% chart b0, type: "bar", x: "x", y: "y", title: "${'\\"] datum.x '.repeat(20_000)}" %}`,
    tables: `${block(1, 'select * from range(10000)')}${'{% table b0, limit: 10000 %}\n'.repeat(30)}`,
    wide: `${block(1, `select ${many(3000, (index) => `${index} as c${index}, `)}1 as z`)}{% table b0 %}`,
    'wide pivots': block(
      1,
      'select * from range(3000) pivot (count(*) for range in (select range from range(3000)))',
    ),
    'long values': `${block(1, "select repeat('[a](', 100000) as a from range(50)")}{% table b0 %}`,
    'values of Markdown': `${block(1, "select repeat('*_`<&', 20000) as a from range(100)")}{% table b0 %}`,
    numbers: '1.234,56 '.repeat(80_000),
    narration: `${block(1, 'select 1 as a')}${'{% narrate [b0], ask: "a" %}\n'.repeat(10_000)}`,
    facts: `${block(1, 'select 1 as a')}${many(20_000, (index) => `{% fact "f${index}", 1 %}\n`)}`,
    partials: '{% render "a" %}'.repeat(50_000),
  }
}

/** Returns entries that other databases would answer. The service reads their texts first. */
function remoteEntries(): Entry[] {
  const texts: Record<string, string> = {
    'nested comments': `select 1 ${'/*'.repeat(100_000)}`,
    quotes: `select ${"'".repeat(200_001)}`,
    backslashes: `select '${'\\'.repeat(200_001)}'`,
    backticks: `select ${'`'.repeat(200_001)}`,
    dollars: `select ${many(20_000, (index) => `$a${index}$`)}`,
    hashes: `select 1 ${'# a '.repeat(100_000)}`,
    semicolons: `select 1${';'.repeat(200_000)}`,
    parentheses: `select ${'('.repeat(200_000)}`,
    heredocs: `select ${'$$ '.repeat(100_001)}`,
    versions: `select 1 ${'/*!50000 '.repeat(50_000)}`,
    places: `select ${many(20_000, () => '{{ vars.a }}, ')}1`,
    brackets: `select ${'['.repeat(200_000)}`,
  }
  return ['postgresql', 'mysql', 'clickhouse', 'sqlite'].flatMap((kind) =>
    Object.entries(texts).map(([name, query]): Entry => {
      const source = front(`sources:\n  s: { connection: ${kind}, query: ${JSON.stringify(query)} }`, '# a\n')
      return ofSource(`${kind} ${name}`, source)[0]!
    }),
  )
}

function headerEntries({ insight_id, link, assignment_id }: Stored): Entry[] {
  const targets = [
    `/v1alpha/jobs/result?insight_id=${insight_id}`,
    `/v1alpha/jobs/status?assignment_id=${assignment_id}`,
    '/v1alpha/jobs/',
    link,
    '/docs',
    '/healthz',
  ]
  const headers: Record<string, string> = {
    accept: 'text/html;q=0.001, '.repeat(700),
    'accept-language': 'a;q=0.1,'.repeat(1500),
    'if-none-match': '"a", W/'.repeat(2000),
    'if-match': '"'.repeat(12_000),
    cookie: 'a=b; '.repeat(2400),
    range: `bytes=${'0-1,'.repeat(3000)}`,
    'last-event-id': '9'.repeat(12_000),
    'x-forwarded-for': '1.1.1.1, '.repeat(1300),
    traceparent: '0'.repeat(12_000),
    'user-agent': '('.repeat(12_000),
  }
  const plain = Object.entries(headers).flatMap(([name, value]) =>
    targets.map(
      (target): Entry => ({
        name: `header ${name} ${target.slice(0, 24)}`,
        method: 'GET',
        target,
        headers: { [name]: value },
        body: null,
      }),
    ),
  )
  const authorization: Entry = {
    name: 'header authorization',
    method: 'GET',
    target: '/v1alpha/jobs/',
    headers: { authorization: `Bearer ${' '.repeat(12_000)}` },
    body: null,
    anonymous: true,
  }
  const types = ['multipart/form-data; boundary=', 'application/json; charset=', 'text/markdown;'].map(
    (type): Entry => ({
      name: `header content-type ${type}`,
      method: 'POST',
      target: '/v1alpha/jobs/templates/check',
      headers: { 'content-type': `${type}${'a;b='.repeat(2500)}` },
      body: Buffer.from('a'),
    }),
  )
  return [...plain, authorization, ...types]
}

function addressEntries(): Entry[] {
  const names = ['equals', 'percents', 'slashes', 'parents', 'commas', 'quotes', 'dots', 'letters']
  return names.flatMap((shape) => {
    const text = shaped(shape, 12_000)
    const safe = /^[\x21-\x7e]*$/.test(text) ? text : encodeURIComponent(text)
    return [
      { name: `query ${shape}`, method: 'GET', target: `/v1alpha/jobs/?${safe}`, headers: {}, body: null },
      { name: `path ${shape}`, method: 'GET', target: `/${safe}`, headers: {}, body: null, anonymous: true },
      {
        name: `link ${shape}`,
        method: 'GET',
        target: `/links/${safe}`,
        headers: {},
        body: null,
        anonymous: true,
      },
      {
        name: `unsubscribe ${shape}`,
        method: 'GET',
        target: `/unsubscribe/${safe}`,
        headers: {},
        body: null,
        anonymous: true,
      },
    ]
  })
}

/** Returns JSON that is large in other ways than by a long text. */
function jsonEntries(): Entry[] {
  const post = (name: string, target: string, body: string): Entry => ({
    name: `json ${name} ${target}`,
    method: 'POST',
    target,
    headers: json,
    body: Buffer.from(body.slice(0, 1_040_000)),
  })
  const job = (vars: string): string =>
    `{"payload":{"type":"template","template_id":"hello","template_vars":${vars}}}`
  const bodies: Record<string, string> = {
    'deep lists': '['.repeat(500_000),
    'deep objects': '{"a":'.repeat(170_000),
    'many unknown keys': `{${many(70_000, (index) => `"k${index}":1,`)}"z":1}`,
    'many items': `[${'1,'.repeat(500_000)}1]`,
    'long numbers': `[${'9'.repeat(1_000_000)}]`,
    exponents: `[${'1e308,'.repeat(150_000)}1]`,
    escapes: `"${'\\u0000'.repeat(170_000)}"`,
  }
  const targets = [
    '/v1alpha/jobs/',
    '/v1alpha/jobs/bulk',
    '/v1alpha/webhooks/',
    '/v1alpha/subscriptions',
    '/mcp',
  ]
  return [
    ...Object.entries(bodies).flatMap(([name, body]) => targets.map((target) => post(name, target, body))),
    post('many variables', '/v1alpha/jobs/', job(`{${many(60_000, (index) => `"v${index}":1,`)}"who":"a"}`)),
    post('near names', '/v1alpha/jobs/', job(`{${many(30_000, (index) => `"wh${index}":1,`)}"who":"a"}`)),
    post('a long list', '/v1alpha/jobs/', job(`{"who":[${'"a",'.repeat(200_000)}"a"]}`)),
    post(
      'many jobs',
      '/v1alpha/jobs/bulk',
      `{"template_id":"hello","items":[${'{"template_vars":{"who":"a"}},'.repeat(30_000)}{}]}`,
    ),
    post(
      'a thousand jobs',
      '/v1alpha/jobs/bulk/check',
      `{"template_id":"hello","items":[${'{"template_vars":{"who":"a"}},'.repeat(999)}{}]}`,
    ),
    {
      ...post('jobs of 8 MB', '/v1alpha/jobs/bulk/check', ''),
      body: Buffer.from(
        `{"template_id":"hello","items":[{"template_vars":{"who":[${'"a",'.repeat(2_000_000)}"a"]}}]}`,
      ),
    },
    {
      ...post('objects of 8 MB', '/v1alpha/jobs/bulk', ''),
      body: Buffer.from(`{"template_id":"hello","items":[${'{"a":{}},'.repeat(900_000)}{}]}`),
    },
  ]
}

function fileEntries(): Entry[] {
  const put = (name: string, file: string, body: Buffer): Entry => ({
    name: `file ${name}`,
    method: 'PUT',
    target: `/v1alpha/files/${file}`,
    headers: { 'content-type': 'application/octet-stream' },
    body,
  })
  const large = 8_000_000
  const zeros = gzipSync(Buffer.alloc(200_000_000, 'a'), { level: 9 })
  return [
    put('a head of commas', 'a.csv', Buffer.alloc(large, ',')),
    put('a head of quotes', 'b.csv', Buffer.alloc(large, '"')),
    put('one line', 'c.csv', Buffer.alloc(large, 'a')),
    put('lines', 'd.csv', Buffer.alloc(large, '\n')),
    put('lines of other blanks', 'd.csv', Buffer.from('\u00a0\n'.repeat(2_000_000))),
    put('a head of numbers', 'r.csv', Buffer.from(`${'1,'.repeat(499_000)}\n`)),
    put('a head of one number', 's.csv', Buffer.from(`${'9'.repeat(990_000)}\n`)),
    put('a head of quotes', 't.csv', Buffer.from(`${'"1","",'.repeat(140_000)}\n`)),
    put('breaks', 'e.csv', Buffer.alloc(large, '\r')),
    put('many columns', 'f.csv', Buffer.from(many(200_000, (index) => `c${index},`))),
    put('deep JSON', 'g.json', Buffer.alloc(large, '[')),
    put('deep objects', 'h.json', Buffer.from('{"a":'.repeat(1_000_000))),
    put('JSON of escapes', 'i.json', Buffer.from(`["${'\\u0041'.repeat(1_000_000)}"]`)),
    put('JSON of numbers', 'j.json', Buffer.from(`[${'1,'.repeat(3_000_000)}1]`)),
    put('lines of JSON', 'k.ndjson', Buffer.from('{}\n'.repeat(2_000_000))),
    put(
      'not Parquet',
      'l.parquet',
      Buffer.concat([Buffer.from('PAR1'), Buffer.alloc(large, 0xff), Buffer.from('PAR1')]),
    ),
    put('a gzip bomb', 'm.csv.gz', zeros),
    put('a bomb in a bomb', 'n.csv.gz', gzipSync(zeros)),
    put('half a gzip', 'o.csv.gz', zeros.subarray(0, zeros.length / 2)),
    put('not UTF-8', 'p.csv', Buffer.alloc(large, 0xe2)),
    put('tabs', 'q.tsv', Buffer.alloc(large, '\t')),
  ]
}

function cronEntries(): Entry[] {
  const crons = [
    '0 0 30 2 *',
    '0 0 29 2 1',
    '* * * * *',
    `${'1,'.repeat(90)}1 * * * *`,
    '0 0 31 2,4,6,9,11 *',
    '*/59 */23 29 2 0#5',
    '0 2 L 2 5#5',
  ]
  return crons.flatMap((cron) =>
    ['UTC', 'Europe/Berlin', 'Antarctica/Troll', 'Australia/Lord_Howe'].map(
      (zone): Entry => ({
        name: `cron ${cron.slice(0, 20)} ${zone}`,
        method: 'GET',
        target: `/v1alpha/schedules/preview?cron=${encodeURIComponent(cron)}&time_zone=${encodeURIComponent(zone)}`,
        headers: {},
        body: null,
      }),
    ),
  )
}

function readingEntries({ insight_id, link }: Stored): Entry[] {
  const result = `/v1alpha/jobs/result?insight_id=${insight_id}`
  const forms = ['mermaid', 'image', 'text', 'none', 'link'].flatMap((charts) =>
    ['text/markdown', 'text/html', 'application/json'].map(
      (accept): Entry => ({
        name: `read ${accept} ${charts}`,
        method: 'GET',
        target: `${result}&charts=${charts}`,
        headers: { accept },
        body: null,
      }),
    ),
  )
  const pages = Array.from(
    { length: 8 },
    (_, index): Entry => ({
      name: `open the link ${index}`,
      method: 'GET',
      target: link,
      headers: {},
      body: null,
      anonymous: true,
    }),
  )
  return [...forms, ...pages]
}

function shapedSources(): Entry[] {
  return SHAPE_NAMES.flatMap((shape) => [
    previewed(`prose of ${shape}`, shaped(shape, 60_000), {}),
    ofSource(`YAML of ${shape}`, front(`title: ${shaped(shape, 100_000)}`))[0]!,
  ])
}

/** Returns as many lines of a dialect as a draft accepts, each as long as it may be. */
function draftEntries(): Entry[] {
  const lines = {
    values: `missing: [${'a, '.repeat(125)}a]`,
    columns: `columns: {${Array.from({ length: 18 }, (_, index) => `k${index}: {dates: dmy}`).join(', ')}}`,
    brackets: '['.repeat(400),
  }
  const given = Object.entries(lines).flatMap(([name, line]) => [
    { name, line, count: 40 },
    { name: `${name}, as many as it takes`, line, count: Math.floor(6_000 / line.length) },
  ])
  return given.map(({ name, line, count }) => ({
    name: `draft with lines of ${name}`,
    method: 'POST',
    target: '/v1alpha/drafts',
    headers: json,
    body: Buffer.from(
      JSON.stringify({ file: 'sample/us-births.csv', dialect: Array.from({ length: count }, () => line) }),
    ),
  }))
}

export function entriesByHand(stored: Stored): Entry[] {
  const sources = { ...yamlSources(), ...proseSources() }
  return [
    ...Object.entries(sources).flatMap(([name, source]) => ofSource(name, source)),
    ...patternEntries(),
    ...remoteEntries(),
    ...headerEntries(stored),
    ...addressEntries(),
    ...jsonEntries(),
    ...fileEntries(),
    ...cronEntries(),
    ...readingEntries(stored),
    ...shapedSources(),
    ...draftEntries(),
  ]
}
