import assert from 'node:assert/strict'
import test from 'node:test'
import * as fc from 'fast-check'
import { bindSql, offsetsOfNames, sqlNames } from './sql-clauses.ts'

const bind = (sql: string, vars: Record<string, unknown>, columnVars: string[] = []) =>
  bindSql(sql, { vars, columnVars })

test('a clause stays with its variables, and goes where one of them is null', () => {
  const sql = 'select * from t where a = $a [[ and b = $b and c = $c ]] order by 1'
  assert.equal(
    bind(sql, { a: 1, b: 2, c: 3 }).sql.replace(/ +/g, ' '),
    'select * from t where a = $a and b = $b and c = $c order by 1',
  )
  assert.deepEqual(bind(sql, { a: 1, b: 2, c: null }).names, ['a'])
  assert.equal(
    bind(sql, { a: 1, b: 2, c: null }).sql.trim().replace(/ +/g, ' '),
    'select * from t where a = $a order by 1',
  )
})

test('lines and columns stay where they were', () => {
  const sql = 'select 1\n[[ , $a\n as x ]]\nfrom t'
  const { sql: bound } = bind(sql, { a: null })
  assert.equal(bound.length, sql.length)
  assert.equal(bound.indexOf('from t'), sql.indexOf('from t'))
  assert.equal(bound.split('\n').length, 4)
})

test('semicolons at the end become blanks, those within do not', () => {
  const bound = (sql: string) => bind(sql, {}).sql
  assert.equal(bound('select 1 ; -- remark; more\n;'), 'select 1   -- remark; more\n ')
  assert.equal(bound("select ';' /* ; */;"), "select ';' /* ; */ ")
  assert.equal(bound('select 1; select 2;'), 'select 1; select 2 ')
})

test('nested lists, indexes and character classes are SQL', () => {
  const sql = `select [[1, 2], [3]], '[[ $a ]]', x[[1, 2]], "[[ $b ]]", regexp_matches(s, '[[:alpha:]]') from t`
  assert.deepEqual(bind(sql, {}), { sql, names: [] })
})

test('a list with a variable in a nested list is not cut in half', () => {
  const sql = 'select [[$a], [2]] from t'
  assert.deepEqual(bind(sql, { a: null }), { sql, names: ['a'] })
})

test('strings, comments and dollar quotes hide variables and brackets', () => {
  const sql = `select '$a', "$b", $$ $c [[ $d ]] $$, $q$ $e $q$, e'\\' $f' -- $g [[ $h ]]
  /* $i /* $j */ [[ $k ]] */ + $l`
  assert.deepEqual(sqlNames(sql), { names: ['l'], optional: [] })
})

test('a clause may hold brackets and lists of its own', () => {
  const sql = 'select 1 [[ where a in ($a) and b[1] = [1, 2][1] ]] limit 1'
  assert.deepEqual(bind(sql, { a: null }).sql.replace(/ +/g, ' '), 'select 1 limit 1')
  assert.match(bind(sql, { a: [1] }).sql, /where a in \(\$a\) and b\[1\] = \[1, 2\]\[1\]/)
})

test('a column variable becomes a quoted identifier, and nothing else enters SQL', () => {
  const sql = 'select $by as segment, sum($value) from t [[ group by $other ]]'
  const bound = bind(sql, { by: 'a "b"; drop', value: 'n', other: null }, ['by', 'value', 'other'])
  assert.equal(bound.sql.trimEnd(), 'select "a ""b""; drop" as segment, sum("n") from t')
  assert.deepEqual(bound.names, [])
})

test('fields of a struct follow the name', () => {
  const sql = 'select * from t where d >= $period.previous.start and d < $period.end'
  assert.deepEqual(bind(sql, { period: {} }), { sql, names: ['period'] })
})

test('names are listed once, also those that stand only in clauses', () => {
  assert.deepEqual(sqlNames('select $a [[ + $b ]] + $a [[ + $a ]]'), { names: ['a', 'b'], optional: ['b'] })
  assert.equal(offsetsOfNames("select '$a', $a, $a").get('a'), 13)
  assert.equal(offsetsOfNames('select 1').get('a'), undefined)
})

test('of any text only clauses are left out, and every value to bind stands in it', () => {
  const part = fc.constantFrom(
    '[[',
    ']]',
    '[',
    ']',
    '$a',
    '$b',
    "'",
    '"',
    '--',
    '\n',
    '/*',
    '*/',
    '$$',
    ' ',
    'x',
    '1',
    ',',
  )
  fc.assert(
    fc.property(
      fc.array(part, { maxLength: 30 }).map((parts) => parts.join('')),
      (sql) => {
        // The characters after a name may make it longer: $a, $b and $b1.
        const { names } = sqlNames(sql)
        const all = (value: 1 | null) => Object.fromEntries(names.map((name) => [name, value]))
        const kept = bind(sql, all(1))
        assert.equal(kept.sql.length, sql.length)
        assert.deepEqual(kept.sql.replace(/[[\] ]/g, ''), sql.replace(/[[\] ]/g, ''))
        assert.deepEqual(kept.names.toSorted(), names.toSorted())
        const dropped = bind(sql, all(null))
        assert.deepEqual(
          dropped.names.toSorted(),
          names.filter((name) => !sqlNames(sql).optional.includes(name)).toSorted(),
        )
        assert.equal(dropped.sql.split('\n').length, sql.split('\n').length)
      },
    ),
  )
})

test('brackets that nest a hundred thousand deep are read in one pass', () => {
  const deep = 100_000
  const nested = `select ${'['.repeat(deep)}1${']'.repeat(deep)} [[ and $a ]]`
  assert.deepEqual(sqlNames(nested), { names: ['a'], optional: ['a'] })
  assert.deepEqual(sqlNames(`select ${'['.repeat(deep)} $a`), { names: ['a'], optional: [] })
  assert.deepEqual(sqlNames(`select ${'[[ $a ]] '.repeat(deep)} $b`), { names: ['a', 'b'], optional: ['a'] })
})

test('brackets, clauses and names by the ten thousand are read in one pass', () => {
  const brackets = '['.repeat(200_000)
  assert.deepEqual(sqlNames(`${brackets}$a${']'.repeat(200_000)}`).optional, ['a'])
  assert.deepEqual(sqlNames('[[$a'.repeat(50_000)).optional, [])
  const many = Array.from({ length: 40_000 }, (_, index) => `[[ $a${index} ]]`).join(' ')
  assert.equal(sqlNames(many).optional.length, 40_000)
})

test('dollar quotes are texts, also beside marks that are never closed, which are each looked for once', () => {
  const names = (sql: string): string[] => sqlNames(sql).names
  assert.deepEqual(names('select $$ $a [[ $b ]] $$, $t$ $c $u$ $t$, $d'), ['d'])
  assert.deepEqual(names('select $t$ $a, $b'), ['t', 'a', 'b'])
  assert.deepEqual(names('select $t$ $u$ $x $u$ $y'), ['t', 'y'])
  assert.deepEqual(names('$a$b$a$ $c'), ['c'])
  const open = Array.from({ length: 40_000 }, (_, index) => `$t${index}$ `).join('')
  assert.equal(names(open).length, 40_000)
})
