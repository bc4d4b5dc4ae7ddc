/**
 * Tests how a program asks a person in her browser: registration, sign-in, consent, token and refresh, by the official
 * client, and the end of its access.
 */
import assert from 'node:assert/strict'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, test } from 'node:test'
import { auth } from '@modelcontextprotocol/client'
import { keeper, type Tokens } from '../../packages/service/api/oauth/client-fixture.ts'
import { openPage, type Watched } from './browser.ts'
import { stand } from './stand.ts'
import {
  apiOf,
  assertAccessible,
  assertSilent,
  button,
  link,
  refusal,
  runJob,
  settle,
  TOKEN,
} from './steps.ts'

/** The service is shown below a path, because nothing here depends on one. */
const stood = stand({}, { below: '/tools/assay' })
const PASSWORD = 'correct horse battery'

/** The program, which listens on the machine of the person. */
let program: Server
let back: string
const arrived: URL[] = []
let ada: Watched

before(async () => {
  program = createServer((request, response) => {
    arrived.push(new URL(request.url ?? '/', back))
    response.setHeader('content-type', 'text/html')
    response.end(
      '<!doctype html><html lang="en"><link rel="icon" href="data:,"><title>Lantern</title><h1>You may close this</h1>',
    )
  })
  await new Promise<void>((listens) => program.listen(0, '127.0.0.1', listens))
  back = `http://127.0.0.1:${(program.address() as AddressInfo).port}/callback`
})
after(async () => {
  await ada?.context.close()
  program?.close()
})

const serverUrl = () => `${stood.service.url}/mcp`
/** Matches the request to the program, which is on another host than the service. */
const TO_PROGRAM = /^asked http:\/\/127\.0\.0\.1:\d+\/callback\?/

async function ask(scope: string) {
  const { kept, provider } = keeper(back)
  assert.equal(await auth(provider, { serverUrl: serverUrl(), scope }), 'REDIRECT')
  return { kept, provider, address: String(kept.address), tokens: () => kept.tokens as Tokens }
}

async function listTools(token: string): Promise<number> {
  const answer = await fetch(serverUrl(), {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} }),
  })
  await answer.text()
  return answer.status
}

test('a program is let in by who signs in with a password on the way, and her revocation ends it', async () => {
  await apiOf(stood.service.url).users.create({ username: 'ada', password: PASSWORD, scopes: ['analyst'] })
  ada = await openPage(stood.browser, stood.service.url)
  const { page } = ada
  const asked = await ask('analyst')
  await page.goto(asked.address)
  await page.getByText('A program asks to use Assay in your name').waitFor()
  await page.getByLabel('User', { exact: false }).first().fill('ada')
  assert.equal(await page.getByLabel('Token').count(), 0, 'a token would be refused on the next page')
  await assertAccessible(page, 'the sign-in before the consent')
  await page.getByLabel('Password').fill(PASSWORD)
  await button(page, 'Sign in').click()
  await page.getByRole('heading', { name: 'Let a program in?' }).waitFor()
  await page.getByText('“Lantern” wants to use Assay in your name, ada of default.').waitFor()
  await page.getByText('Nobody vouches for this name').waitFor()
  assert.equal(await page.getByLabel('Scope').inputValue(), 'analyst')
  assert.deepEqual(await page.getByLabel('Scope').locator('option').allInnerTexts(), ['viewer', 'analyst'])
  await settle(page)
  await assertAccessible(page, 'the consent')
  await page.getByLabel('Scope').selectOption('viewer')
  await page.getByText('It may read insights and templates.').waitFor()
  await button(page, 'Let it in').click()
  await page.getByRole('heading', { name: 'You may close this' }).waitFor()
  const query = arrived.at(-1)!.searchParams
  assert.deepEqual([query.get('state'), query.get('iss')], ['12345678901234567890', stood.service.url])
  const code = { authorizationCode: query.get('code')!, iss: query.get('iss')! }
  assert.equal(await auth(asked.provider, { serverUrl: serverUrl(), ...code }), 'AUTHORIZED')
  const first = asked.tokens()
  assert.equal(first.scope, 'viewer')
  assert.equal(await listTools(first.access_token), 200)
  assert.equal(await auth(asked.provider, { serverUrl: serverUrl() }), 'AUTHORIZED')
  const second = asked.tokens()
  assert.notEqual(second.access_token, first.access_token)
  assert.equal(await listTools(first.access_token), 401, 'a refresh replaces the token')
  assert.equal(await listTools(second.access_token), 200)

  await page.goto('account')
  const row = page.getByRole('row', { name: /Lantern/ })
  await row.getByText('viewer').waitFor()
  await settle(page)
  await assertAccessible(page, 'the programs that she has let in')
  await button(page, 'Revoke Lantern').click()
  await button(page, 'Revoke').click()
  await page.getByText('None.').waitFor()
  assert.equal(await listTools(second.access_token), 401)
  const refused = await fetch(`${stood.service.url}/oauth/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'refresh_token',
      client_id: (asked.kept.client as { client_id: string }).client_id,
      refresh_token: second.refresh_token,
    }),
  })
  assert.deepEqual(
    [refused.status, ((await refused.json()) as { error: string }).error],
    [400, 'invalid_grant'],
  )
  assertSilent(ada, [TO_PROGRAM])
})

test('a refusal is told to the program, and what it may not ask for is told to the person', async () => {
  const { page } = ada
  const asked = await ask('viewer')
  await page.goto(asked.address)
  await button(page, 'Refuse').click()
  await page.getByRole('heading', { name: 'You may close this' }).waitFor()
  assert.equal(arrived.at(-1)!.searchParams.get('error'), 'access_denied')
  const elsewhere = new URL(asked.address)
  elsewhere.searchParams.set('redirect_uri', 'https://elsewhere.example/callback')
  await page.goto(elsewhere.href)
  await page.getByText('is none of those that the client has registered').first().waitFor()
  assert.equal(await button(page, 'Let it in').count(), 0)
  assertSilent(ada, [TO_PROGRAM, refusal(422)])
})

test('a browser that was signed in by a token leads on to a sign-in by a person', async () => {
  const { page } = stood.watched
  const asked = await ask('viewer')
  await page.goto(asked.address)
  await page.getByText('This browser was signed in by a token').waitFor()
  await settle(page)
  await assertAccessible(page, 'the consent in a browser that a token signed in')
  await button(page, 'Sign in as another').click()
  await page.getByLabel('User', { exact: false }).first().fill('ada')
  await page.getByLabel('Password').fill(PASSWORD)
  await button(page, 'Sign in').click()
  await page.getByText('“Lantern” wants to use Assay in your name, ada of default.').waitFor()
  stood.assertSilent([refusal(403)])
})

test('below a path the console opens, keeps its address over a reload, leads to its pages and to the reference', async () => {
  const { url } = stood.service
  const job = await runJob(url, 'nile-flow')
  const other = await openPage(stood.browser, url)
  const { page } = other
  await page.goto(`insights/${job.insight_id}?beside=`)
  await page.getByRole('heading', { name: 'Assay', level: 1 }).waitFor()
  await page.getByLabel('Token').fill(TOKEN)
  await button(page, 'Sign in').click()
  const title = page.getByRole('heading', { name: /Nile/, level: 1 })
  await title.waitFor()
  assert.equal(new URL(page.url()).pathname, `/tools/assay/insights/${job.insight_id}`)
  await page.reload()
  await title.waitFor()
  await link(page, 'Insights').first().click()
  await page.getByRole('heading', { name: 'Insights', level: 1 }).waitFor()
  await page.getByRole('link', { name: /Nile/ }).first().click()
  await title.waitFor()
  const docs = await page.getByRole('link', { name: 'API', exact: true }).getAttribute('href')
  assert.equal(docs, '/tools/assay/docs')
  await settle(page)
  const cookies = await other.context.cookies()
  assert.deepEqual([...new Set(cookies.map(({ path }) => path))], ['/tools/assay/'])

  await page.goto('docs')
  await page.getByRole('heading', { name: 'Templates', exact: false }).first().waitFor()
  await page.goto('')
  await page.getByRole('heading', { name: 'Insights', level: 1 }).waitFor()
  await page.goto('nowhere-in-the-console').then((answer) => assert.equal(answer?.status(), 404))
  assertSilent(other, [refusal(404)])
  await other.context.close()
})
