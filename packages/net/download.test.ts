import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { FORBIDDEN_URLS } from '../../test/hostile/ssrf-vectors.ts'
import { selfSigned, startTrap } from '../../test/servers/receiver.ts'
import { DownloadError, download, downloadRange, type Range, type Wanted } from './download.ts'
import { createFileCache, type FileCache } from './file-cache.ts'
import { createGuard, type Guard } from './guard.ts'
import { parseTargets } from './target.ts'

const folder = mkdtempSync(path.join(tmpdir(), 'assay-download-'))
const open: { close(): unknown }[] = []
after(async () => {
  for (const each of open.toReversed()) await each.close()
  rmSync(folder, { recursive: true, force: true })
})

function keep<T extends { close(): unknown }>(each: T): T {
  open.push(each)
  return each
}

type Answer = (request: IncomingMessage, response: ServerResponse) => void

/** Starts a server that counts its requests and the bytes that it sends. */
async function serve(answer: Answer): Promise<{ url: string; requests: IncomingMessage[] }> {
  const requests: IncomingMessage[] = []
  const server = createServer((request, response) => {
    requests.push(request)
    answer(request, response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  keep({ close: () => server.closeAllConnections() ?? server.close() })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, requests }
}

const inside = keep(createGuard({ targets: parseTargets(['loopback']) }))

function fetchFile(
  url: string,
  given: Partial<Wanted> & { guard?: Guard; cache?: FileCache | null; signal?: AbortSignal } = {},
) {
  const { guard = inside, cache = null, signal = new AbortController().signal, ...over } = given
  const wanted: Wanted = {
    url,
    headers: () => Promise.resolve({}),
    identity: url,
    redirects: 3,
    otherOrigins: true,
    most: 1_000_000,
    ...over,
  }
  return download(wanted, path.join(folder, `${randomUUID()}.csv`), { guard, cache, signal })
}

const refuses = (work: Promise<unknown>, message: RegExp) =>
  assert.rejects(work, (error) => error instanceof DownloadError && message.test(error.message))

const filesIn = (where: string): string[] => (existsSync(where) ? readdirSync(where) : [])

test('a file that has not changed is sent once, however often it is asked for', async () => {
  let content = 'day,n\n1,2\n'
  let sent = 0
  const { url, requests } = await serve((request, response) => {
    const etag = `"${content.length}"`
    response.setHeader('etag', etag)
    if (request.headers['if-none-match'] === etag) return response.writeHead(304).end()
    sent += 1
    return response.end(content)
  })
  const where = path.join(folder, 'cache-etag')
  const cache = createFileCache(where, 1e6)
  const first = await fetchFile(url, { cache })
  for (let again = 0; again < 3; again += 1) {
    const next = await fetchFile(url, { cache })
    assert.deepEqual([next.kept, next.sha256, next.etag], [true, first.sha256, '"10"'])
    assert.equal(readFileSync(next.file, 'utf8'), content)
  }
  assert.deepEqual([requests.length, sent], [4, 1])
  content += '2,3\n'
  const changed = await fetchFile(url, { cache })
  assert.deepEqual([changed.kept, sent], [false, 2])
  assert.equal(readFileSync(changed.file, 'utf8'), content)
  assert.equal(readFileSync(first.file, 'utf8'), 'day,n\n1,2\n', 'who has the one before keeps it')
  assert.equal(filesIn(where).length, 2, 'one copy and its note')
})

test('Last-Modified serves where there is no ETag, and what has neither is fetched each time', async () => {
  const dated = await serve((request, response) => {
    response.setHeader('last-modified', 'Wed, 21 Oct 2015 07:28:00 GMT')
    return request.headers['if-modified-since'] ? response.writeHead(304).end() : response.end('a\n')
  })
  const cache = createFileCache(path.join(folder, 'cache-dated'), 1e6)
  assert.equal((await fetchFile(dated.url, { cache })).modified_at, '2015-10-21T07:28:00.000Z')
  assert.equal((await fetchFile(dated.url, { cache })).kept, true)
  const bare = await serve((_, response) => response.end('a\n'))
  await fetchFile(bare.url, { cache })
  assert.equal((await fetchFile(bare.url, { cache })).kept, false)
})

test('copies are not shared between those who ask with other secrets', async () => {
  const { url } = await serve((request, response) => {
    response.setHeader('etag', '"1"')
    return request.headers['if-none-match'] ? response.writeHead(304).end() : response.end('a\n')
  })
  const cache = createFileCache(path.join(folder, 'cache-secrets'), 1e6)
  await fetchFile(url, { cache, identity: 'ada' })
  assert.equal((await fetchFile(url, { cache, identity: 'bob' })).kept, false)
})

test('the copies that were not used for longest go where there is too much, and none that is in use is missed', async () => {
  const where = path.join(folder, 'cache-full')
  const cache = createFileCache(where, 2500)
  const { url } = await serve((request, response) => {
    response.setHeader('etag', '"1"')
    return request.headers['if-none-match'] ? response.writeHead(304).end() : response.end('x'.repeat(1000))
  })
  const first = await fetchFile(`${url}1`, { cache })
  await fetchFile(`${url}2`, { cache })
  for (const [index, name] of filesIn(where)
    .filter((one) => one.endsWith('.json'))
    .entries())
    utimesSync(path.join(where, name), index, index)
  assert.equal((await fetchFile(`${url}1`, { cache })).kept, true)
  await fetchFile(`${url}3`, { cache })
  assert.equal(filesIn(where).length, 4, 'two copies with their notes')
  assert.equal((await fetchFile(`${url}1`, { cache })).kept, true)
  assert.equal((await fetchFile(`${url}2`, { cache })).kept, false)
  assert.equal(readFileSync(first.file, 'utf8').length, 1000)
})

test('many that fetch at once with one cache each get a whole file', async () => {
  const { url } = await serve((request, response) => {
    response.setHeader('etag', '"1"')
    return request.headers['if-none-match'] ? response.writeHead(304).end() : response.end('x'.repeat(50_000))
  })
  const where = path.join(folder, 'cache-many')
  const all = Array.from({ length: 40 }, (_, index) => {
    const cache = createFileCache(where, 120_000)
    return fetchFile(`${url}${index % 4}`, { cache })
  })
  for (const { file } of await Promise.all(all)) assert.equal(readFileSync(file, 'utf8').length, 50_000)
})

test('what is larger than allowed is refused, whether its length is said or not, and leaves nothing', async () => {
  const said = await serve((_, response) => response.end('x'.repeat(2000)))
  const unsaid = await serve((_, response) => {
    response.write('x'.repeat(900))
    response.write('x'.repeat(900))
    response.end()
  })
  const before = filesIn(folder).length
  for (const { url } of [said, unsaid])
    await refuses(fetchFile(url, { most: 1000 }), /larger than 1000 bytes/)
  assert.equal(filesIn(folder).length, before)
})

test('what is packed for the way is refused: none was asked for, and it could unfold', async () => {
  const { url, requests } = await serve((_, response) =>
    response.setHeader('content-encoding', 'gzip').end(gzipSync('x'.repeat(1_000_000))),
  )
  await refuses(fetchFile(url), /Content-Encoding/)
  assert.equal(requests[0]!.headers['accept-encoding'], 'identity')
})

test('a line that breaks in the middle leaves nothing, and no copy', async () => {
  const { url } = await serve((_, response) => {
    response.writeHead(200, { etag: '"1"', 'content-length': '1000' })
    response.write('x'.repeat(500), () => response.destroy())
  })
  const where = path.join(folder, 'cache-broken')
  const before = filesIn(folder).length
  await refuses(fetchFile(url, { cache: createFileCache(where, 1e6) }), /could not be fetched/)
  assert.equal(filesIn(folder).length, before)
  assert.deepEqual(filesIn(where), [])
})

test('a deadline ends what comes too slowly', async () => {
  const stop = new AbortController()
  const { url } = await serve((_, response) => {
    response.writeHead(200, { 'content-length': '1000' })
    response.write('x', () => stop.abort())
  })
  await assert.rejects(fetchFile(url, { signal: stop.signal }), { name: 'AbortError' })
})

test('refusals of the server are told by their number', async () => {
  for (const [status, message] of [
    [404, /not found \(404\)/],
    [403, /rights \(403\)/],
    [500, /answered with the status 500/],
    [206, /answered with the status 206/],
  ] as const) {
    const { url } = await serve((_, response) => response.writeHead(status).end('x'))
    await refuses(fetchFile(url), message)
  }
  await refuses(fetchFile('http://127.0.0.1:9/'), /could not be fetched/)
})

test('redirects are followed as often as is allowed, and secrets stay with the first host', async () => {
  const end = await serve((_, response) => response.end('a\n'))
  const start = await serve((request, response) => {
    const left = Number(request.url!.slice(1))
    return response.writeHead(302, { location: left > 0 ? `/${left - 1}` : end.url }).end()
  })
  const headers = () => Promise.resolve({ authorization: 'secret' })
  await fetchFile(`${start.url}2`, { headers })
  assert.equal(start.requests.length, 3)
  assert.ok(start.requests.every((request) => request.headers.authorization === 'secret'))
  assert.equal(end.requests[0]!.headers.authorization, undefined)
  await refuses(fetchFile(`${start.url}3`), /more than 3 times/)
  await refuses(fetchFile(`${start.url}0`, { otherOrigins: false }), /not allowed/)
  for (const location of ['file:///etc/passwd', 'ftp://127.0.0.1/', 'http://a:b@127.0.0.1/']) {
    const bad = await serve((_, response) => response.writeHead(302, { location }).end())
    await refuses(fetchFile(bad.url), /not allowed/)
  }
})

test('no redirect leads from https to http', async () => {
  const tls = selfSigned()
  const plain = await serve((_, response) => response.end('a\n'))
  const server = createSecureServer({ key: tls.key, cert: tls.cert }, (_, response) =>
    response.writeHead(302, { location: plain.url }).end(),
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  keep({ close: () => server.closeAllConnections() ?? server.close() })
  const guard = keep(createGuard({ targets: parseTargets(['loopback']), ca: [tls.cert] }))
  const address = `https://127.0.0.1:${(server.address() as AddressInfo).port}/`
  await refuses(fetchFile(address, { guard }), /not allowed/)
  assert.equal(plain.requests.length, 0)
})

test('no address of the inside is reached where only public ones are allowed, by itself or by a redirect', async () => {
  const trap = keep(await startTrap())
  const outside = '127.0.0.2'
  const guard = keep(createGuard({ targets: parseTargets(['public', outside]) }))
  const urls = FORBIDDEN_URLS.filter((url) => URL.canParse(url)).map((text) => {
    const url = new URL(text)
    if (/^(127\.|0\.|\[)/.test(url.hostname)) url.port = String(trap.port)
    return url
  })
  const leading = createServer((request, response) =>
    response.writeHead(302, { location: urls[Number(request.url!.slice(1))]!.href }).end(),
  )
  await new Promise<void>((resolve) => leading.listen(0, outside, resolve))
  keep({ close: () => leading.closeAllConnections() ?? leading.close() })
  const { port } = leading.address() as AddressInfo
  for (const [index, url] of urls.entries()) {
    await assert.rejects(fetchFile(url.href, { guard }), DownloadError, url.href)
    await assert.rejects(fetchFile(`http://${outside}:${port}/${index}`, { guard }), DownloadError, url.href)
  }
  assert.equal(trap.connections(), 0)
})

test('a server that announces another part than was asked for is left before its bytes fill the memory', async () => {
  let [announced, sent] = ['', 0]
  const { url } = await serve((_request, response) => {
    response.writeHead(206, { 'content-range': announced })
    const piece = Buffer.alloc(65_536)
    const more = (): void => {
      while (!response.destroyed) {
        sent += piece.length
        if (!response.write(piece)) break
      }
    }
    response.on('drain', more)
    more()
  })
  const signal = new AbortController().signal
  const wanted = { url, headers: () => Promise.resolve({}), identity: url, redirects: 0, otherOrigins: false }
  const part = (range: Range) =>
    downloadRange({ ...wanted, most: 1e9 }, range, { guard: inside, etag: null, signal })
  for (const [range, said] of [
    [{ from: 0, until: 100 }, 'bytes 0-9007199254740990/9007199254740991'],
    [{ from: 50, until: 100 }, 'bytes 0-99/100'],
    [{ from: 50, until: 100 }, 'bytes 50-98/1000'],
    [{ last: 100 }, 'bytes 0-999999/1000000'],
    [{ last: 100 }, 'bytes 900-998/1000'],
    [{ last: 100 }, `bytes 0-99/${'9'.repeat(400)}`],
  ] as const) {
    announced = said
    await refuses(part(range), /was sent with another part than was asked for/)
  }
  // Endless bytes after the part that was asked for.
  announced = 'bytes 50-99/100'
  await refuses(part({ from: 50, until: 100 }), /more bytes than were asked for/)
  assert.ok(sent < 100_000_000, `${sent} bytes`)
})
