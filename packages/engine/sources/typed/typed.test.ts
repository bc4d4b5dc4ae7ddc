/**
 * Tests Avro and Arrow IPC, written by the libraries of others, and a published table. The files are whole, damaged
 * and cut off.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { crc32, deflateRawSync, zstdCompressSync } from 'node:zlib'
import * as arrow from 'apache-arrow'
import avro from 'avsc'
import { snappyCompress } from 'hysnappy'
import lz4 from 'lz4js'
import { execute, openEngine, readTable } from '../../duckdb/duckdb.ts'
import { attachFile } from '../files/file.ts'
import { resolveFiles } from '../files/files.ts'
import { SourceError } from '../source.ts'

const home = await mkdtemp(path.join(tmpdir(), 'assay-typed-'))
const data = path.join(home, 'data')
await mkdir(data)
const engine = await openEngine()
after(async () => {
  engine.close()
  await rm(home, { recursive: true, force: true })
})
const roots = { data, sample: {} }

let runs = 0
const temp = (): string => path.join(home, `temp-${(runs += 1)}`)

async function attach(
  pattern: string,
  more: { columns?: Record<string, string>; peek?: boolean; spill?: number } = {},
) {
  const { columns = {}, peek = false, spill = 1e8 } = more
  await execute(engine, `drop ${peek ? 'view' : 'table'} if exists ${peek ? 'p' : 's'}`)
  const given = {
    name: peek ? 'p' : 's',
    line: 1,
    file: pattern,
    columns,
    dialect: {},
    roots,
    readers: 1,
    peek,
  }
  return attachFile(
    engine,
    { ...given, temp_folder: temp(), spill_bytes: spill },
    await resolveFiles(pattern, roots),
  )
}

async function read(name: string, bytes: Uint8Array, more = {}) {
  await writeFile(path.join(data, name), bytes)
  const attached = await attach(name, more)
  const types = attached.columns.map((column) => `${column.name} ${column.database_type}`)
  const { rows } = await readTable(engine, 'select columns(*)::varchar from s', {}, 50)
  return { types, rows, attached }
}

const refusal = (name: string, bytes: Uint8Array, more = {}): Promise<string> =>
  read(name, bytes, more).then(
    ({ types }) => assert.fail(`read as ${types.join(', ')}`),
    (error: unknown) => {
      assert.ok(error instanceof SourceError, String(error))
      assert.ok(!error.message.includes(home), error.message)
      return error.message
    },
  )

type Pack = (bytes: Buffer) => Uint8Array

async function avroOf(
  schema: unknown,
  records: readonly unknown[],
  codec = 'null',
  pack: Pack = (bytes) => bytes,
) {
  const codecs = {
    [codec]: (bytes: Buffer, done: (error: null, packed: Buffer) => void) =>
      done(null, Buffer.from(pack(bytes))),
  }
  const encoder = new avro.streams.BlockEncoder(schema, { codec, codecs })
  const parts: Buffer[] = []
  encoder.on('data', (part: Buffer) => parts.push(part))
  for (const record of records) encoder.write(record)
  encoder.end()
  await once(encoder, 'end')
  return Buffer.concat(parts)
}

const record = (fields: unknown[]) => ({ type: 'record', name: 'Order', namespace: 'shop', fields })
const ORDERS = record([
  { name: 'id', type: 'long' },
  { name: 'paid_at', type: { type: 'long', logicalType: 'timestamp-micros' } },
  { name: 'due', type: ['null', { type: 'int', logicalType: 'date' }] },
  { name: 'amount', type: { type: 'bytes', logicalType: 'decimal', precision: 12, scale: 2 } },
  { name: 'rate', type: ['double', 'null'] },
  { name: 'status', type: { type: 'enum', name: 'Status', symbols: ['PAID', 'OPEN'] } },
  { name: 'before', type: ['null', 'Status'] },
  { name: 'tags', type: { type: 'array', items: 'string' } },
  {
    name: 'place',
    type: {
      type: 'record',
      name: 'Place',
      fields: [
        { name: 'city', type: 'string' },
        { name: 'x', type: 'float' },
      ],
    },
  },
  { name: 'more', type: { type: 'map', values: 'int' } },
  { name: 'mark', type: { type: 'fixed', name: 'Mark', size: 2 } },
  { name: 'at', type: { type: 'int', logicalType: 'time-millis' } },
  { name: 'ok', type: 'boolean' },
])
const ORDER = {
  id: 7,
  paid_at: 1_704_164_645_123_456,
  due: 19_724,
  amount: Buffer.from([0xff, 0x85]),
  rate: 0.5,
  status: 'PAID',
  before: null,
  tags: ['a', 'b "c"'],
  place: { city: 'Zürich', x: 1.5 },
  more: { n: 3 },
  mark: Buffer.from([0, 255]),
  at: 3_600_500,
  ok: true,
}
const READ = [
  '7',
  '2024-01-02 03:04:05.123456+00',
  '2024-01-02',
  '-1.23',
  '0.5',
  'PAID',
  null,
  `[a, 'b "c"']`,
  "{'city': Zürich, 'x': 1.5}",
  '{n=3}',
  '\\x00\\xFF',
  '01:00:00.5',
  'true',
]

test('an Avro file is read with the types of its schema, whatever packs its blocks', async () => {
  const snappy: Pack = (bytes) => {
    const sum = Buffer.alloc(4)
    sum.writeUInt32BE(crc32(bytes))
    return Buffer.concat([snappyCompress(bytes), sum])
  }
  const codecs: [string, Pack][] = [
    ['null', (bytes) => bytes],
    ['deflate', (bytes) => deflateRawSync(bytes)],
    ['snappy', snappy],
    ['zstandard', (bytes) => zstdCompressSync(bytes)],
  ]
  for (const [codec, pack] of codecs) {
    const bytes = await avroOf(
      ORDERS,
      [ORDER, { ...ORDER, id: -8, due: null, rate: null, before: 'OPEN' }],
      codec,
      pack,
    )
    const { types, rows, attached } = await read('a.avro', bytes)
    assert.deepEqual(types, [
      'id BIGINT',
      'paid_at TIMESTAMP WITH TIME ZONE',
      'due DATE',
      'amount DECIMAL(12,2)',
      'rate DOUBLE',
      'status VARCHAR',
      'before VARCHAR',
      'tags VARCHAR[]',
      'place STRUCT("city" VARCHAR, "x" FLOAT)',
      'more MAP(VARCHAR, INTEGER)',
      'mark BLOB',
      'at TIME',
      'ok BOOLEAN',
    ])
    assert.deepEqual(rows[0], READ, codec)
    assert.deepEqual(rows[1]!.slice(0, 7), ['-8', READ[1], null, '-1.23', null, 'PAID', 'OPEN'])
    assert.deepEqual([attached.lineage.rows, attached.lineage.format], [2, 'avro'])
  }
})

test('whole numbers of 64 bits are exact, and files of several schemas are joined by name', async () => {
  const long = avro.types.LongType.__with({
    fromBuffer: (buffer) => buffer.readBigInt64LE(),
    toBuffer: (value) => {
      const buffer = Buffer.alloc(8)
      buffer.writeBigInt64LE(value)
      return buffer
    },
    fromJSON: (value) => BigInt(value as number),
    toJSON: Number,
    isValid: (value) => typeof value === 'bigint',
    compare: () => 0,
  })
  const schema = record([{ name: 'n', type: 'long' }])
  const type = avro.Type.forSchema(schema, { registry: { long }, wrapUnions: true })
  const most = 2n ** 63n - 1n
  const bytes = await avroOf(type, [{ n: most }, { n: -most - 1n }, { n: 2n ** 53n + 1n }])
  assert.deepEqual((await read('many-1.avro', bytes)).rows, [
    [`${most}`],
    [`${-most - 1n}`],
    ['9007199254740993'],
  ])
  await writeFile(
    path.join(data, 'many-2.avro'),
    await avroOf(record([{ name: 'm', type: 'string' }]), [{ m: 'x' }]),
  )
  const attached = await attach('many-*.avro', { columns: { n: 'DECIMAL(20,0)' } })
  assert.deepEqual(
    attached.columns.map(({ name, database_type }) => `${name} ${database_type}`),
    ['n DECIMAL(20,0)', 'm VARCHAR'],
  )
  assert.equal(attached.lineage.rows, 4)
})

test('each key of a map of Avro is kept, whatever it is called', async () => {
  const schema = record([
    {
      name: 'm',
      type: { type: 'map', values: { type: 'record', name: 'Size', fields: [{ name: 'n', type: 'int' }] } },
    },
    { name: 'last', type: ['null', { type: 'map', values: 'Size' }] },
  ])
  // The bytes are two entries, and one of a union's second branch. Each key stands behind its length, twice the number
  // as Avro writes it.
  const key = (name: string): number[] => [2 * name.length, ...Buffer.from(name)]
  const m = [4, ...key('__proto__'), 6, ...key('constructor'), 8, 0]
  const last = [2, 2, ...key('toString'), 10, 0]
  const whole = await avroOf(schema, [{ m: {}, last: null }])
  const block = Buffer.from([...m, ...last])
  const sync = whole.subarray(-16)
  const head = whole.subarray(0, -16 - 2 - 2)
  const bytes = Buffer.concat([head, Buffer.from([2, 2 * block.length]), block, sync])
  assert.deepEqual((await read('keys.avro', bytes)).rows, [
    ["{__proto__={'n': 3}, constructor={'n': 4}}", "{toString={'n': 5}}"],
  ])
  const named = (await avroOf(record([{ name: '__other__', type: 'int' }]), [{ __other__: 1 }]))
    .toString('latin1')
    .replace('__other__', '__proto__')
  assert.match(
    await refusal('keys.avro', Buffer.from(named, 'latin1')),
    /one of its fields is named "__proto__"\. Rename it/,
  )
})

test('the columns of an Avro file are known before its rows are read', async () => {
  await writeFile(path.join(data, 'b.avro'), await avroOf(ORDERS, [ORDER]))
  const { columns, lineage } = await attach('b.avro', { peek: true })
  assert.deepEqual([columns[3]!.database_type, columns.length, lineage.rows], ['DECIMAL(12,2)', 13, null])
})

/** Returns a length as Avro writes it. */
function zigzag(length: number): Buffer {
  const bytes: number[] = []
  for (let left = length * 2; ; left = Math.floor(left / 128)) {
    bytes.push(left < 128 ? left : (left % 128) + 128)
    if (left < 128) return Buffer.from(bytes)
  }
}

test('an Avro file that is damaged, cut off or of types without a like is refused with the reason', async () => {
  const whole = await avroOf(
    ORDERS,
    Array.from({ length: 400 }, () => ORDER),
    'deflate',
    (bytes) => deflateRawSync(bytes),
  )
  for (const length of [whole.length - 1, whole.length - 16, whole.length - 40])
    assert.match(
      await refusal('c.avro', whole.subarray(0, length)),
      /"c\.avro" cannot be read: it ends within a block/,
    )
  assert.match(await refusal('c.avro', whole.subarray(0, 100)), /ends before its first block/)
  assert.match(await refusal('c.avro', Buffer.from('a,b\n1,2\n')), /it is not an Avro file/)
  const wrong = Buffer.from(whole)
  wrong[whole.length - 1]! ^= 1
  assert.match(await refusal('c.avro', wrong), /does not end with the mark of the file/)
  wrong[whole.length - 1]! ^= 1
  wrong.fill(0x55, whole.length - 60, whole.length - 16)
  assert.match(await refusal('c.avro', wrong), /a block cannot be unpacked/)
  const wide = { type: 'record', name: 'r', fields: [] as object[] }
  wide.fields = Array.from({ length: 16_385 }, (_, at) => ({ name: `f${at}`, type: 'null' }))
  const text = Buffer.from(JSON.stringify(wide))
  const head = [Buffer.from('Obj\x01\x02\x16avro.schema'), zigzag(text.length), text, Buffer.alloc(17)]
  assert.match(await refusal('c.avro', Buffer.concat(head)), /it has more than 16384 columns/)
  const bzip = await avroOf(ORDERS, [ORDER], 'bzip2')
  assert.match(
    await refusal('c.avro', bzip),
    /packed by "bzip2": write it with one of null, deflate, zstandard, snappy/,
  )
  const mixed = await avroOf(record([{ name: 'v', type: ['string', 'int'] }]), [{ v: 'x' }])
  assert.match(
    await refusal('c.avro', mixed),
    /the column "v" holds values of several types \(VARCHAR, INTEGER\)/,
  )
  const tree = record([{ name: 'next', type: ['null', 'shop.Order'] }])
  assert.match(
    await refusal('c.avro', await avroOf(tree, [{ next: null }])),
    /holds values within values of its own type|does not define/,
  )
  assert.match(await refusal('c.avro', await avroOf('long', [1])), /its values are not records/)
  const twice = await avroOf(
    record([
      { name: 'a', type: 'int' },
      { name: 'A', type: 'int' },
    ]),
    [{ a: 1, A: 2 }],
  )
  assert.match(await refusal('c.avro', twice), /"A"/)
  assert.match(await refusal('c.avro', whole, { spill: 100 }), /more than 100 bytes as text/)
})

const { makeVector, makeData, vectorFromArray } = arrow
const raw = (type: arrow.DataType, values: ArrayBufferView): arrow.Vector =>
  makeVector(makeData({ type, data: values }))

/** Makes a table of two rows with a column of each type. */
const arrowTable = () =>
  new arrow.Table({
    id: vectorFromArray([9_007_199_254_740_993n, null], new arrow.Int64()),
    small: vectorFromArray([255, 0], new arrow.Uint8()),
    rate: vectorFromArray([0.1, Number.NaN], new arrow.Float64()),
    name: vectorFromArray(['Zürich', null], new arrow.Utf8()),
    kind: vectorFromArray(['a', 'b'], new arrow.Dictionary(new arrow.Utf8(), new arrow.Int32())),
    ok: vectorFromArray([true, false], new arrow.Bool()),
    day: raw(new arrow.DateDay(), Int32Array.of(19_724, -1)),
    moment: raw(new arrow.TimestampMicrosecond('UTC'), BigInt64Array.of(1_704_164_645_123_456n, -1n)),
    local: raw(new arrow.TimestampNanosecond(), BigInt64Array.of(1_704_164_645_123_456_789n, 0n)),
    at: raw(new arrow.TimeMicrosecond(), BigInt64Array.of(3_600_500_000n, 0n)),
    long: raw(new arrow.DurationMillisecond(), BigInt64Array.of(1500n, 0n)),
    price: raw(
      new arrow.Decimal(2, 12),
      Uint32Array.of(0xffffff85, 0xffffffff, 0xffffffff, 0xffffffff, 1234, 0, 0, 0),
    ),
    bytes: vectorFromArray([Uint8Array.of(0, 255), null], new arrow.Binary()),
    tags: vectorFromArray([['x', 'y'], []], new arrow.List(new arrow.Field('item', new arrow.Utf8(), true))),
    place: vectorFromArray(
      [{ city: 'Ulm' }, { city: null }],
      new arrow.Struct([new arrow.Field('city', new arrow.Utf8(), true)]),
    ),
  })

test('an Arrow file or stream is read with its own types, packed by LZ4 or Zstandard or not', async () => {
  arrow.compressionRegistry.set(arrow.CompressionType.LZ4_FRAME, {
    encode: (bytes) => lz4.compress(bytes),
    decode: (bytes) => lz4.decompress(bytes),
  })
  arrow.compressionRegistry.set(arrow.CompressionType.ZSTD, {
    encode: (bytes) => zstdCompressSync(bytes),
    decode: () => assert.fail('the reader sets its own'),
  })
  const written = [
    arrow.tableToIPC(arrowTable(), 'file'),
    arrow.tableToIPC(arrowTable(), 'stream'),
    arrow.tableToIPC(arrowTable(), 'stream', arrow.CompressionType.LZ4_FRAME),
    arrow.tableToIPC(arrowTable(), 'stream', arrow.CompressionType.ZSTD),
  ]
  for (const [index, bytes] of written.entries()) {
    const { types, rows } = await read(`a.${index === 0 ? 'arrow' : 'feather'}`, bytes)
    assert.deepEqual(types, [
      'id BIGINT',
      'small UTINYINT',
      'rate DOUBLE',
      'name VARCHAR',
      'kind VARCHAR',
      'ok BOOLEAN',
      'day DATE',
      'moment TIMESTAMP WITH TIME ZONE',
      'local TIMESTAMP_NS',
      'at TIME',
      'long INTERVAL',
      'price DECIMAL(12,2)',
      'bytes BLOB',
      'tags VARCHAR[]',
      'place STRUCT("city" VARCHAR)',
    ])
    assert.deepEqual(rows, [
      [
        '9007199254740993',
        '255',
        '0.1',
        'Zürich',
        'a',
        'true',
        '2024-01-02',
        '2024-01-02 03:04:05.123456+00',
        '2024-01-02 03:04:05.123456789',
        '01:00:00.5',
        '00:00:01.5',
        '-1.23',
        '\\x00\\xFF',
        '[x, y]',
        "{'city': Ulm}",
      ],
      [
        null,
        '0',
        'nan',
        null,
        'b',
        'false',
        '1969-12-31',
        '1969-12-31 23:59:59.999999+00',
        '1970-01-01 00:00:00',
        '00:00:00',
        '00:00:00',
        '12.34',
        null,
        '[]',
        "{'city': NULL}",
      ],
    ])
  }
})

test('a published table of 200,000 rows gives the same numbers from Arrow as its library gives', async () => {
  const file = fileURLToPath(new URL('../data/flights-200k.arrow', import.meta.resolve('vega-datasets')))
  const bytes = await readFile(file)
  const { attached } = await read('flights.arrow', bytes)
  assert.equal(attached.lineage.rows, 200_000)
  const { rows } = await readTable(
    engine,
    'select sum(delay)::bigint::varchar, min(distance)::varchar from s',
    {},
    1,
  )
  let [sum, least] = [0, Number.POSITIVE_INFINITY]
  const reader = await (await arrow.RecordBatchReader.from(bytes)).open()
  for await (const { data: batch, numRows } of reader) {
    const [delay, distance] = ['delay', 'distance'].map((name) =>
      makeVector(batch.children[reader.schema.fields.findIndex((field) => field.name === name)]!),
    )
    for (let row = 0; row < numRows; row += 1) {
      sum += delay!.get(row) as number
      least = Math.min(least, distance!.get(row) as number)
    }
  }
  assert.deepEqual(rows[0], [String(sum), String(least)])
})

test('the rows of a batch that holds the whole file are made some at a time', async () => {
  const n = 25_001
  const values = arrow.vectorFromArray(
    Array.from({ length: n }, (_, row) => row),
    new arrow.Int32(),
  )
  const bytes = arrow.tableToIPC(new arrow.Table({ row: values }), 'file')
  const { attached } = await read('one-batch.arrow', bytes)
  assert.equal(attached.lineage.rows, n)
  const [file] = await resolveFiles('one-batch.arrow', roots)
  const { openArrow } = await import('./arrow.ts')
  const table = await openArrow(file!)
  const parts: unknown[][][] = []
  for await (const part of table.rows()) parts.push(part)
  await table.close()
  assert.ok(parts.length > 1 && parts.every((part) => part.length <= 10_000))
  assert.ok(parts.flat().every(([row], at) => row === at))
})

test('an Arrow file that is damaged, cut off or of types without a like is refused with the reason', async () => {
  const file = arrow.tableToIPC(arrowTable(), 'file')
  const stream = arrow.tableToIPC(arrowTable(), 'stream')
  assert.match(await refusal('c.arrow', file.subarray(0, file.length - 4)), /it does not end with "ARROW1"/)
  assert.match(
    await refusal('c.arrow', stream.subarray(0, stream.length - 8)),
    /the stream does not end with its mark/,
  )
  assert.match(await refusal('c.arrow', Buffer.from('FEA1 and more of it')), /Feather of the first version/)
  assert.match(await refusal('c.arrow', Buffer.from('a,b\n1,2\n3,4\n')), /it is not Arrow IPC/)
  const wrong = Buffer.from(file)
  wrong.fill(0xee, 8, file.length - 6)
  assert.match(await refusal('c.arrow', wrong), /it is not a whole Arrow IPC file/)
  const months = new arrow.Table({ m: raw(new arrow.IntervalYearMonth(), Int32Array.of(1)) })
  assert.match(
    await refusal('c.arrow', arrow.tableToIPC(months, 'file')),
    /the column "m" is of the type Interval.*Save it as Parquet/,
  )
})
