import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { mkdir, mkdtemp, rm, symlink, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { type Engine, execute, openEngine, readTable, seal } from '../../duckdb/duckdb.ts'
import { type Attached, SourceError } from '../source.ts'
import { attachFile, type FileSource } from './file.ts'
import { listFiles, resolveFiles } from './files.ts'

const home = await mkdtemp(path.join(tmpdir(), 'assay-sources-'))
after(() => rm(home, { recursive: true, force: true }))
const data = path.join(home, 'data')
const outside = path.join(home, 'outside')
await mkdir(path.join(data, 'sub'), { recursive: true })
await mkdir(path.join(home, 'data-evil'))
await mkdir(outside)

const CSV = 'id,name,day\n007,a,2024-01-01\n008,b,2024-01-02\n'
await writeFile(path.join(data, 'a.csv'), CSV)
await writeFile(path.join(data, 'b.csv.gz'), gzipSync(CSV))
await writeFile(path.join(data, 'c.tsv'), CSV.replaceAll(',', '\t'))
await writeFile(
  path.join(data, 'd.json'),
  JSON.stringify([
    { id: '007', n: 1 },
    { id: '008', n: null },
  ]),
)
await writeFile(path.join(data, 'e.ndjson'), '{"id":"007","n":1}\n{"id":"008","n":2.5}\n')
await writeFile(path.join(data, "it's.csv"), CSV)
await writeFile(path.join(data, 'broken.parquet'), 'PAR1 this is none')
await writeFile(path.join(data, 'notes.txt'), 'x')
await writeFile(path.join(outside, 'secret.csv'), 'a\n1\n')
await writeFile(path.join(home, 'data-evil', 'secret.csv'), 'a\n1\n')
await symlink(path.join(outside, 'secret.csv'), path.join(data, 'link.csv'))
await symlink(outside, path.join(data, 'folder'))
await symlink(path.join(data, 'a.csv'), path.join(data, 'sub', 'inner.csv'))
await symlink(path.join(home, 'nowhere.csv'), path.join(data, 'dangling.csv'))
const writer = await openEngine()
for (const part of [1, 2]) {
  const file = path.join(data, 'sub', `part-${part}.parquet`)
  await execute(
    writer,
    `copy (select i + ${part * 10} as i, 'x' as t from range(5) r(i)) to '${file}' (format parquet)`,
  )
}
writer.close()
const roots = {
  data,
  sample: { 'good.csv': path.join(data, 'a.csv'), 'gone.csv': path.join(home, 'gone.csv') },
}

async function refused(file: string, given = roots as FileSource['roots']): Promise<string> {
  const error = await resolveFiles(file, given).then(
    (files) => assert.fail(`resolved ${JSON.stringify(files.map(({ path: shown }) => shown))}`),
    (reason: unknown) => reason,
  )
  assert.ok(error instanceof SourceError)
  if (!file.startsWith(home))
    assert.ok(!error.message.includes(home), `tells a path of the machine: ${error.message}`)
  return error.message
}

/** Attaches a file as `s` to an engine of its own and seals it. */
async function attach(
  given: Partial<FileSource>,
): Promise<{ engine: Engine; attached: Attached; close: () => void }> {
  const engine = await openEngine()
  try {
    const attachment = {
      name: 's',
      line: 1,
      file: 'a.csv',
      columns: {},
      dialect: {},
      roots,
      readers: 1,
      peek: false,
      temp_folder: path.join(home, 'temp'),
      spill_bytes: 1_000_000_000,
      ...given,
    }
    const attached = await attachFile(
      engine,
      attachment,
      await resolveFiles(attachment.file, attachment.roots),
    )
    await seal(engine, attached.paths)
    return { engine, attached, close: () => engine.close() }
  } catch (error) {
    engine.close()
    throw error
  }
}

async function rowsOf(given: Partial<FileSource>, sql = 'select * from s'): Promise<unknown[][]> {
  const { engine, close } = await attach(given)
  try {
    return (await readTable(engine, sql, {}, 100)).rows
  } finally {
    close()
  }
}

test('nothing outside the data folder is ever resolved', async () => {
  for (const file of [
    '../outside/secret.csv',
    '../data-evil/secret.csv',
    'sub/../../outside/secret.csv',
    '/etc/passwd',
    path.join(outside, 'secret.csv'),
    'link.csv',
    'folder/secret.csv',
    'folder/*.csv',
    '{..,x}/outside/secret.csv',
    '[.][.]/outside/secret.csv',
    '*/../../outside/secret.csv',
    '..\\outside\\secret.csv',
    'a.csv\0.parquet',
    'dangling.csv',
    'sub',
    '.',
    '',
    'nothing.csv',
    'sample/gone.csv',
    'sample/other.csv',
    'sample/../a.csv',
    'https://example.com/a.csv',
    's3://bucket/a.csv',
  ]) {
    await refused(file)
  }
  await refused('a.csv', { data: null, sample: {} })
  await refused('a.csv', { data: path.join(home, 'missing'), sample: {} })
})

test('a pattern takes the files inside in the order of their names and skips links that lead out', async () => {
  const names = async (file: string): Promise<string[]> =>
    (await resolveFiles(file, roots)).map((one) => one.path)
  assert.deepEqual(await names('*.csv'), ['a.csv', "it's.csv"])
  assert.deepEqual(await names('**/*.csv'), ['a.csv', "it's.csv", 'sub/inner.csv'])
  assert.deepEqual(await names('sub/part-?.parquet'), ['sub/part-1.parquet', 'sub/part-2.parquet'])
  assert.deepEqual(
    await names('sample/*.csv').catch((error: unknown) => (error as Error).message),
    'The sample "sample/*.csv" is not installed: run "npm ci" again.',
  )
  assert.deepEqual(await names('sample/good.csv'), ['sample/good.csv'])
})

test('files for forms are those that could be read', async () => {
  assert.deepEqual(await listFiles(roots), [
    'sample/gone.csv',
    'sample/good.csv',
    'a.csv',
    'b.csv.gz',
    'broken.parquet',
    'c.tsv',
    'd.json',
    'e.ndjson',
    "it's.csv",
    'sub/inner.csv',
    'sub/part-1.parquet',
    'sub/part-2.parquet',
  ])
})

test('reads each format, with the types that are declared', async () => {
  const days = [
    ['007', 'a', '2024-01-01'],
    ['008', 'b', '2024-01-02'],
  ]
  for (const file of ['a.csv', 'b.csv.gz', 'c.tsv', "it's.csv", 'sample/good.csv', 'sub/inner.csv']) {
    assert.deepEqual(await rowsOf({ file }), days, file)
  }
  assert.deepEqual((await rowsOf({ columns: { id: 'integer', day: 'varchar' } }))[0], [7, 'a', '2024-01-01'])
  assert.deepEqual(await rowsOf({ file: 'd.json' }), [
    ['007', 1],
    ['008', null],
  ])
  assert.deepEqual(await rowsOf({ file: 'e.ndjson', columns: { n: 'decimal(5,2)' } }), [
    ['007', '1.00'],
    ['008', '2.50'],
  ])
  assert.deepEqual(await rowsOf({ file: 'sub/*.parquet' }, 'select sum(i), count(*) from s'), [[170, 10]])
})

test('the first row of a table in text names its columns, and no row below it is passed over', async () => {
  const read = async (text: string, name = 'odd.csv') => {
    await writeFile(path.join(data, name), name.endsWith('.gz') ? gzipSync(text) : text)
    try {
      const { engine, attached, close } = await attach({ file: name })
      const { rows } = await readTable(engine, 'select * from s', {}, 99)
      close()
      return [attached.columns.map((column) => column.name), ...rows]
    } catch (error) {
      assert.ok(error instanceof SourceError, String(error))
      assert.ok(!error.message.includes(home), error.message)
      return error.message
    } finally {
      await rm(path.join(data, name))
    }
  }
  assert.deepEqual(await read('region,2023,2024\nnorth,1,2\n'), [
    ['region', '2023', '2024'],
    ['north', 1, 2],
  ])
  assert.deepEqual(await read('\uFEFF"a",b\n1,2\n'), [
    ['a', 'b'],
    [1, 2],
  ])
  assert.deepEqual(await read('\uFEFF"a"\tb\n1\t2\n', 'odd.tsv'), [
    ['a', 'b'],
    [1, 2],
  ])
  assert.deepEqual(await read('a\tb\n5" pipe\t2\n', 'odd.tsv'), [
    ['a', 'b'],
    ['5" pipe', 2],
  ])
  for (const name of ['odd.csv', 'odd.csv.gz'])
    for (const lines of ['\n\n', '\n \n', '\uFEFF\n'])
      assert.deepEqual(
        await read(`${lines}a,b\n1,2\n`, name),
        [
          ['a', 'b'],
          [1, 2],
        ],
        JSON.stringify(lines),
      )
  assert.deepEqual(await read('a,b\n#1,2\n#3,4\n'), [
    ['a', 'b'],
    ['#1', 2],
    ['#3', 4],
  ])
  assert.deepEqual(await read('\r\n \r\na,b\r\n1,2\r\n'), [
    ['a', 'b'],
    [1, 2],
  ])
  for (const [text, line, row] of [
    ['a,b\n1,2,3\n', '2, column 5', '1,2,3'],
    ['a,b\n1,2\n3,4\n5,6,7\n8,9,10\n11,12,13\n', '4, column 5', '5,6,7'],
    ['a,b\n1,2\n3,4\n\nsource: x, y, z\n', '5, column 14', 'source: x, y, z'],
    ['a,b\n#1,2,3\n4,5\n', '2, column 6', '#1,2,3'],
  ] as const)
    assert.equal(
      await read(text),
      `"odd.csv" cannot be read: line ${line} has more than 2 values: "${row}". Correct it, or write "bad_rows: skip" in the source to leave such rows out and count them.`,
    )
  assert.equal(
    await read(''),
    '"odd.csv" cannot be read: it is empty, and its first row must name the columns.',
  )
  assert.match((await read('a,b\n"1,2\n')) as string, /a quote is not closed: "/)
  assert.match((await read('a,b\r\n"1,2\n3,4\r\n')) as string, /a quote is not closed: "/)
  assert.equal(
    await read('2023,2024\n1,2\n'),
    '"odd.csv" cannot be read: its first row must name the columns, and holds numbers only. If it holds values write "header: false" in the source, if these are names "header: true".',
  )
  assert.equal(
    await read(`a,b\n"${'x'.repeat(2_500_000)}",1\n`),
    '"odd.csv" cannot be read: line 2: Maximum line size of 2000000 bytes exceeded. Actual Size:2500004 bytes.',
  )
})

test('text that one block reads is scanned where it is large, and loaded where it is not', async () => {
  const row = `${'x'.repeat(1_000)},1\n`
  await writeFile(path.join(data, 'large.csv'), `t,n\n${row.repeat(66_000)}`)
  try {
    const scanned = await attach({ file: 'large.csv', readers: 1 })
    assert.equal(scanned.attached.paths.length, 1)
    assert.equal(scanned.attached.lineage.rows, null)
    assert.deepEqual((await readTable(scanned.engine, 'select sum(n) from s', {}, 1)).rows, [[66_000]])
    scanned.close()
    const loaded = await attach({ file: 'large.csv', readers: 2 })
    assert.deepEqual(loaded.attached.paths, [])
    assert.equal(loaded.attached.lineage.rows, 66_000)
    loaded.close()
  } finally {
    await rm(path.join(data, 'large.csv'))
  }
})

test('lineage says what was read: rows, bytes and a fingerprint', async () => {
  const { attached, close } = await attach({ file: 'a.csv' })
  close()
  assert.deepEqual(attached.lineage.rows, 2)
  assert.equal(attached.lineage.format, 'csv')
  const [file] = attached.lineage.files
  assert.equal(file?.bytes, CSV.length)
  assert.equal(file?.fingerprint, `sha256:${createHash('sha256').update(CSV).digest('hex')}`)
  const parts = await attach({ file: 'sub/*.parquet' })
  parts.close()
  assert.equal(parts.attached.lineage.rows, 10)
  const prints = parts.attached.lineage.files.map(({ fingerprint }) => fingerprint)
  assert.equal(new Set(prints).size, 2)
  for (const print of prints) assert.match(print, /^footer-sha256:[0-9a-f]{64}$/)
})

test('what cannot be read says why, without a path of the machine', async () => {
  for (const [given, reason] of [
    [{ file: 'broken.parquet' }, /"broken.parquet" cannot be read: .*magic bytes/],
    [{ file: 'notes.txt' }, /format of "notes.txt" is not known/],
    [{ file: '*.{csv,tsv}' }, /several formats/],
    [{ file: 'a.csv', columns: { nope: 'varchar' } }, /nope/],
    [{ file: 'a.csv', columns: { id: 'int); drop table s; --' } }, /type .* is not known/],
    [{ file: 'd.json', columns: { id: 'int from read_text(1)' } }, /type .* is not known|cannot be read/],
    [{ file: 'a.csv', columns: { name: 'integer' } }, /"a.csv" cannot be read: .*(convert|INTEGER)/i],
  ] as const) {
    const error = await attach(given).then(
      () => assert.fail(JSON.stringify(given)),
      (caught: unknown) => caught,
    )
    assert.ok(error instanceof SourceError, String(error))
    assert.match(error.message, reason)
    assert.ok(!error.message.includes(home), error.message)
  }
})

test('once sealed, only the very files of the sources can be opened', async () => {
  const { engine, attached, close } = await attach({ file: 'sub/part-1.parquet' })
  const own = attached.paths[0]!
  assert.equal((await readTable(engine, `select * from read_parquet('${own}')`, {}, 9)).total, 5)
  for (const sql of [
    `select * from read_parquet('${path.join(data, 'sub', 'part-2.parquet')}')`,
    `select * from read_csv('${path.join(data, 'a.csv')}')`,
    `select * from read_text('/etc/passwd')`,
    `select * from read_parquet('${path.join(data, 'sub', '..', 'sub', 'part-2.parquet')}')`,
    `select * from glob('${data}/*') where file <> '${own}'`,
    'set threads = 2',
    'set enable_external_access = true',
    "set allowed_paths = ['/']",
    'reset lock_configuration',
    'load httpfs',
    `attach '${path.join(data, 'x.db')}'`,
    `copy (select 1) to '${path.join(data, 'x.csv')}'`,
  ]) {
    const result = await readTable(engine, sql, {}, 9).catch((error: unknown) => error as Error)
    assert.ok(result instanceof Error || result.total === 0, `${sql}: ${JSON.stringify(result)}`)
  }
  close()
})

test('a file that changes while it is read is noticed', async () => {
  const { attached, close } = await attach({ file: 'sub/part-1.parquet' })
  await attached.verify()
  await utimes(path.join(data, 'sub', 'part-1.parquet'), new Date(1), new Date(1))
  await assert.rejects(attached.verify(), /changed while it was read/)
  close()
})
