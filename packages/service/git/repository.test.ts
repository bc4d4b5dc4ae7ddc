import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { type TestContext, test } from 'node:test'
import { type Client, createClient } from '@assay/client'
import { type App, startApp } from '../app.ts'
import { resolveConfig } from '../config/config.ts'
import { createLog } from '../runtime/log.ts'
import { type GitServer, openGitServer } from './git-server-fixture.ts'

const TOKEN = 'glpat-a-token-to-look-for'
const SECRET = 'the-secret-of-the-webhook'
const ADMIN = 'assay-test-admin-token'

const template = (title: string): string => `---
title: ${title}
sources: { sales: { file: sample/airports.csv } }
---
\`\`\`sql sums
select count(*) as n from sales
\`\`\`

# ${title}

{{ sums | first: "n" }} airports. {% render "foot" %}
`
const TEST = `tests:
  - test: counts the rows
    sources: { sales: [{ iata: A }, { iata: B }] }
    expect: { values: { sums.0.n: 2 }, text: "2 airports" }
`
const METRIC = `metric: newborn
label: Births
source: { file: sample/us-births.csv }
time: { column: date, grain: day }
value: sum(births)
`

/** Collects what the service logs about the repository. */
function watched() {
  const seen: { message: string; fields: Record<string, unknown> }[] = []
  let wake = (): void => undefined
  const log = createLog({
    level: 'info',
    format: 'json',
    stream: {
      write(lines) {
        for (const line of lines.trimEnd().split('\n')) {
          const { msg: message, ...fields } = JSON.parse(line) as Record<string, unknown>
          seen.push({ message: String(message), fields })
        }
        wake()
      },
    },
  })
  return {
    log,
    seen,
    /** Resolves with the fields of the first line with this text that no earlier call has returned. */
    async until(text: string): Promise<Record<string, unknown>> {
      for (;;) {
        const at = seen.findIndex(({ message }) => message.includes(text))
        if (at >= 0) return seen.splice(0, at + 1).at(-1)!.fields
        const other = seen.find(({ message }) => /was refused|could not be looked at/.test(message))
        assert.equal(other, undefined, `instead of "${text}"`)
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      }
    },
  }
}

async function start(home: string, url: string) {
  const log = watched()
  const app = await startApp({
    config: resolveConfig(
      {},
      {
        home,
        port: '0',
        roles: 'api',
        token: ADMIN,
        templates: url,
        templatesBranch: 'main',
        templatesFolder: 'team/reports',
        templatesToken: TOKEN,
        templatesHookSecret: SECRET,
        templatesEvery: '1h',
      },
    ).config,
    log: log.log,
  })
  return { app, ...log, client: createClient({ url: app.url, token: ADMIN }) }
}

const stateOf = async (client: Client) => (await client.repository.get()).repository!

async function push(app: App, headers: Record<string, string>, body = '{"ref":"refs/heads/main"}') {
  const response = await fetch(`${app.url}/v1alpha/repository/push`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body,
  })
  await response.arrayBuffer()
  return response.status
}

const hex = (body: string): string => createHmac('sha256', SECRET).update(body).digest('hex')
const pushed = (app: App): Promise<number> =>
  push(app, { 'x-hub-signature-256': `sha256=${hex('{"ref":"refs/heads/main"}')}` })

const below = (files: Record<string, string | null>): Record<string, string | null> =>
  Object.fromEntries(Object.entries(files).map(([name, text]) => [`team/reports/${name}`, text]))

async function given(t: TestContext): Promise<{ home: string; server: GitServer }> {
  const home = await mkdtemp(path.join(tmpdir(), 'assay-repository-'))
  t.after(() => rm(home, { recursive: true, force: true }))
  const server = await openGitServer(t, { token: TOKEN })
  return { home, server }
}

test('templates of a repository are served commit by commit, and one with faults changes nothing', async (t) => {
  const { home, server } = await given(t)
  const first = await server.commit(
    below({
      'airports.md': template('Airports'),
      'partials/foot.md': 'The end.',
      'airports.test.yaml': TEST,
    }),
    'Add the report of airports',
  )
  const { app, until, client } = await start(home, server.url)
  t.after(() => app.stop())
  await until('is served')
  const one = await client.templates.get('airports')
  assert.deepEqual([one.origin, one.commit_id, one.title], ['git', first, 'Airports'])

  await t.test('a push is told by a signed request and by no other', async () => {
    assert.equal(await push(app, {}), 401)
    assert.equal(await push(app, { 'x-hub-signature-256': `sha256=${'0'.repeat(64)}` }), 401)
    assert.equal(await push(app, { 'x-gitlab-token': 'another' }), 401)
    assert.equal(await push(app, { 'x-gitea-signature': hex('a'), 'content-type': 'text/plain' }, 'a'), 202)
    assert.equal(await push(app, { 'x-gitlab-token': SECRET }), 202)
    const [id, at] = ['msg-1', String(Math.floor(Date.now() / 1000))]
    const signed = createHmac('sha256', SECRET).update(`${id}.${at}.b`).digest('base64')
    const headers = { 'webhook-id': id, 'webhook-timestamp': at, 'webhook-signature': `v1,${signed}` }
    assert.equal(await push(app, headers, 'b'), 202)
    assert.equal(await push(app, { ...headers, 'webhook-timestamp': '1700000000' }, 'b'), 401)
  })

  await t.test('a commit that fails its test is refused, with file, line and what was found', async () => {
    const bad = await server.commit(
      below({ 'airports.md': template('Airports').replace('count(*)', 'count(*) + 1') }),
      'Count one more',
    )
    await pushed(app)
    assert.equal((await until('was refused')).commit_id, bad)
    const state = await stateOf(client)
    assert.equal(state.taken?.commit_id, first)
    assert.equal(state.latest?.status, 'refused')
    const [fault] = state.latest.faults
    assert.deepEqual([fault!.file, fault!.line, fault!.code], ['airports.test.yaml', 2, 'test_failed'])
    assert.match(fault!.message, /"counts the rows" fails: .*3/)
    assert.equal((await client.templates.get('airports')).commit_id, first)
  })

  await t.test('a commit that does not pass check is refused', async () => {
    await server.commit(
      below({ 'airports.md': template('Airports').replace('first: "n"', 'first: "m"') }),
      'Print another column',
    )
    await pushed(app)
    await until('was refused')
    const [fault] = (await stateOf(client)).latest!.faults
    assert.deepEqual([fault!.file, fault!.line], ['airports.md', 11])
  })

  await t.test('a template keeps the commit that brought its version; metrics come with it', async () => {
    const taken = await server.commit(
      below({
        'airports.md': template('Airports'),
        'other.md': template('Others'),
        'metrics/newborn.yaml': METRIC,
      }),
      'Add another report and a metric',
    )
    await pushed(app)
    assert.equal((await until('is served')).commit_id, taken)
    assert.equal((await client.metrics.get('newborn')).origin, 'git')
    const commits = (await client.templates.list()).filter(({ origin }) => origin === 'git')
    assert.deepEqual(
      commits.map(({ template_id, commit_id }) => [template_id, commit_id]),
      [
        ['airports', first],
        ['other', taken],
      ],
    )
  })

  await t.test('a metric that is named wrongly is told with the nearest of the same commit', async () => {
    const reading = '~~~metric m\nmetric: growht\n~~~\n# Growth\n\n{{ m.size }}\n'
    const growth = METRIC.replace('newborn', 'growth')
    await server.commit(below({ 'growth.md': reading, 'metrics/growth.yaml': growth }), 'Read growth')
    await pushed(app)
    await until('was refused')
    const [fault] = (await stateOf(client)).latest!.faults
    assert.match(fault!.message, /There is no metric "growht"\. Did you mean "growth"/)
    await server.commit(below({ 'growth.md': null, 'metrics/growth.yaml': null }), 'Take it back')
    await pushed(app)
    await until('is served')
  })

  await t.test('a template has one owner: who had the id first', async () => {
    await assert.rejects(client.templates.put('airports', '# Mine'), {
      code: 'template_read_only',
      message: new RegExp(`${server.url}, branch main, file airports.md`),
    })
    await client.templates.put('mine', '# Mine')
    await server.commit(below({ 'mine.md': '# Theirs' }), 'Claim mine')
    await pushed(app)
    await until('is served')
    assert.deepEqual(
      [(await client.templates.get('mine')).source, (await client.templates.get('mine')).origin],
      ['# Mine', 'workspace'],
    )
    assert.deepEqual((await stateOf(client)).conflicts, [{ kind: 'template', id: 'mine', file: 'mine.md' }])
    await client.templates.put('mine', '# Mine again')
    await client.templates.delete('mine')
    assert.equal((await client.templates.get('mine')).source, '# Theirs')
  })

  await t.test(
    'schedules and connections of a commit are there with it, and are changed there alone',
    async () => {
      const connection = 'kind: postgresql\noptions: { host: db.example.com, database: shop, user: reader }\n'
      await server.commit(
        below({
          'theirs.md': '---\ntitle: Of {{ reader.name }}\n---\n# Of {{ reader.name }}\n',
          'schedules/everybody.yaml': 'template_id: airports\ncron: 0 6 * * 1\nreaders: all\n',
          'schedules/nobody.yaml': 'cron: 0 6 * * 1\ntemplate_id: theirs\n',
          'schedules/weekly.yaml': 'template_id: airport\ncron: 0 6 * * 1\n',
          'connections/warehouse.yaml': `${connection}secrets: { password: env:HOME }\n`,
        }),
        'Add a schedule and a connection with faults',
      )
      await pushed(app)
      await until('was refused')
      const { faults } = (await stateOf(client)).latest!
      assert.deepEqual(
        faults.map(({ file, line }) => [file, line]),
        [
          ['connections/warehouse.yaml', 3],
          ['schedules/everybody.yaml', 3],
          ['schedules/nobody.yaml', 2],
          ['schedules/weekly.yaml', 1],
        ],
      )
      assert.match(faults[1]!.message, /^readers has no use: the template gives every reader the same rows/)
      assert.match(faults[2]!.message, /^template_id names a personal template.*readers: all/)
      await server.commit(
        below({
          'schedules/weekly.yaml': 'template_id: airports\ncron: 0 6 * * 1\ntime_zone: Europe/Berlin\n',
          'schedules/everybody.yaml': null,
          'schedules/nobody.yaml': `cron: 0 6 * * 1\ntemplate_id: theirs\nreaders: { where: { region: north } }\n`,
          'connections/warehouse.yaml': connection,
        }),
        'Mend them',
      )
      await pushed(app)
      await until('is served')
      const made = (await client.schedules.list({})).items
      const [theirs, weekly] = made.toSorted((one, other) => (one.name < other.name ? -1 : 1))
      assert.deepEqual([made.length, theirs!.readers], [2, { where: { region: 'north' } }])
      assert.deepEqual([weekly!.name, weekly!.template_id, weekly!.user_id], ['weekly', 'airports', 'admin'])
      await assert.rejects(client.schedules.update(weekly!.schedule_id, { paused: true }), {
        code: 'conflict',
        message: /branch main, file schedules\/weekly\.yaml: push a change there/,
      })
      const secret = { secrets: { password: 'open sesame' } }
      assert.match((await client.connections.change('warehouse', secret)).secrets.password!, /^••••/)
      await assert.rejects(client.connections.change('warehouse', { description: 'Orders' }), {
        code: 'conflict',
      })
      await assert.rejects(client.connections.delete('warehouse'), { code: 'conflict' })
    },
  )

  await t.test(
    'a change by the API is pushed as a branch, and serves nothing until it is merged',
    async () => {
      const before = await client.templates.get('airports')
      const source = before.source.replace('# Airports', '# All airports')
      const { branch, based_on } = await client.repository.propose({ template_id: 'airports', source })
      assert.equal((await server.read(branch))['team/reports/airports.md'], source)
      assert.equal(based_on, (await stateOf(client)).taken?.commit_id)
      assert.deepEqual(await client.templates.get('airports'), before)
      await assert.rejects(client.repository.propose({ template_id: 'airports', source: '{% nothing %}' }), {
        code: 'invalid',
      })
      await server.commit(below({ 'airports.md': template('Other') }), 'Change it meanwhile')
      await assert.rejects(client.repository.propose({ template_id: 'airports', source }), {
        code: 'conflict',
        message: /airports\.md has changed in the branch since it was served/,
      })
    },
  )

  await t.test('a server that is down leaves what was taken, also after a restart', async () => {
    const before = await client.templates.get('airports')
    server.down = true
    await pushed(app)
    assert.match((await until('cannot be pulled')).detail as string, /status 503/)
    await app.stop()
    const again = await start(home, server.url)
    t.after(() => again.app.stop())
    assert.deepEqual(await again.client.templates.get('airports'), before)
    const state = await stateOf(again.client)
    assert.match(state.unreached!.detail, /status 503/)
    server.down = false
    const newest = await server.commit(below({ 'airports.md': template('All airports') }), 'Say all')
    await again.client.repository.pull()
    // A look that began before the commit may serve the earlier commit first.
    let served: unknown
    while (served !== newest) served = (await again.until('is served')).commit_id
    assert.equal((await again.client.templates.get('airports')).title, 'All airports')
    const audit = (await again.client.audit({ action: 'repository.take' })).items
    assert.ok(audit.length >= 4)
    await again.app.stop()
    const database = await readFile(path.join(home, 'assay.db'))
    assert.ok(!database.includes(TOKEN) && !database.includes(SECRET))
    assert.ok(!JSON.stringify(again.seen).includes(TOKEN))
  })
})
