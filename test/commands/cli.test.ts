/**
 * Runs the command line from end to end beside a real service. Tests about the process of a command start one of its
 * own.
 */
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { after, before, test } from 'node:test'
import type { OutgoingView } from '@assay/client'
import { COMMANDS } from '../../packages/cli/commands/all.ts'
import { EXIT } from '../../packages/cli/exit.ts'
import {
  assay,
  cleanEnvironment,
  eventually,
  type Service,
  startService,
  temporaryFolder,
  within,
} from '../servers/service.ts'
import { type Outcome, openCommands } from './commands.ts'

const { folder, remove } = temporaryFolder()
const home = path.join(folder, 'home')
const commands = openCommands({ cwd: folder, env: { ASSAY_HOME: home } })
const { run } = commands
/** Runs commands with a pool that stays, for tests of the results of many runs. */
const kept = openCommands({ cwd: folder, env: { ASSAY_HOME: home }, keepPool: true })
let service: Service

before(async () => {
  service = await startService({ home, wrapped: false })
})
after(async () => {
  commands.close()
  kept.close()
  service.signal('SIGTERM')
  assert.equal(await service.exited, 0)
  remove()
})

/** Runs a command in a process of its own. */
function start(args: string[], options: Parameters<typeof run>[1] = {}): Promise<Outcome> {
  const child = spawn(process.execPath, [assay, ...args], {
    timeout: 300_000,
    cwd: options.cwd ?? folder,
    env: cleanEnvironment({ ASSAY_HOME: home, ...options.env }),
  })
  child.stdin.end(options.input ?? '')
  return new Promise<Outcome>((resolve) => {
    const outcome = { out: '', err: '' }
    child.stdout.on('data', (chunk) => {
      outcome.out += String(chunk)
    })
    child.stderr.on('data', (chunk) => {
      outcome.err += String(chunk)
    })
    child.on('close', (code) => resolve({ code: code ?? -1, ...outcome }))
  })
}

/** Runs a command that must succeed. Resolves with its output. */
async function ok(args: string[], options?: Parameters<typeof run>[1], by = commands): Promise<string> {
  const { code, out, err } = await by.run(args, options)
  assert.equal(code, 0, `${args.join(' ')}: ${err}`)
  return out
}

const okKept = (args: string[]): Promise<string> => ok(args, {}, kept)

const TEMPLATE = `---
title: Count
variables:
  n: { type: integer, default: 10, max: 100 }
---
\`\`\`sql total
select count(*) as n from range($n)
\`\`\`
# Counted {{ total | first: "n" }}
`

test('says its version and explains every command', async () => {
  const { version } = JSON.parse(
    readFileSync(path.join(import.meta.dirname, '../..', 'package.json'), 'utf8'),
  ) as {
    version: string
  }
  const said = await start(['--version'])
  assert.deepEqual(said, { code: 0, out: `${version}\n`, err: '' })
  const help = await ok(['--help'])
  const commands = [...help.matchAll(/^ {2}([a-z]+(?: [a-z]+)?)/gm)].map((match) => match[1]!)
  assert.ok(commands.includes('serve') && commands.includes('webhooks listen'))
  for (const command of ['serve', 'run', 'jobs run', 'webhooks listen', 'token create', 'config'])
    assert.match(await ok([...command.split(' '), '--help']), new RegExp(`^usage: assay ${command}`))
})

test('docs/cli.md has every command and every exit code', () => {
  const guide = readFileSync(path.join(import.meta.dirname, '../..', 'docs', 'cli.md'), 'utf8')
  const cell = (text: string): string => text.replaceAll('|', '\\|')
  const rows = COMMANDS.map(({ name, operands, summary }) => {
    const usage = operands ? `${name} ${operands}` : name
    return `| \`${cell(usage)}\` | ${cell(summary)} |`
  })
  assert.deepEqual(
    [...guide.matchAll(/^\| `(?!--).*\|$/gm)].map(([row]) => row),
    rows,
  )
  const codes = [...guide.matchAll(/^\| (\d+) \|/gm)].map((match) => Number(match[1]))
  assert.deepEqual(codes, Object.values(EXIT))
})

test('a wrong command line ends with 2 and says what to write', async () => {
  assert.equal((await start(['nonsense'])).code, 2)
  for (const args of [
    ['nonsense'],
    ['jobs'],
    ['jobs', 'status'],
    ['run', 'a', 'b'],
    ['serve', '--colour', 'red'],
    [],
  ]) {
    const { code, out, err } = await run(args)
    assert.equal(code, 2, args.join(' '))
    assert.match(out + err, /assay/)
  }
})

test('a bad setting ends with 78 and names it', async () => {
  const { code, err } = await start(['config'], { env: { ASSAY_PORT: 'http', ASSAY_WORKERS: '0' } })
  assert.equal(code, 78)
  assert.match(err, /ASSAY_PORT: "http" is not usable/)
  assert.match(err, /ASSAY_WORKERS/)
})

test('shows each setting with its origin, and no secret', async () => {
  const secret = 'a-token-that-nobody-may-see'
  const env = { ASSAY_TOKEN: secret, ASSAY_STORE: 'postgres://user:hidden@host/db' }
  const out = await ok(['config', '--port', '99', '--json'], { env })
  const settings = JSON.parse(out) as { env: string; value: string; origin: string }[]
  const of = (name: string) => settings.find((setting) => setting.env === name)!
  assert.deepEqual([of('ASSAY_PORT').value, of('ASSAY_PORT').origin], ['99', 'flag'])
  assert.equal(of('ASSAY_TOKEN').origin, 'environment')
  assert.ok(!out.includes(secret) && !out.includes('hidden'))
})

const tools = ['bash', 'curl', 'jq'].filter((tool) => spawnSync(tool, ['--version']).error !== undefined)
const skip = tools.length > 0 ? `not on this machine: ${tools.join(', ')}` : false

test('the first start prints a token, and lines that work as they are pasted', { skip }, () => {
  const banner = service.banner()
  const [, token] = /The admin token, shown this once: {2}(assay_\S+)/.exec(banner)!
  assert.ok(!service.log().includes(token!), 'the log never holds it')
  const [list, ...rest] = banner.split('\n').filter((line) => line.startsWith('  '))
  const paste = (script: string): string =>
    spawnSync('bash', ['-c', script], { encoding: 'utf8', timeout: 120_000 }).stdout
  const templates = JSON.parse(paste(list!)) as { template_id: string }[]
  assert.ok(templates.some(({ template_id }) => template_id === 'flight-delays'))
  assert.match(paste(rest.join('\n')), /^# [\s\S]*How this was computed/)
})

test('runs the reference workflow from the shell', async () => {
  const file = path.join(folder, 'count.md')
  writeFileSync(file, TEMPLATE)
  assert.equal(await ok(['templates', 'put', file]), 'count\n')
  assert.match(await ok(['templates', 'show', 'count']), /n +integer +10/)
  assert.equal(await ok(['templates', 'show', 'count', '--source']), TEMPLATE)
  const id = (await ok(['jobs', 'create', 'count', '--var', 'n=7', '--metadata', 'a=b'])).trim()
  assert.match(id, /^[0-9a-f-]{36}$/)
  assert.equal(await ok(['jobs', 'run', id]), `${id}\n`)
  await ok(['jobs', 'wait', id, '--timeout', '60'])
  assert.match(await ok(['jobs', 'result', id]), /^# Counted 7\n/)
  const status = JSON.parse(await ok(['jobs', 'status', id, '--json'])) as Record<string, unknown>
  assert.deepEqual([status.job_status, status.metadata], ['completed', { a: 'b' }])
  assert.ok((await ok(['jobs', 'list', '--status', 'completed'])).includes(id))
  const result = JSON.parse(await ok(['jobs', 'result', id, '--format', 'json'])) as { assignment_id: string }
  assert.equal(result.assignment_id, id)
  const pdf = path.join(folder, 'count.pdf')
  assert.equal(await ok(['jobs', 'result', id, '--format', 'pdf', '--out', pdf]), '')
  assert.match(readFileSync(pdf, 'latin1'), /^%PDF-/)
  assert.match(await ok(['events', '--type', 'job.completed']), new RegExp(id))
  assert.match(
    await ok(['insights', 'list', 'COUNT', '--template', 'count']),
    /^INSIGHT .*HEADLINE\n.* Count /,
  )
  await ok(['jobs', 'delete', id])
  assert.equal((await run(['jobs', 'status', id])).code, 3, 'not found')
  await ok(['templates', 'delete', 'count'])
})

test('puts, lists, shows and deletes a metric', async () => {
  const source =
    'metric: people\nlabel: People born\nsource: { file: sample/us-births.csv }\ntime: { column: date }\nvalue: sum(births)\n'
  const file = path.join(folder, 'people.yaml')
  writeFileSync(file, source)
  assert.equal(await ok(['metrics', 'put', file]), 'people\n')
  assert.match(await ok(['metrics', 'list', '--q', 'born']), /^people +workspace +People born/m)
  assert.match(await ok(['metrics', 'show', 'people']), /^people: People born\n[\s\S]*steps +day, UTC/)
  assert.equal(await ok(['metrics', 'show', 'people', '--source']), source)
  writeFileSync(file, source.replace('sum(', 'median('))
  const refused = await run(['metrics', 'put', file])
  assert.equal(refused.code, 4)
  assert.match(refused.err, /median/)
  await ok(['metrics', 'delete', 'people'])
  assert.equal((await run(['metrics', 'show', 'people'])).code, 3)
})

test('a dbt project is imported from its folder, and what is left out is told and kept in a list', async () => {
  const models = path.join(folder, 'dbt', 'models')
  const into = path.join(folder, 'dbt', 'metrics')
  mkdirSync(path.join(models, 'marts'), { recursive: true })
  const measure = 'measures: [ { name: paid, agg: sum, expr: amount }, { name: middle, agg: median } ]'
  const model = `semantic_models: [ { name: orders, model: ref('orders'), defaults: { agg_time_dimension: day }, ${measure} } ]`
  const metric = (name: string) => `{ name: ${name}, type: simple, type_params: { measure: ${name} } }`
  writeFileSync(path.join(models, 'orders.yml'), model)
  writeFileSync(
    path.join(models, 'marts', 'metrics.yml'),
    `metrics: [ ${metric('paid')}, ${metric('middle')} ]`,
  )
  writeFileSync(path.join(models, 'dbt_project.yml'), 'models: { shop: { +materialized: table } }')
  const again = () => run(['metrics', 'import', models, '--connection', 'shop', '--dir', into])
  const { code, out, err } = await again()
  assert.deepEqual([code, out], [1, `${path.join(into, 'paid.yaml')}\n`], err)
  const list = readFileSync(path.join(into, 'not-imported.txt'), 'utf8')
  assert.match(list, /metrics\.yml: middle: the aggregation "median" has no counterpart\.\n$/)
  assert.ok(err.includes(list.trim()))
  assert.match((await again()).err, /paid\.yaml is there already: --force replaces it/)
  const nothing = await run([
    'metrics',
    'import',
    path.join(models, 'dbt_project.yml'),
    '--connection',
    'shop',
  ])
  assert.match(nothing.err, /There are no metrics in these files/)
})

test('exit codes tell a failed job from a refusal', async () => {
  const failing = TEMPLATE.replace('count(*)', "error('broken') ")
  writeFileSync(path.join(folder, 'failing.md'), failing)
  await ok(['templates', 'put', path.join(folder, 'failing.md')])
  const failed = await run(['jobs', 'run', 'failing', '--wait'])
  assert.equal(failed.code, 1)
  assert.match(failed.err, /analysis_failed: .*broken/)
  assert.equal((await run(['jobs', 'run', 'failing', '--var', 'm=1'])).code, 4, 'an unknown variable')
  assert.equal((await run(['jobs', 'run', 'no-such-template'])).code, 3)
  for (const [args, code, says] of [
    [
      ['templates', 'put', path.join(folder, 'nowhere.md')],
      3,
      /nowhere.md cannot be read: there is no such file/,
    ],
    [['templates', 'put', folder], 1, /cannot be read: it is a folder/],
    [['files', 'rm', '..'], 4, /".." cannot be a name/],
    [['webhooks', 'listen', '--secret', 'bad'], 2, /--secret: A key must start with whsec_/],
    [
      ['webhooks', 'trigger', 'job.failed', 'http://127.0.0.1:1', '--secret', 'bad'],
      2,
      /--secret: A key must start/,
    ],
  ] as const) {
    const ended = await run([...args])
    assert.equal(ended.code, code, ended.err)
    assert.match(ended.err, says)
  }
  const elsewhere = { ASSAY_URL: 'http://127.0.0.1:1', ASSAY_TOKEN: 'some-token-of-the-service' }
  assert.equal((await run(['jobs', 'list'], { env: elsewhere })).code, 69, 'nobody answers')
  const stranger = { ASSAY_URL: service.url, ASSAY_TOKEN: 'some-token-of-a-stranger' }
  assert.equal((await run(['jobs', 'list'], { env: stranger })).code, 77)
})

test('a token with fewer rights is made, used, listed and deleted', async () => {
  const token = (await ok(['token', 'create', 'reader', '--scope', 'viewer', '--expires', '1h'])).trim()
  const env = { ASSAY_URL: service.url, ASSAY_TOKEN: token }
  await ok(['jobs', 'list'], { env })
  assert.equal((await run(['jobs', 'create', 'penguins'], { env })).code, 77)
  const tokens = JSON.parse(await ok(['token', 'list', '--json'])) as { token_id: string; name: string }[]
  await ok(['token', 'delete', tokens.find(({ name }) => name === 'reader')!.token_id])
  assert.equal((await run(['jobs', 'list'], { env })).code, 77)
  assert.ok(!(await ok(['token', 'list'])).includes(token))
})

test('users read their password from standard input and log in with it', async () => {
  const made = await start(['user', 'create', 'ada', '--scope', 'analyst'], { input: 'correct horse\n' })
  assert.equal(made.code, 0, made.err)
  assert.match(await ok(['user', 'list']), /ada +analyst/)
  const body = new URLSearchParams({ username: 'ada', password: 'correct horse', grant_type: 'password' })
  const response = await fetch(`${service.url}/v1alpha/auth/login`, { method: 'POST', body })
  assert.equal(response.status, 200)
  const { access_token } = (await response.json()) as { access_token: string }
  await ok(['user', 'sign-out', made.out.trim()])
  const env = { ASSAY_URL: service.url, ASSAY_TOKEN: access_token }
  assert.equal((await run(['jobs', 'list'], { env })).code, 77, 'the token of the login has ended')
})

test('erasing reports an unknown id, and succeeds for a user who has left nothing', async () => {
  const unknown = await run(['user', 'erase', 'nobody'])
  assert.equal(unknown.code, 3)
  assert.equal(unknown.out, '')
  assert.match(unknown.err, /No data of the user "nobody" exists.*assay user list/)
  const user_id = (await ok(['user', 'create', 'eve'], { input: 'correct horse\n' })).trim()
  assert.equal(await ok(['user', 'erase', user_id]), '0 jobs and 0 events were erased.\n')
  await ok(['token', 'create', 'program-7'])
  const account = ['user', 'erase', 'service:program-7', '--json']
  assert.deepEqual(JSON.parse(await ok(account)), { jobs: 0, events: 0 })
  assert.equal((await run(['user', 'erase', 'nobody', '--json'])).code, 3)
})

test('status shows nodes, leases, the backlog and what is in trouble, also as JSON', async () => {
  const id = (await ok(['jobs', 'create', 'penguins'])).trim()
  const shown = await ok(['status'])
  assert.match(shown, /^NODE +ROLES +VERSION +STARTED +LEASE\n\S+ +api,worker,dispatcher .* \d+ s$/m)
  assert.match(shown, /^draft +[1-9]\d* +\d+ (s|min)$/m)
  assert.match(shown, /^failing +0$/m)
  assert.match(shown, /^[\d.]+ [GM]B of [\d.]+ GB are free\.$/m)
  const status = JSON.parse(await ok(['status', '--json'])) as {
    nodes: unknown[]
    jobs: Record<string, number>
    queue: { disk: { free_bytes: number } }
  }
  assert.equal(status.nodes.length, 1)
  assert.ok(status.jobs.draft! >= 1 && status.queue.disk.free_bytes > 0)
  await ok(['jobs', 'cancel', id])
})

test('a workspace has its own tokens, users and jobs', async () => {
  await ok(['workspace', 'create', 'team', '--folder', folder])
  await ok(['workspace', 'change', 'team', '--max-queued', '9', '--max-running', '0'])
  const changed = await ok([
    'workspace',
    'change',
    'team',
    '--max-running',
    'default',
    '--rate-limit',
    '50',
    '--max-processor-seconds',
    '1800',
    '--max-spill-bytes',
    '2GB',
    '--max-stored-bytes',
    '5GB',
    '--json',
  ])
  const { max_queued, max_running, rate_limit, ...more } = JSON.parse(changed)
  const { max_processor_seconds, max_spill_bytes, max_stored_bytes } = more
  assert.deepEqual(
    [max_queued, max_running, rate_limit, max_processor_seconds, max_spill_bytes, max_stored_bytes],
    [9, null, 50, 1800, 2e9, 5e9],
  )
  assert.equal((await run(['workspace', 'change', 'team', '--max-queued', 'many'])).code, 2)
  assert.equal((await run(['workspace', 'change', 'team'])).code, 2, 'nothing to change')
  const token = (await ok(['token', 'create', 'theirs', '--workspace', 'team'])).trim()
  assert.match(await ok(['token', 'list', '--workspace', 'team']), /theirs/)
  assert.ok(!(await ok(['token', 'list'])).includes('theirs'))
  const env = { ASSAY_URL: service.url, ASSAY_TOKEN: token }
  const id = (await ok(['jobs', 'create', 'nile-flow'], { env })).trim()
  assert.equal((await run(['jobs', 'status', id])).code, 3, 'what is theirs is not there for others')
  assert.ok(!(await ok(['workspace', 'list'], { env })).includes('default'))
  assert.equal((await run(['workspace', 'create', 'another'], { env })).code, 77)
  await ok(['jobs', 'cancel', id], { env })
  await ok(['workspace', 'delete', 'team'])
  assert.equal((await run(['jobs', 'list'], { env })).code, 77)
})

test('shows what leaves a workspace, sets its budgets, stops all of it and opens it again', async () => {
  await ok(['workspace', 'create', 'guests'])
  const theirs = ['--workspace', 'guests']
  const rules = [
    '--budget',
    'mail=200',
    '--budget',
    'query=9',
    '--model',
    'off',
    '--host',
    '*.guests.example',
  ]
  await ok(['outgoing', 'change', ...theirs, ...rules])
  const shown = await ok(['outgoing', ...theirs])
  assert.match(
    shown,
    /^Its templates may not ask the language model\.\nIts connections, .* reach \*\.guests\.example\.\n/,
  )
  assert.match(shown, /^mail +mails +0 +200 +this workspace$/m)
  assert.match(shown, /^download +downloads +0 +no limit +every workspace$/m)
  await ok(['outgoing', 'change', ...theirs, '--budget', 'query=default', '--host', 'all'])
  await ok(['outgoing', 'stop', ...theirs, '--reason', 'a leak'])
  const stopped = JSON.parse(await ok(['outgoing', ...theirs, '--json', '--days', '3'])) as OutgoingView
  assert.deepEqual(
    [stopped.stopped?.reason, stopped.hosts, stopped.budgets.at(-1)],
    ['a leak', null, { kind: 'query', budget: null, own: false, today: 0 }],
  )
  assert.match(
    await ok(['outgoing', ...theirs]),
    /^Nothing leaves the workspace guests since .*the operator: a leak\.$/m,
  )
  await ok(['outgoing', 'open', ...theirs])
  assert.doesNotMatch(await ok(['outgoing', ...theirs]), /Nothing leaves/)
  for (const [args, told] of [
    [[], /at least one option/],
    [['--budget', 'fax=1'], /takes mail, chat, model, webhook, download, query, not "fax"/],
    [['--budget', 'mail=few'], /whole number up to 1000000000 or "default", not "few"/],
    [['--host', 'all', '--host', 'a.example'], /stands alone/],
  ] as const) {
    const { code, err } = await run(['outgoing', 'change', ...theirs, ...args])
    assert.equal(code, 2)
    assert.match(err, told)
  }
  await ok(['workspace', 'delete', 'guests'])
})

test('listens for webhooks, verifies them and fails the first to show a retry', async () => {
  const listening = start(['webhooks', 'listen', '--count', '1', '--json', '--event', 'job.completed'])
  const webhooks = async (): Promise<unknown[]> =>
    JSON.parse(await ok(['webhooks', 'list', '--json'])) as unknown[]
  // The command listens once the list shows its webhook. Only then may a job run.
  await eventually(async () => (await webhooks()).length === 1, 'it has made its webhook')
  await ok(['jobs', 'run', 'nile-flow', '--wait'])
  const { code, out } = await listening
  assert.equal(code, 0)
  const received = JSON.parse(out) as { verified: boolean; body: { type: string } }
  assert.deepEqual([received.verified, received.body.type], [true, 'job.completed'])
  assert.deepEqual(await webhooks(), [], 'it takes its webhook away')
})

test('sends a signed example to a receiver at an address', async () => {
  const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
  const listening = spawn(
    process.execPath,
    [assay, 'webhooks', 'listen', '--secret', secret, '--count', '2', '--fail', '1'],
    { env: cleanEnvironment({ ASSAY_HOME: home }), stdio: ['ignore', 'pipe', 'pipe'] },
  )
  let printed = ''
  listening.stdout.on('data', (chunk) => {
    printed += String(chunk)
  })
  let said = ''
  listening.stderr.on('data', (chunk) => {
    said += String(chunk)
  })
  const ended = new Promise((resolve) => listening.on('close', resolve))
  const listens = (): RegExpExecArray | null => /Listening on (\S+)/.exec(said)
  await eventually(() => listens() !== null, 'it listens')
  const url = listens()![1]!
  assert.equal(
    (await run(['webhooks', 'trigger', 'job.failed', url, '--secret', secret])).code,
    1,
    '500 as told',
  )
  const wrong = `whsec_${Buffer.alloc(32, 8).toString('base64')}`
  assert.equal((await run(['webhooks', 'trigger', 'job.failed', url, '--secret', wrong])).code, 0)
  assert.equal(await within(ended, 'it ends'), 1, 'a wrong signature shows in the exit code')
  assert.match(printed, /signature verified[\s\S]*SIGNATURE WRONG/)
})

test('runs, checks and starts templates without a service', async () => {
  const env = { ASSAY_HOME: path.join(folder, 'never-made') }
  assert.equal(await ok(['new', 'weekly-report'], { env }), 'weekly-report.md\n')
  assert.equal((await run(['new', 'weekly-report'], { env })).code, 4, 'it overwrites nothing')
  await ok(['check', 'weekly-report.md'], { env })
  const { code, out, err } = await run(['run', 'weekly-report.md', '--var', 'top=3', '--charts', 'text'], {
    env,
  })
  assert.equal(code, 0, err)
  assert.match(out, /^# Weekly report, /)
  assert.match(err, /executing/, 'progress goes to stderr')
  assert.match(await ok(['run', 'nile-flow', '--format', 'html'], { env }), /^<!doctype html>/i)
  const json = JSON.parse(await ok(['run', 'nile-flow', '--format', 'json'], { env })) as {
    charts: { svg: string }[]
  }
  assert.match(json.charts[0]!.svg, /^<svg/)
  assert.equal((await run(['run', 'weekly-report.md', '--var', 'top=many'], { env })).code, 2)
  assert.throws(() => statSync(env.ASSAY_HOME), 'and makes no home')
})

const SALES = `---
sources: { sales: { file: sales.csv } }
---
\`\`\`sql rows
select shop, amount from sales order by shop
\`\`\`
# {{ rows | sum: "amount" }} in {{ rows.size }} shops

Ada sold {{ rows[0].amount }}, Bo {{ rows[1].amount }}; most is {{ rows | max: "amount" }}.
{% if rows[1].amount > 25 %}Bo is ahead of 25.{% else %}Bo is behind 25.{% endif %}

{% table rows %}
`

interface Verified {
  holds: boolean
  values: { total: number; hold: number; changed: number; unchecked: number; added: number }
  changed: { was: string; is: string; line: number; from: object[] }[]
  words: { was: string; is: string }[]
  sources: { name: string; state: string; files: { path: string }[] }[] | null
  failed: { code: string } | null
}

test('verify names exactly the values that depend on a changed cell', async () => {
  const data = path.join(folder, 'shops')
  mkdirSync(data)
  const rows = (bo: number): void =>
    writeFileSync(path.join(data, 'sales.csv'), `shop,amount\nAda,10\nBo,${bo}\nCy,30\n`)
  writeFileSync(path.join(folder, 'sales.md'), SALES)
  rows(20)
  const insight = path.join(folder, 'sales.json')
  writeFileSync(insight, await okKept(['run', 'sales.md', '--data', data, '--format', 'json']))
  const args = ['verify', insight, '--data', data, '--template', 'sales.md']
  assert.match(await okKept(args), /: 11 of 11 values hold, and so do the words around them\.\n$/)

  rows(26)
  const { code, out } = await kept.run([...args, '--json'])
  const found = JSON.parse(out) as Verified
  assert.equal(code, 1)
  assert.deepEqual(found.values, { total: 11, hold: 8, changed: 3, unchecked: 0, added: 0 })
  assert.deepEqual(
    found.changed.map(({ was, is, line, from }) => [was, is, line, from]),
    [
      ['60', '66', 1, [{ block: 'rows', column: 'amount', rows: [0, 2], count: 3 }]],
      ['20', '26', 3, [{ block: 'rows', row: 1, column: 'amount' }]],
      ['20', '26', 9, [{ block: 'rows', row: 1, column: 'amount' }]],
    ],
  )
  assert.match(
    found.words.map(({ was, is }) => `${was} / ${is}`).join(),
    /^.*behind 25\. \/ .*ahead of 25\.$/,
  )
  assert.deepEqual(
    found.sources!.map(({ name, state, files }) => [name, state, files.map((file) => file.path)]),
    [['sales', 'changed', ['sales.csv']]],
  )
  const text = await kept.run(args)
  assert.match(text.out, /^9 +20 +26 +rows\[1\]\.amount$/m)
  assert.match(text.out, /The source "sales" has changed\./)

  rmSync(path.join(data, 'sales.csv'))
  const gone = JSON.parse((await kept.run([...args, '--json'])).out) as Verified
  assert.deepEqual(
    [gone.failed!.code, gone.values.unchecked, gone.values.hold, gone.sources],
    ['source_unavailable', 11, 0, null],
  )
  const said = await kept.run(args)
  assert.equal(said.code, 1)
  assert.match(said.out, /0 of 11 values hold; 11 cannot be checked\.\nsource_unavailable: .*sales\.csv/)
})

test('verify finds that an insight of a service holds whole, and what was changed in its file', async () => {
  const variables = ['--var', 'period=last_7_days', '--var', 'origin=ORD']
  const json = await ok(['jobs', 'run', 'flight-delays', ...variables, '--wait', '--format', 'json'])
  const insight = path.join(folder, 'flights.json')
  writeFileSync(insight, json)
  const whole = JSON.parse(await ok(['verify', insight, '--json'])) as Verified
  assert.ok(whole.holds && whole.values.total > 30, JSON.stringify(whole.values))

  const { markdown } = JSON.parse(json) as { markdown: string }
  const share = /\d+\.\d %/.exec(markdown)![0]
  const other = share.startsWith('9') ? share.replace('9', '8') : share.replace(/\d/, '9')
  writeFileSync(
    insight,
    JSON.stringify({ ...(JSON.parse(json) as object), markdown: markdown.replace(share, other) }),
  )
  const changed = await run(['verify', insight, '--json'])
  const forged = JSON.parse(changed.out) as Verified
  assert.equal(changed.code, 1)
  assert.deepEqual([forged.values.changed, forged.sources![0]!.state], [1, 'same'])
  assert.ok(forged.changed[0]!.was.includes(other) && forged.changed[0]!.is.includes(share))
})

test('verify takes no path from an insight, and says what to do with a file that it cannot use', async () => {
  const lineage = { assay_version: '0', started_at: '2026-01-01T00:00:00Z', variables: {}, sources: [] }
  const template = path.join(folder, 'counted.md')
  writeFileSync(template, TEMPLATE)
  const whole = {
    template_id: template,
    template_version: '0',
    markdown: 'It is 4.',
    provenance: [],
    lineage,
  }
  const { provenance: _, ...old } = whole
  const marks = [{ start: 7, end: 99, from: [] }]
  const file = path.join(folder, 'odd.json')
  const given = ['--template', template]
  for (const [content, args, code, says] of [
    ['# Report', [], 4, /is not JSON: .* Give the JSON of an insight: "assay jobs result/],
    ['{"title":"x"}', [], 4, /is not an insight: template_id is required/],
    [
      JSON.stringify(whole).replace('"variables":{}', `"variables":{"n":${'['.repeat(99)}${']'.repeat(99)}}`),
      [],
      4,
      /lineage\.variables\.n.* is nested deeper than 64 levels/,
    ],
    [JSON.stringify(old), [], 4, /does not say where its numbers come from.*Run the template again/],
    [JSON.stringify({ ...whole, provenance: marks }), [], 4, /was changed: the positions/],
    [
      JSON.stringify(whole),
      [],
      3,
      /is neither in ASSAY_TEMPLATES nor a shipped one: give its file by --template/,
    ],
    [
      JSON.stringify(whole),
      given,
      4,
      /is of version 0 of its template, and counted\.md is version .* --any-version/,
    ],
    [
      JSON.stringify({ ...whole, lineage: { ...lineage, variables: { n: 'many' } } }),
      [...given, '--any-version'],
      4,
      /variables of the insight do not fit the template:\n {2}n must be a whole number/,
    ],
    [
      JSON.stringify(whole),
      [...given, '--any-version'],
      1,
      /^The insight is of version 0, the template is version/m,
    ],
  ] as const) {
    writeFileSync(file, content)
    const ended = await kept.run(['verify', file, ...args])
    assert.equal(ended.code, code, ended.err)
    assert.match(code === 1 ? ended.out : ended.err, says)
  }
  assert.equal((await kept.run(['verify', 'nowhere.json'])).code, 3)
  assert.equal((await kept.run(['verify'])).code, 2)
})

test('watches a template and runs it again at each save', async () => {
  const file = path.join(folder, 'watched.md')
  writeFileSync(file, TEMPLATE)
  const child = spawn(process.execPath, [assay, 'run', file, '--watch'], {
    cwd: folder,
    env: cleanEnvironment(),
    timeout: 300_000,
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  let out = ''
  child.stdout.on('data', (chunk) => {
    out += String(chunk)
  })
  const ended = new Promise((resolve) => child.on('close', resolve))
  await eventually(() => out.includes('# Counted 10'), 'it prints the first')
  writeFileSync(file, TEMPLATE.replace('# Counted', '# Now there are'))
  await eventually(() => out.includes('# Now there are 10'), 'it prints the second')
  child.kill('SIGINT')
  assert.equal(await within(ended, 'it ends'), 0)
})

test('check finds a fault with its line, as text and as JSON', async () => {
  writeFileSync(path.join(folder, 'faulty.md'), TEMPLATE.replace('{{ total', '{{ totel'))
  const text = await run(['check', 'faulty.md'])
  assert.equal(text.code, 1)
  assert.match(text.out, /^faulty\.md:9:\d+: error: .*totel/)
  const json = await run(['check', 'faulty.md', '--json'])
  const [found] = JSON.parse(json.out) as { file: string; faults: { line: number }[] }[]
  assert.deepEqual([json.code, found!.file, found!.faults[0]!.line], [1, 'faulty.md', 9])
  assert.equal((await run(['check', 'no-such-file.md'])).code, 3)
})

test('a reader that goes away ends the command without a word', async () => {
  const child = spawn(
    'sh',
    ['-c', `"${process.execPath}" "${assay}" config --json | head -c 10 > /dev/null`],
    {
      env: cleanEnvironment(),
      stdio: ['ignore', 'ignore', 'pipe'],
    },
  )
  let err = ''
  child.stderr.on('data', (chunk) => {
    err += String(chunk)
  })
  const ended = new Promise((resolve) => child.on('close', resolve))
  assert.equal(await within(ended, 'it ends'), 0)
  assert.equal(err, '')
})

test('works on a home that no service holds, and leaves it whole', async () => {
  const other = path.join(folder, 'other')
  const env = { ASSAY_HOME: other }
  const missing = await run(['jobs', 'list'], { env })
  assert.equal(missing.code, 69)
  assert.match(missing.err, /assay serve/)
  mkdirSync(other)
  for (const args of [['migrate'], ['token', 'create', 'early', '--json']])
    assert.equal((await run(args, { env })).code, 0)
  const { code, out, err } = await run(['jobs', 'run', 'nile-flow'], { env })
  assert.equal(code, 0)
  assert.match(err, /waits until one is started/)
  const later = await startService({ home: other, wrapped: false })
  await ok(['jobs', 'wait', out.trim()], { env })
  later.signal('SIGINT')
  assert.equal(await later.exited, 0)
})

test('the files of a home can be read by their owner only', () => {
  assert.equal(statSync(path.join(home, 'secret.key')).mode & 0o777, 0o600)
  assert.equal(statSync(home).mode & 0o777, 0o700)
})

test('a folder that came from a stranger is sent nothing, whatever its home says', async () => {
  const asked: string[] = []
  const receiver = createServer((request, response) => {
    asked.push(`${request.url} ${request.headers.authorization}`)
    response.end('{}')
  })
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
  try {
    const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`
    const strange = path.join(folder, 'strange')
    mkdirSync(path.join(strange, '.assay'), { recursive: true })
    const server = JSON.stringify({ url, pid: process.pid, token: 'a-token-of-the-stranger' })
    writeFileSync(path.join(strange, '.assay', 'server.json'), server, { mode: 0o600 })
    const env = { ASSAY_HOME: '.assay', ASSAY_TOKEN: 'a-token-that-is-secret' }
    const { code } = await run(['jobs', 'list'], { cwd: strange, env })
    assert.equal(code, 69)
    assert.deepEqual(asked, [])
  } finally {
    receiver.close()
  }
})

test("a partial that is a link out of its template's folder is refused and not shown", async () => {
  const strange = path.join(folder, 'linked')
  mkdirSync(path.join(strange, 'partials'), { recursive: true })
  const secret = path.join(folder, 'secret.txt')
  writeFileSync(secret, 'what nobody else may read')
  symlinkSync(secret, path.join(strange, 'partials', 'secret.md'))
  writeFileSync(path.join(strange, 'report.md'), '# Report\n\n{% include "secret" %}\n')
  const refused = await run(['run', path.join(strange, 'report.md')])
  assert.equal(refused.code, EXIT.failed)
  assert.match(refused.err, /secret\.md is a link to a file outside of .*: put a copy of that file there/)
  assert.doesNotMatch(refused.out + refused.err, /nobody else may read/)
})

test('an import and a draft write nothing behind a link that lies in the folder', async () => {
  const strange = path.join(folder, 'with links')
  const outside = path.join(folder, 'outside')
  mkdirSync(path.join(strange, 'metrics'), { recursive: true })
  mkdirSync(outside)
  const model =
    'semantic_models: [ { name: o, defaults: { agg_time_dimension: day }, measures: [ { name: paid, agg: sum }, { name: odd, agg: median } ] } ]'
  const metric = (name: string) => `{ name: ${name}, type: simple, type_params: { measure: ${name} } }`
  writeFileSync(path.join(strange, 'a.yml'), `${model}\nmetrics: [ ${metric('paid')}, ${metric('odd')} ]\n`)
  const take = () => run(['metrics', 'import', 'a.yml', '--connection', 'c', '--force'], { cwd: strange })
  const refused = async (name: string, taking: () => Promise<Outcome>) => {
    const { code, err } = await taking()
    assert.equal(code, EXIT.refused, err)
    assert.match(err, /is a link, or lies behind one that leads elsewhere, so nothing is written there/)
    assert.ok(err.includes(name), err)
    assert.deepEqual(readdirSync(outside), [])
  }
  for (const name of ['paid.yaml', 'not-imported.txt']) {
    // The link leads to a file that is not there yet, such as a file that a shell reads at its start.
    symlinkSync(path.join(outside, 'profile'), path.join(strange, 'metrics', name))
    await refused(name, take)
    rmSync(path.join(strange, 'metrics', name))
  }
  rmSync(path.join(strange, 'metrics'), { recursive: true })
  symlinkSync(outside, path.join(strange, 'metrics'))
  await refused('paid.yaml', take)
  await refused('', () => run(['draft', 'sample/us-births.csv'], { cwd: strange }))
  // A folder that the user names may be a link.
  assert.equal(
    (await run(['metrics', 'import', 'a.yml', '--connection', 'c', '--dir', 'metrics'], { cwd: strange }))
      .code,
    EXIT.failed,
  )
  assert.deepEqual(readdirSync(outside), ['not-imported.txt', 'paid.yaml'])
})

test('doctor tries each part of a service that runs, and ends with 1 where one has failed', async () => {
  const findings = JSON.parse(await ok(['doctor', '--json'])) as { part: string; state: string }[]
  const states = new Map(findings.map(({ part, state }) => [part, state]))
  for (const part of ['settings', 'service', 'store', 'key', 'clock', 'templates'])
    assert.equal(states.get(part), 'ok', part)
  const { code, out } = await run([
    'doctor',
    '--smtp-url',
    'smtp://127.0.0.1:1',
    '--mail-from',
    'a@example.com',
  ])
  assert.equal(code, 1)
  assert.match(
    out,
    /^mail +FAILED +127\.0\.0\.1:1: The mail server refused the connection\.\n +Check ASSAY_SMTP_URL/m,
  )
  const elsewhere = await run(['doctor'], {
    env: { ASSAY_URL: 'http://127.0.0.1:1', ASSAY_TOKEN: 'some-token-of-the-service' },
  })
  assert.match(
    elsewhere.out,
    /^connections +FAILED .*127\.0\.0\.1:1 cannot be reached.*\n +Mend what this names/m,
  )
  const wrong = await run(['doctor'], { env: { ASSAY_KEEP_JOBS: '0d' } })
  assert.deepEqual(
    [wrong.code, /^settings +FAILED +ASSAY_KEEP_JOBS: "0d" is not usable/.test(wrong.out)],
    [78, true],
  )
})

test('a backup that was made while the service runs becomes a home of its own', async () => {
  const [copies, copy] = [path.join(folder, 'copies'), path.join(folder, 'copy')]
  await ok(['jobs', 'run', 'nile-flow', '--wait'])
  const listed = await ok(['jobs', 'list', '--json'])
  const file = (await ok(['backup', copies, '--with-key', '--verify', '--keep', '3'])).trim()
  assert.match(file, /\/copies\/assay-\d{8}T\d{9}Z\.tar\.gz$/)
  assert.equal(statSync(file).mode & 0o777, 0o600)
  assert.equal((await ok(['restore', copies, '--home', copy])).trim(), copy)
  assert.equal(await ok(['jobs', 'list', '--json'], { env: { ASSAY_HOME: copy } }), listed)
  assert.match(listed, /"job_status": ?"completed"/)
  const again = await run(['restore', copies, '--home', copy])
  assert.deepEqual([again.code, /is not empty/.test(again.err)], [4, true], 'nothing is written over')
  const within = await run(['backup', path.join(home, 'b')])
  assert.deepEqual(
    [within.code, /name a folder outside ASSAY_HOME/.test(within.err)],
    [78, true],
    'a loss of the home would take the backup, too',
  )
})

test('a webhook is switched off and on, gets a new secret, and shows what it did', async () => {
  // The second try is an hour away, so the counts below are those of the first.
  const create = ['webhooks', 'create', 'http://127.0.0.1:9/hook', '--retry', '3600']
  const [id, secret] = (await ok(create)).trim().split('\n')
  await ok(['webhooks', 'disable', id!])
  assert.match(await ok(['webhooks', 'list']), /disabled/)
  await ok(['webhooks', 'enable', id!])
  const rotated = (await ok(['webhooks', 'rotate-secret', id!, '--overlap', '60'])).trim()
  assert.match(rotated, /^whsec_/)
  assert.notEqual(rotated, secret)
  assert.equal((await run(['webhooks', 'test', id!])).code, 1)
  const stats = JSON.parse(await ok(['webhooks', 'stats', id!, '--json'])) as { failed: number }
  assert.equal(stats.failed, 1)
  assert.equal((await ok(['webhooks', 'cancel-pending', id!])).trim(), '1')
  await ok(['webhooks', 'delete', id!])
})

test('says which file cannot be uploaded, and that a folder is none', async () => {
  const missing = await run(['files', 'put', 'nowhere.csv'])
  assert.deepEqual(
    [missing.code, missing.err],
    [3, 'assay: nowhere.csv cannot be read: there is no such file.\n'],
  )
  const whole = await run(['files', 'put', folder])
  assert.deepEqual([whole.code, whole.err], [3, `assay: ${folder} cannot be read: it is a folder.\n`])
})

test('runs a personal template for a reader, and makes a schedule over readers', async () => {
  writeFileSync(path.join(folder, 'their-sales.csv'), 'region,amount\nnorth,10\nwest,7\nnorth,5\n')
  writeFileSync(
    path.join(folder, 'their-sales.md'),
    `---
sources: { sales: { file: uploads/their-sales.csv, rows: region = $reader.region } }
---
\`\`\`sql total
select sum(amount) as amount from sales
\`\`\`
# Sold for {{ total | first: "amount" }}
`,
  )
  await ok(['files', 'put', 'their-sales.csv'])
  await ok(['templates', 'put', 'their-sales.md'])
  await ok(['readers', 'set', 'ada', '--attribute', 'region=north'])
  await ok(['readers', 'set', 'bob', '--attribute', 'region=west'])

  assert.match(await ok(['jobs', 'run', 'their-sales', '--reader', 'ada', '--wait']), /^# Sold for 15/)
  const draft = (await ok(['jobs', 'create', 'their-sales', '--reader', 'bob'])).trim()
  assert.match(await ok(['jobs', 'run', draft, '--wait']), /^# Sold for 7/)
  const changed = await run(['jobs', 'run', draft, '--reader', 'ada'])
  assert.deepEqual([changed.code, /a new job/.test(changed.err)], [2, true])
  const unknown = await run(['jobs', 'run', 'their-sales', '--reader', 'eve'])
  assert.notEqual(unknown.code, 0)
  assert.match(unknown.err, /names no reader of this workspace: eve/)

  const add = ['schedules', 'add', 'their-sales', '--cron', '@yearly', '--readers', 'region=north,west']
  const { schedule_id, readers } = JSON.parse(await ok([...add, '--json'])) as {
    schedule_id: string
    readers: unknown
  }
  assert.deepEqual(readers, { where: { region: ['north', 'west'] } })
  const nobody = await run(['schedules', 'run', schedule_id])
  assert.match(nobody.err, /reader_id/)
  const id = (await ok(['schedules', 'run', schedule_id, '--reader', 'bob'])).trim()
  await ok(['jobs', 'wait', id])
  assert.match(await ok(['jobs', 'status', id]), /^reader_id +bob$/m)
  assert.match(await ok(['jobs', 'result', id]), /^# Sold for 7/)
  await ok(['schedules', 'remove', schedule_id])
})

test('makes no schedule without a time', async () => {
  const { code, out, err } = await run(['schedules', 'add', 'nile-flow'])
  assert.deepEqual([code, out], [2, ''])
  assert.match(err, /--cron says when it runs/)
})
