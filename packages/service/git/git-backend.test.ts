/** The reader of repositories against git's own server: `git http-backend`, behind a small gateway that asks for a token. */
import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { type TestContext, test } from 'node:test'
import { proposeChange } from './propose-change.ts'
import { pullCommit } from './pull-commit.ts'

const TOKEN = 'a-token-that-may-write'

function isThere(): boolean {
  try {
    execFileSync('git', ['--version'])
    return true
  } catch {
    return false
  }
}

function runner(folder: string): (...words: string[]) => string {
  const env = {
    PATH: process.env.PATH,
    HOME: folder,
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_AUTHOR_NAME: 'Ada',
    GIT_AUTHOR_EMAIL: 'ada@example.com',
    GIT_COMMITTER_NAME: 'Ada',
    GIT_COMMITTER_EMAIL: 'ada@example.com',
  }
  return (...words) => execFileSync('git', words, { cwd: folder, env, stdio: 'pipe' }).toString()
}

/** RFC 3875: the request in the environment and the input, the answer as headers and a body. */
async function runGateway(root: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const url = new URL(request.url!, 'http://localhost')
  const header = (name: string): string => String(request.headers[name] ?? '')
  const child = spawn('git', ['http-backend'], {
    env: {
      PATH: process.env.PATH,
      HOME: root,
      GIT_CONFIG_NOSYSTEM: '1',
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

/** A repository with two commits in a pack, as a server keeps it, and its address. */
async function open(t: TestContext) {
  const folder = await mkdtemp(path.join(tmpdir(), 'assay-git-backend-'))
  const git = runner(folder)
  const many = Array.from({ length: 400 }, (_, line) => `Line ${line} of the report.`).join('\n')
  git('init', '--quiet', '--bare', '--initial-branch', 'main', 'reports.git')
  git('clone', '--quiet', 'reports.git', 'work')
  await mkdir(path.join(folder, 'work/team/reports'), { recursive: true })
  for (const text of [many, `${many}\nThe end: Zürich.\n`]) {
    await writeFile(path.join(folder, 'work/team/reports/weekly.md'), text)
    await writeFile(path.join(folder, 'work/README.md'), 'Reports')
    git('-C', 'work', 'add', '.')
    git('-C', 'work', 'commit', '--quiet', '--message', `Write ${text.length} characters`)
  }
  git('-C', 'work', 'push', '--quiet', 'origin', 'HEAD:main')
  git('-C', 'reports.git', 'gc', '--quiet')
  const bearer = `Basic ${Buffer.from(`oauth2:${TOKEN}`).toString('base64')}`
  const http = createServer((request, response) => {
    if (request.headers.authorization === bearer)
      runGateway(folder, request, response).catch((error: unknown) =>
        response.writeHead(500).end(String(error)),
      )
    else response.writeHead(401, { 'www-authenticate': 'Basic realm="git"' }).end()
  })
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  t.after(async () => {
    http.closeAllConnections()
    http.close()
    await rm(folder, { recursive: true, force: true })
  })
  const address = `http://127.0.0.1:${(http.address() as AddressInfo).port}/reports.git`
  let taken = 0
  const input = async (token = TOKEN) => {
    const gitdir = path.join(folder, `objects-${(taken += 1)}`)
    await mkdir(gitdir)
    const user = 'oauth2'
    return { address, branch: null, folder: 'team/reports', user, token, targets: ['loopback'], gitdir }
  }
  return { git, input, text: `${many}\nThe end: Zürich.\n` }
}

test("a commit is read from git's own server, and a change is pushed to it", {
  skip: !isThere() && 'there is no git',
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
