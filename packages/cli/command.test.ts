import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { test } from 'node:test'
import { type Command, findCommand, parseCall } from './command.ts'
import { UsageError } from './exit.ts'
import { numberOption, pairsOption, readerOption, readersOption } from './options.ts'

function command(name: string, operands = '', options: Command['options'] = {}): Command {
  return { name, operands, summary: name, options, run: async () => 0 }
}

const NEVER = new AbortController().signal
const call = (of: Command, ...args: string[]) => parseCall(of, args, {}, NEVER)

test('the longest name that fits is the command', () => {
  const commands = [command('run'), command('jobs run'), command('jobs list')]
  assert.equal(findCommand(commands, ['jobs', 'run', 'x'])?.name, 'jobs run')
  assert.equal(findCommand(commands, ['run', 'jobs'])?.name, 'run')
  assert.equal(findCommand(commands, ['jobs']), undefined)
})

test('counts operands by their pattern', () => {
  const cases: [string, number[], number[]][] = [
    ['', [0], [1]],
    ['ID', [1], [0, 2]],
    ['[NAME]', [0, 1], [2]],
    ['FILE...', [1, 5], [0]],
    ['TYPE URL', [2], [1, 3]],
  ]
  for (const [pattern, good, bad] of cases) {
    const of = command('c', pattern)
    for (const count of good)
      assert.equal(call(of, ...Array.from({ length: count }, () => 'x')).operands.length, count)
    for (const count of bad)
      assert.throws(
        () => call(of, ...Array.from({ length: count }, () => 'x')),
        UsageError,
        `${pattern} ${count}`,
      )
  }
})

test('flags of settings are taken apart from the options of the command', () => {
  const of = command('listen', '', { port: { type: 'string', doc: '' } })
  const own = call(of, '--port', '1', '--home', '/h', '--max-timeout', '5s')
  assert.equal(own.text('port'), '1')
  assert.deepEqual(own.settings, { home: '/h', maxTimeout: '5s' })
  assert.deepEqual(call(command('serve'), '--port', '1').settings, { port: '1' })
})

test('an unknown option is a usage error that names it', () => {
  assert.throws(() => call(command('serve'), '--colour'), /Unknown option '--colour'.*assay serve --help/)
})

test('help asks for no operands', () => {
  assert.equal(call(command('jobs status', 'ID'), '--help').help, true)
})

test('a reader is made of its attributes, and commas or a repeated name make a list', () => {
  const of = command('c', '', { reader: { type: 'string', doc: '', multiple: true } })
  const cases: [options: string[], reader: object | null][] = [
    [[], null],
    [['region=North'], { id: 'command line', region: 'North' }],
    [['id=anna', 'team=a,b', 'team=c'], { id: 'anna', team: ['a', 'b', 'c'] }],
    [['team=a', 'team=b'], { id: 'command line', team: ['a', 'b'] }],
    [['city=Washington\\, D.C.'], { id: 'command line', city: 'Washington, D.C.' }],
    [['team=a,'], { id: 'command line', team: ['a'] }],
    [['team=,'], { id: 'command line', team: [] }],
    [['team='], { id: 'command line', team: '' }],
  ]
  for (const [options, reader] of cases)
    assert.deepEqual(readerOption(call(of, ...options.flatMap((one) => ['--reader', one]))), reader)
  for (const wrong of ['region', '=x', 'Region=x', 'id=a,b'])
    assert.throws(() => readerOption(call(of, '--reader', wrong)), UsageError, wrong)
})

test('the readers of a schedule are all, some by their ids, or those with attributes', () => {
  const of = command('c', '', { readers: { type: 'string', doc: '', multiple: true } })
  const read = (...given: string[]) => readersOption(call(of, ...given.flatMap((one) => ['--readers', one])))
  assert.equal(read(), undefined)
  assert.equal(read('all'), 'all')
  assert.deepEqual(read('ada,bob', 'eve', 'ada'), ['ada', 'bob', 'eve'])
  assert.deepEqual(read('region=north,west', 'level=3', 'city=Washington\\, D.C.'), {
    where: { region: ['north', 'west'], level: '3', city: 'Washington, D.C.' },
  })
  for (const wrong of [['all', 'ada'], ['ada', 'region=north'], ['='], [','], ['']])
    assert.throws(() => read(...wrong), UsageError, wrong.join(' '))
})

test('numbers and pairs are checked', () => {
  const of = command('c', '', {
    n: { type: 'string', doc: '' },
    var: { type: 'string', multiple: true, doc: '' },
  })
  assert.equal(numberOption(call(of, '--n', '7'), 'n', 1, 9), 7)
  assert.equal(numberOption(call(of), 'n', 1, 9), undefined)
  for (const wrong of ['0', '10', '1.5', 'x', ''])
    assert.throws(() => numberOption(call(of, '--n', wrong), 'n', 1, 9), UsageError, wrong)
  assert.deepEqual(pairsOption(call(of, '--var', 'a=1=2', '--var', 'b='), 'var'), { a: '1=2', b: '' })
  assert.throws(() => pairsOption(call(of, '--var', '=1'), 'var'), UsageError)
})

test('a light command loads no parser of templates, no validator, no builder of schemas and no YAML', () => {
  const hook = `import { registerHooks } from 'node:module'
    registerHooks({ load(url, context, next) { console.log(url); return next(url, context) } })`
  const args = ['--import', `data:text/javascript,${encodeURIComponent(hook)}`, 'main.ts', '--version']
  const loaded = execFileSync(process.execPath, args, {
    cwd: import.meta.dirname,
    encoding: 'utf8',
  })
  assert.match(loaded, /\/packages\/cli\/commands\.ts/)
  assert.doesNotMatch(loaded, /\/reading\/parse\.ts|\/node_modules\/(ajv|yaml|fastify|typebox|@duckdb)\//)
})
