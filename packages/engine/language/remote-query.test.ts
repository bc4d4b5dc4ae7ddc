import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Variable } from '@assay/model/template'
import { parseTemplate } from '../reading/parse.ts'
import { bindQuery, type QueryDialect, queryFaults } from './remote-query.ts'
import { STANDARD_SYNTAX } from './sql-clauses.ts'

const NUMBERED: QueryDialect = {
  syntax: STANDARD_SYNTAX,
  placeholder: (index) => `$${index}`,
  reuses: true,
}
const BACKSLASHED: QueryDialect = {
  syntax: {
    opaque: [/'(?:[^'\\]|\\[\s\S]|'')*'|`[^`]*`|--[^\n]*|#[^\n]*/y],
    nestedComments: false,
  },
  placeholder: () => '?',
  reuses: false,
}

function variable(name: string, type: Variable['type'], over: Partial<Variable> = {}): Variable {
  const rules = { enum: null, min: null, max: null, pattern: null, max_length: null }
  const plain = { required: false, default: null, description: null, items: null, of: null, until: null }
  return { name, type, ...plain, ...rules, line: 1, ...over }
}

const PERIOD = {
  start: '2024-01-01',
  end: '2024-02-01',
  label: 'January',
  previous: { start: '2023-12-01', end: '2024-01-01', label: 'December' },
}

function parsed(query: string, variables = '') {
  const source = `---\nvariables:\n  since: { type: date }\n  span: { type: period, default: 2024-Q1 }\n${variables}sources:\n  orders:\n    connection: warehouse\n    query: ${query}\n---\n# A\n`
  return parseTemplate({ template_id: 'a', source, partials: {} })
}

test('values become parameters, a repeated one only once if the database can name it', () => {
  const variables = [variable('since', 'date'), variable('span', 'period')]
  const vars = { since: '2024-01-05', span: PERIOD }
  const text = 'select 1 where d >= $since and d < $span.end and p >= $span.previous.start or d = $since'
  const bound = bindQuery(text, variables, vars, NUMBERED)
  assert.equal(bound.sql, 'select 1 where d >= $1 and d < $2 and p >= $3 or d = $1')
  assert.deepEqual(
    bound.parameters.map(({ name, type, value }) => [name, type, value]),
    [
      ['since', 'date', '2024-01-05'],
      ['span.end', 'date', '2024-02-01'],
      ['span.previous.start', 'date', '2023-12-01'],
    ],
  )
  const placed = bindQuery(text, variables, vars, BACKSLASHED)
  assert.equal(placed.sql, 'select 1 where d >= ? and d < ? and p >= ? or d = ?')
  assert.equal(placed.parameters.length, 4)
})

test('a clause is left out if its variable is null, and lines keep their numbers', () => {
  const variables = [variable('since', 'date')]
  const bound = bindQuery(
    'select 1\n[[ where d >= $since ]]\norder by 1',
    variables,
    { since: null },
    NUMBERED,
  )
  assert.deepEqual(bound.parameters, [])
  assert.equal(bound.sql.replace(/ +$/gm, ''), 'select 1\n\norder by 1')
})

test('strings and comments of the database are text', () => {
  const variables = [variable('since', 'date')]
  const vars = { since: '2024-01-05' }
  const plain = bindQuery('select \'$since\', "$since" -- $since\n', variables, vars, NUMBERED)
  assert.deepEqual(plain.parameters, [])
  const escaped = bindQuery(
    "select 'it\\'s $since', `$since` # $since\n, $since",
    variables,
    vars,
    BACKSLASHED,
  )
  assert.equal(escaped.sql, "select 'it\\'s $since', `$since` # $since\n, ?")
})

test('faults of a query stand at their line and column', () => {
  const faultsOf = (query: string, variables = '') => {
    const { template, faults } = parsed(query, variables)
    assert.deepEqual(faults, [])
    return queryFaults(template!.sources[0]!, template!).map(
      ({ line, column, code }) => `${line}:${column} ${code}`,
    )
  }
  assert.deepEqual(faultsOf('select 1 where a = $nobody'), ['8:31 unknown_variable'])
  assert.deepEqual(faultsOf('"select 1 where a = $nobody"'), ['8:32 unknown_variable'])
  assert.deepEqual(faultsOf('|\n      select 1\n\n      where a = $nobody'), ['11:17 unknown_variable'])
  assert.deepEqual(faultsOf('select $span'), ['8:19 wrong_type'])
  assert.deepEqual(faultsOf('select $span.start, $since'), [])
  assert.deepEqual(faultsOf('select $c', '  c: { type: column, of: orders }\n'), ['9:19 wrong_type'])
  const circle = '  p: { type: period, default: last_7_days, until: orders.day }\n'
  assert.deepEqual(faultsOf('select $p.start', circle), ['9:19 circular_period'])
})

test('a source is a file, or a connection with a query', () => {
  const faultsOf = (source: string) =>
    parseTemplate({
      template_id: 'a',
      source: `---\nsources:\n  a: ${source}\n---\n# A\n`,
      partials: {},
    }).faults.map(({ line, column, code }) => `${line}:${column} ${code}`)
  assert.deepEqual(faultsOf('{ connection: warehouse }'), ['3:3 missing_key'])
  assert.deepEqual(faultsOf('{ query: select 1 }'), ['3:3 missing_key'])
  assert.deepEqual(faultsOf('{ connection: Ware-House, query: select 1 }'), ['3:20 bad_value'])
  assert.deepEqual(faultsOf('{ connection: w, query: select 1, file: a.csv }'), ['3:3 bad_value'])
  assert.deepEqual(faultsOf('{ connection: w, query: select 1, columns: { a: date } }'), ['3:3 bad_value'])
  assert.deepEqual(faultsOf('{ connection: w, query: select 1 }'), [])
})
