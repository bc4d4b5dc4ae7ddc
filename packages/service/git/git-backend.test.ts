/** Reads repositories from git's own server: `git http-backend` behind a small gateway that asks for a token. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { bareRepository, gitEnvironment, isGitThere } from './git-program-fixture.ts'
import { proposeChange } from './propose-change.ts'
import { pullCommit } from './pull-commit.ts'

const TOKEN = 'a-token-that-may-write'

/**
 * Runs the gateway of RFC 3875. The environment and the input hold the request; the output holds headers and a body.
 */
async function runGateway(root: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const url = new URL(request.url!, 'http://localhost')
  const header = (name: string): string => String(request.headers[name] ?? '')
  const child = spawn('git', ['http-backend'], {
    env: {
      ...gitEnvironment(root),
      GIT_PROJECT_ROOT: root,
      GIT_HTTP_EXPORT_ALL: '1',
      PATH_INFO: url.pathname,
      QUERY_STRING: url.search.slice(1),
      REQUEST_METHOD: request.method,
      CONTENT_TYPE: header('content-type'),
      HTTP_CONTENT_ENCODING: header('content-encoding'),
      GIT_PROTOCOL: header('git-protocol'),
      REMOTE_USER: 'ada',
      REMOTE_ADDR: '127.0.0.1',
    },
  })
  request.pipe(child.stdin)
  const parts: Buffer[] = []
  for await (const part of child.stdout) parts.push(part as Buffer)
  const whole = Buffer.concat(parts)
  const end = whole.indexOf('\r\n\r\n')
  const headers = whole.subarray(0, end).toString().split('\r\n')
  const pairs = headers.map((line) => line.split(': ') as [string, string])
  const status = pairs.find(([name]) => name === 'Status')?.[1] ?? '200'
  response.writeHead(
    Number.parseInt(status, 10),
    Object.fromEntries(pairs.filter(([name]) => name !== 'Status')),
  )
  response.end(whole.subarray(end + 4))
}

/** Opens a repository at an address that asks for the token. */
async function open(t: TestContext) {
  const { folder, git, text, objects } = await bareRepository(t)
  const bearer = `Basic ${Buffer.from(`oauth2:${TOKEN}`).toString('base64')}`
  const http = createServer((request, response) => {
    if (request.headers.authorization === bearer)
      runGateway(folder, request, response).catch((error: unknown) =>
        response.writeHead(500).end(String(error)),
      )
    else response.writeHead(401, { 'www-authenticate': 'Basic realm="git"' }).end()
  })
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    http.closeAllConnections()
    http.close()
  })
  const address = `http://127.0.0.1:${(http.address() as AddressInfo).port}/reports.git`
  const input = async (token = TOKEN) => ({
    address,
    branch: null,
    folder: 'team/reports',
    user: 'oauth2',
    token,
    key: null,
    hostKeys: [],
    targets: ['loopback'],
    gitdir: await objects(),
  })
  return { git, input, text }
}

test("a commit is read from git's own server, and a change is pushed to it", {
  skip: !isGitThere() && 'there is no git',
}, async (t) => {
  const { git, input, text } = await open(t)
  const tip = git('-C', 'reports.git', 'rev-parse', 'main').trim()
  const pulled = await pullCommit({ ...(await input()), known: null })
  assert.ok('commit' in pulled)
  assert.deepEqual([pulled.commit.commit_id, pulled.commit.author], [tip, 'Ada'])
  assert.deepEqual(
    [...pulled.files!].map(([name, bytes]) => [name, Buffer.from(bytes).toString()]),
    [['weekly.md', text]],
  )
  assert.deepEqual(await pullCommit({ ...(await input()), branch: 'main', known: tip }), { unchanged: true })
  await assert.rejects(pullCommit({ ...(await input()), branch: 'nowhere', known: null }), /to one of main/)
  await assert.rejects(
    pullCommit({ ...(await input('another')), known: null }),
    (error: { data?: { statusCode?: number } }) => error.data?.statusCode === 401,
  )
  const proposal = 'assay/weekly-1'
  const change = {
    file: 'team/reports/weekly.md',
    before: text,
    after: `${text}More.\n`,
    message: 'Say more',
  }
  const made = await proposeChange({ ...(await input()), ...change, proposal, author: 'Eve' })
  const said = git('-C', 'reports.git', 'log', '--format=%H %P %an %s', '-1', proposal).trim()
  assert.equal(said, `${made.commit_id} ${tip} Eve Say more`)
  assert.equal(git('-C', 'reports.git', 'show', `${proposal}:team/reports/weekly.md`), `${text}More.\n`)
  assert.equal(git('-C', 'reports.git', 'show', `${proposal}:README.md`), 'Reports')
  git('-C', 'reports.git', 'fsck', '--strict')
})
