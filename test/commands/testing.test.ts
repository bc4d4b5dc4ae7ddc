/** Tests `assay test`: the shipped templates by their own tests, and the messages about wrong tests. */
import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { after, test } from 'node:test'
import { temporaryFolder } from '../servers/service.ts'
import { openCommands } from './commands.ts'

const { folder, remove } = temporaryFolder()
after(remove)
const root = path.dirname(path.dirname(import.meta.dirname))

const commands = openCommands({
  cwd: folder,
  env: { ASSAY_HOME: path.join(folder, 'home') },
  keepPool: true,
})
after(() => commands.close())

async function run(...args: string[]) {
  const { code, out, err } = await commands.run(['test', ...args])
  return { status: code, out, err }
}

test('every shipped template has tests over small tables, and passes', async () => {
  const templates = path.join(root, 'templates')
  const files = readdirSync(templates)
  const tested = files.filter((name) => name.endsWith('.test.yaml'))
  const all = files.filter((name) => name.endsWith('.md') && name !== 'README.md')
  assert.deepEqual(
    tested,
    all.map((name) => name.replace(/md$/, 'test.yaml')),
  )
  const junit = path.join(folder, 'junit.xml')
  const { status, out, err } = await run(templates, '--junit', junit)
  assert.equal(status, 0, out + err)
  const xml = readFileSync(junit, 'utf8')
  assert.equal(xml.match(/<testsuite /g)?.length, tested.length)
  assert.equal(xml.match(/<testcase /g)?.length, out.match(/^ok /gm)?.length)
  assert.match(xml, /<testsuites name="assay" tests="\d+" failures="0" errors="0" time="[\d.]+">/)
})

const TEMPLATE = `---
variables: { least: { type: integer, default: 2 } }
sources: { sold: { file: nowhere.csv } }
deliver_if: "big.size > 0"
---
\`\`\`sql big
select * from sold where n >= $least
\`\`\`
\`\`\`analysis size
{ method: describe, of: sold, value: n }
\`\`\`
# Sold

{% fact "big", big.size %} {{ size.summary }} {% chart big, type: "bar", x: "what", y: "n", title: "Sold" %}
`

function write(name: string, tests: string, template = TEMPLATE): string {
  mkdirSync(path.join(folder, name), { recursive: true })
  writeFileSync(path.join(folder, name, 'sold.md'), template)
  writeFileSync(path.join(folder, name, 'sold.test.yaml'), tests)
  return path.join(folder, name)
}

const SOLD = 'sources: { sold: [{ what: a, n: 1 }, { what: b, n: 3 }] }'

test('a difference is printed with the expected value, and the command ends with 1', async () => {
  const at = write(
    'wrong',
    `tests:
  - { test: good, ${SOLD}, expect: { rows: { big: 1 }, facts: { big: 1 }, values: { size.mean: { value: 2.1, within: 0.2 } }, skipped: false } }
  - { test: bad < & ", ${SOLD}, variables: { least: 9 }, expect: { rows: { big: 1 }, facts: { big: 1, bigg: 2 }, grades: { size: withheld }, headlines: { size: ^nothing$ }, codes: { size: [constant] }, values: { size.mean: 3, size.meen: 3, big.0.n: 1 }, text: nowhere, title: other, skipped: false } }
  - { test: no error, ${SOLD}, expect: { error: anything } }
  - { test: another error, variables: { least: many }, expect: { error: ^nothing$ } }
`,
  )
  const junit = path.join(folder, 'wrong.xml')
  const { status, out, err } = await run(at, '--junit', junit)
  assert.equal(status, 1, err)
  for (const told of [
    /^ok .*sold\.test\.yaml:2: good$/m,
    /big has 0 rows, and 1 are expected/,
    /The fact big is 0, and 1 is expected/,
    /There is no fact "bigg"\. Did you mean "big"\?/,
    /The grade of size is \w+, and withheld is expected/,
    /The headline of size does not match "\^nothing\$"/,
    /The codes of size are \[.*\], and \[constant\] are expected/,
    /size\.mean is 2, and 3 is expected/,
    /size has no field "meen"\. Did you mean "mean"\?/,
    /big has 0 rows, and no row 0/,
    /The Markdown does not match "nowhere"/,
    /The title does not match "other": "Sold"/,
    /deliver_if is false, and true is expected/,
    /The run completed, and an error like "anything" is expected/,
    /The error does not match "\^nothing\$": .*whole number/,
  ])
    assert.match(out, told)
  assert.match(err, /3 of 4 tests failed/)
  const xml = readFileSync(junit, 'utf8')
  assert.match(xml, /name="bad &#60; &#38; &#34;"/)
  assert.match(xml, /tests="4" failures="3"/)
})

test('unknown keys, names and patterns are faults with a line and the nearest name', async () => {
  const faults = async (tests: string): Promise<string> => {
    const { status, out } = await run(write('faults', tests))
    assert.equal(status, 1)
    return out
  }
  assert.match(
    await faults('tests:\n  - { tset: a, expect: {} }\n'),
    /:2:\d+: error: "tset" is not a key .*"test"/,
  )
  assert.match(
    await faults('tests:\n  - { test: a, expect: { fact: {} } }\n'),
    /"fact" is not a key .*"facts"/,
  )
  assert.match(
    await faults(
      'tests:\n  - test: a\n    sources: { slod: [{ n: 1 }] }\n    expect: { rows: { bgi: 1 }, grades: { big: firm } }\n',
    ),
    /:3:\d+: .*no source "slod"\. Did you mean "sold"\?[\s\S]*:4:\d+: .*no block "bgi"\. Did you mean "big"\?|:4:\d+:.*[\s\S]*no source/,
  )
  assert.match(await faults('tests:\n  - { test: a, expect: { title: "(" } }\n'), /"\(" is not a pattern/)
  assert.match(
    await faults('tests:\n  - { test: a, sources: { sold: { csv: a, file: b } }, expect: { title: a } }\n'),
    /exactly one of "rows", "csv" and "file"/,
  )
  assert.match(
    await faults('tests:\n  - { test: a, sources: { sold: [] }, expect: { title: a } }\n'),
    /needs the types of its columns/,
  )
})

test('a golden Markdown is written by --update, and a later difference is told with its line', async () => {
  const at = write('golden', `tests:\n  - { test: whole, ${SOLD}, expect: { markdown: sold.golden.md } }\n`)
  assert.match((await run(at)).out, /There is no file sold\.golden\.md.*--update/)
  assert.equal((await run(at, '--update')).status, 0)
  const golden = path.join(at, 'sold.golden.md')
  const text = readFileSync(golden, 'utf8')
  assert.match(text, /^# Sold/)
  assert.doesNotMatch(text, /How this was computed/)
  assert.equal((await run(at)).status, 0)
  writeFileSync(golden, text.replace('# Sold', '# Bought'))
  assert.match(
    (await run(at)).out,
    /differs from sold\.golden\.md in its line 1: "# Sold" in place of "# Bought"/,
  )
})

test('the rows of a metric are replaced wherever it reads them, and the file may lie beside the test', async () => {
  const at = write(
    'metric',
    `tests:
  - test: over a connection that nobody has
    metrics: { sales: { file: sales.csv } }
    expect: { rows: { weekly: 2 }, values: { weekly.0.value: 4 } }
`,
    '```metric weekly\nmetric: sales\ngrain: week\n```\n\n# Sales\n\n{{ weekly.size }}\n',
  )
  mkdirSync(path.join(at, 'metrics'))
  writeFileSync(
    path.join(at, 'metrics', 'sales.yaml'),
    'metric: sales\nsource: { connection: shop, table: orders }\ntime: { column: day }\nvalue: sum(n)\ntests: [{ not_null: n }]\n',
  )
  writeFileSync(path.join(at, 'sales.csv'), 'day,n\n2026-01-05,1\n2026-01-06,3\n2026-01-12,5\n')
  const { status, out, err } = await run(at)
  assert.equal(status, 0, out + err)
})

test('a test reads no table and writes no Markdown outside of its folder', async () => {
  const at = write(
    'outside',
    `tests:\n  - { test: a, sources: { sold: { file: ../x.csv } }, expect: { title: Sold } }\n`,
  )
  assert.match((await run(at)).err, /\.\.\/x\.csv lies outside of the folder of the test/)
  write('outside', `tests:\n  - { test: a, ${SOLD}, expect: { markdown: ../x.md } }\n`)
  assert.match((await run(at, '--update')).err, /\.\.\/x\.md lies outside/)
})

test('--update writes nothing behind a link, also one that leads to a file that is not there yet', async () => {
  const outside = path.join(folder, 'elsewhere')
  mkdirSync(outside)
  const tests = (file: string): string => `tests:\n  - { test: a, ${SOLD}, expect: { markdown: ${file} } }\n`
  const at = write('linked', tests('gone.md'))
  symlinkSync(path.join(outside, 'profile'), path.join(at, 'gone.md'))
  assert.match((await run(at, '--update')).err, /is a link, or lies behind one that leads elsewhere/)
  write('linked', tests('sub/new.md'))
  symlinkSync(outside, path.join(at, 'sub'))
  assert.match((await run(at, '--update')).err, /sub\/new\.md lies outside of the folder of the test/)
  assert.deepEqual(readdirSync(outside), [])
})
