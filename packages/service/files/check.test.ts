import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gzipSync, zstdCompressSync } from 'node:zlib'
import * as fc from 'fast-check'
import { checkOf } from './check.ts'
import type { CheckFault } from './check-fault.ts'
import { JsonCheck } from './json-check.ts'

/** Returns the fault of bytes that arrive in pieces of the given sizes, repeated. Null if they are sound. */
async function verdict(path: string, content: string | Buffer, sizes: number[] = [1 << 16], most = 1e9) {
  const bytes = Buffer.from(content)
  const check = checkOf(path, most)
  try {
    for (let at = 0, turn = 0; at < bytes.length; turn += 1) {
      const size = sizes[turn % sizes.length]!
      const fault = await check.push(bytes.subarray(at, at + size))
      if (fault) return fault
      at += size
    }
    return await check.end()
  } finally {
    check.close()
  }
}

const SIZES = fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1, maxLength: 4 })

function json(text: string, sizes: number[]): CheckFault | null {
  const check = new JsonCheck('json')
  const bytes = Buffer.from(text)
  for (let at = 0, turn = 0; at < bytes.length; turn += 1) {
    const size = sizes[turn % sizes.length]!
    const fault = check.push(bytes.subarray(at, at + size))
    if (fault) return fault
    at += size
  }
  return check.end()
}

test('takes every JSON value, in whatever pieces it comes', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.constantFrom(0, 2), SIZES, (value, indent, sizes) => {
      assert.equal(json(JSON.stringify(value, null, indent), sizes), null)
    }),
  )
})

test('agrees with JSON.parse on lists that were bent in one position', () => {
  const characters = [
    '',
    '"',
    '{',
    '}',
    '[',
    ']',
    ',',
    ':',
    '\\',
    'u',
    '0',
    '-',
    '.',
    'e',
    't',
    '\n',
    ' ',
    '\u0001',
  ]
  const bent = fc
    .tuple(fc.jsonValue(), fc.nat(), fc.constantFrom(...characters), fc.boolean())
    .map(([value, at, put, instead]) => {
      const list = JSON.stringify([value])
      const position = 1 + (at % (list.length - 1))
      return (
        list.slice(0, position) + put + list.slice(position + (instead && position < list.length - 1 ? 1 : 0))
      )
    })
  const parses = (text: string): boolean => {
    try {
      JSON.parse(text)
      return true
    } catch {
      return false
    }
  }
  fc.assert(
    fc.property(bent, SIZES, (text, sizes) => {
      assert.equal(json(text, sizes) === null, parses(text), text)
    }),
    { numRuns: 3000 },
  )
})

test('says the line and column of a fault in JSON', async () => {
  assert.deepEqual(await verdict('a.json', '[1,\n {"a": tru }]', [3]), {
    message: 'is not JSON: a value is expected, not " "',
    line: 2,
    column: 11,
  })
  assert.match((await verdict('a.json', '[1, 2'))!.message, /cut off/)
  for (const name of ['a.json', 'a.ndjson'])
    assert.match((await verdict(name, '\uFEFF{"a": 1}', [1]))!.message, /begins with a byte order mark/)
  assert.match((await verdict('a.json', ' \n'))!.message, /empty/)
  assert.match((await verdict('a.json', '['.repeat(2000)))!.message, /nested deeper than 1000/)
  assert.match((await verdict('a.json', `[${'1'.repeat(5000)}]`))!.message, /number of more than/)
})

test('asks of NDJSON one value on each line', async () => {
  assert.equal(await verdict('a.ndjson', '{"a":1}\n\n{"a":2}\r\n{"a":3}', [4]), null)
  assert.equal((await verdict('a.ndjson', '{"a":1}\n{"a":2} {"a":3}'))!.line, 2)
  assert.equal((await verdict('a.jsonl', '{"a":1}\n{"a":\n2}'))!.line, 2)
})

test('takes text in whatever pieces it comes, and says where JSON is not UTF-8', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.string({ unit: 'grapheme' }).filter((text) => !text.includes('\0')),
      SIZES,
      async (text, sizes) => {
        assert.equal(await verdict('a.csv', `name\n${text}`, sizes), null)
      },
    ),
  )
  for (const sizes of [[1], [2], [5], [100]]) {
    const bad = Buffer.concat([Buffer.from('"name"\n"ä"\n"bö'), Buffer.from([0xe4]), Buffer.from('rz"\n')])
    assert.equal(await verdict('a.csv', bad, sizes), null)
    for (const mark of ['\uFEFF', ''])
      assert.equal(await verdict('a.csv', Buffer.from(`${mark}name\nb\n`, 'utf16le'), sizes), null)
    assert.deepEqual(await verdict('a.ndjson', bad, sizes), {
      message: 'is not UTF-8: save it in that encoding',
      line: 3,
      column: 5,
    })
  }
  assert.match(
    (await verdict('a.json', Buffer.from([0x22, 0x61, 0xc3])))!.message,
    /last character is cut off/,
  )
  assert.match((await verdict('a.csv', Buffer.from('name\na\0\n')))!.message, /zero byte/)
})

test('asks of a table in text a first row of names', async () => {
  for (const sound of [
    'a,b\n1,2',
    '\uFEFFa;b\r\n1;2\r\n',
    '\n\n"a ""x""",b\n',
    'a',
    ',a,b\n0,1,2\n',
    '"a\nb",c\n1,2',
  ])
    assert.equal(await verdict('a.csv', sound, [2]), null, sound)
  assert.match((await verdict('a.csv', ''))!.message, /empty/)
  assert.match((await verdict('a.csv', '\n \n'))!.message, /empty/)
  assert.deepEqual(await verdict('a.tsv', '\n1\t2.5\t-3e4\nx\ty\tz'), {
    message:
      'has no header: its first row must name the columns, and holds numbers only. Name them, or write "header: false" if it holds values, "header: true" if these are names',
    line: 2,
    write: ['header: false', 'header: true'],
  })
  assert.match((await verdict('a.csv', '"a,b\n1,2\n'))!.message, /quote in its first row/)
  assert.match((await verdict('a.csv', 'x'.repeat(2_000_000)))!.message, /more than 1000000 bytes/)
})

test('asks of Parquet its beginning and its end', async () => {
  const parquet = (footer: number): Buffer => {
    const length = Buffer.alloc(4)
    length.writeUInt32LE(footer)
    return Buffer.concat([Buffer.from('PAR1'), Buffer.alloc(20), length, Buffer.from('PAR1')])
  }
  for (const sizes of [[1], [3, 7], [100]]) {
    assert.equal(await verdict('a.parquet', parquet(20), sizes), null)
    assert.match((await verdict('a.parquet', parquet(21), sizes))!.message, /footer/)
    assert.match((await verdict('a.parquet', parquet(20).subarray(0, -1), sizes))!.message, /footer/)
  }
  assert.match((await verdict('a.parquet', 'a,b\n'))!.message, /begin with "PAR1"/)
  assert.match((await verdict('a.parquet', `PARE${'x'.repeat(20)}PARE`))!.message, /encrypted/)
  assert.match((await verdict('a.parquet', 'PA'))!.message, /footer/)
})

test('asks of a workbook the marks of a zip, and tells old ones and those with a password', async () => {
  const book = Buffer.concat([
    Buffer.from('PK\u0003\u0004'),
    Buffer.alloc(200_000),
    Buffer.from('PK\u0005\u0006'),
    Buffer.alloc(18),
  ])
  for (const name of ['a.xlsx', 'b.ods']) {
    for (const sizes of [[1], [3, 70_000], [300_000]]) {
      assert.equal(await verdict(name, book, sizes), null)
      assert.match((await verdict(name, book.subarray(0, 150_000), sizes))!.message, /its end is missing/)
    }
    assert.match((await verdict(name, 'a,b\n1,2\n'))!.message, /is not an \.(xlsx|ods) workbook/)
    assert.match((await verdict(name, 'PK'))!.message, /is not an \.(xlsx|ods) workbook/)
  }
  const old = Buffer.concat([Buffer.from([0xd0, 0xcf, 0x11, 0xe0]), Buffer.alloc(500)])
  assert.match((await verdict('a.xlsx', old, [2]))!.message, /of the old form or has a password/)
})

test('unpacks what is packed on the way, and no more of it than is allowed', async () => {
  assert.equal(await verdict('a.csv.gz', gzipSync('a,b\n1,2\n'), [5]), null)
  assert.equal((await verdict('a.json.gz', gzipSync('[1,\n2,]'), [5]))!.line, 2)
  assert.match((await verdict('a.csv.gz', 'a,b\n'))!.message, /not a whole gzip/)
  assert.match(
    (await verdict('a.csv.gz', gzipSync('a,b\n1,2\n').subarray(0, -9)))!.message,
    /not a whole gzip/,
  )
  const bomb = gzipSync(Buffer.alloc(50_000_000, 'a'))
  assert.match((await verdict('a.csv.gz', bomb, [1000], 500_000))!.message, /larger than 500000 bytes/)
})

test('finds the names in a first row of a million characters, whatever divides it', async () => {
  const numbers = (separator: string): string => `1${separator}`.repeat(5000)
  for (const separator of [',', ';', '\t', '|']) {
    assert.match((await verdict('a.csv', `${numbers(separator)}1\n`))!.message, /has no header/)
    assert.equal(await verdict('a.csv', `${numbers(separator)}a\n`), null)
    assert.match((await verdict('a.csv', `"1"${separator}"2"\n`))!.message, /has no header/)
  }
  assert.equal(await verdict('a.csv', `"${'a'.repeat(990_000)}",1\n`), null)
  assert.match((await verdict('a.csv', `"1,5";"2"\n`))!.message, /has no header/)
})

test('stops at a ratio of gzip that no table has, and at blank lines without end', async () => {
  const bomb = gzipSync(Buffer.alloc(100_000_000, '"a",b\n'))
  assert.ok(bomb.length * 250 < 100_000_000)
  assert.match((await verdict('a.csv.gz', bomb, [1000]))!.message, /more than 250 times as large/)
  assert.equal(await verdict('a.csv.gz', gzipSync(Buffer.alloc(9_000_000, '"a",b\n')), [1000]), null)
  assert.match((await verdict('a.csv', '\n'.repeat(1_100_000)))!.message, /begins with 1000 blank lines/)
  assert.equal(await verdict('a.csv', `${' \r\n'.repeat(900)}a,b\n`), null)
  assert.match(
    (await verdict('a.csv', `"${'a\n'.repeat(600_000)}`))!.message,
    /with the blank lines before it/,
  )
})

test('asks of Avro and Arrow the marks by which they begin, and of Arrow those at its end', async () => {
  assert.equal(await verdict('a.avro', 'Obj\u0001 and more', [1]), null)
  for (const wrong of ['Obj', 'a,b\n1,2\n', ''])
    assert.match((await verdict('a.avro', wrong, [1]))!.message, /is not an Avro file/)
  const stream = Buffer.concat([
    Buffer.alloc(4, 255),
    Buffer.alloc(40),
    Buffer.alloc(4, 255),
    Buffer.alloc(4),
  ])
  const file = Buffer.concat([Buffer.from('ARROW1\0\0'), stream, Buffer.from('ARROW1')])
  for (const sizes of [[1], [7, 3], [1000]])
    for (const bytes of [stream, file]) {
      assert.equal(await verdict('a.arrow', bytes, sizes), null)
      assert.match(
        (await verdict('a.feather', bytes.subarray(0, -1), sizes))!.message,
        /not a whole Arrow IPC file/,
      )
    }
  assert.match((await verdict('a.arrow', 'PAR1 and more'))!.message, /is not Arrow IPC/)
  assert.match((await verdict('a.arrow', 'ARR'))!.message, /is not Arrow IPC/)
})

test('bytes behind the packed data neither keep an upload open for ever nor pass without a check', async () => {
  const [gz, zst] = [gzipSync('a,b\n1,2\n'), zstdCompressSync('a,b\n1,2\n')]
  const skipped = Buffer.from('502a4d1800000000', 'hex')
  for (const sizes of [[1 << 16], [7]]) {
    assert.equal(await verdict('a.csv.zst', zst, sizes), null)
    assert.equal(await verdict('a.csv.gz', Buffer.concat([gz, gz]), sizes), null, 'members of gzip')
    assert.equal(await verdict('a.csv.gz', Buffer.concat([gz, Buffer.alloc(5000)]), sizes), null, 'padding')
  }
  for (const [path, content] of [
    ['a.csv.zst', Buffer.concat([zst, zst])],
    ['a.csv.zst', Buffer.concat(Array.from({ length: 1000 }, () => skipped))],
    ['a.csv.zst', Buffer.concat([zst, Buffer.alloc(10)])],
  ] as const)
    assert.match((await verdict(path, content))!.message, /goes on after the end of its packed data/)
})
