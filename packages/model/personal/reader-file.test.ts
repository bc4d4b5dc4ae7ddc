import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readersIn } from './reader-file.ts'

test('a CSV of readers gives their attributes the types that its headings name', () => {
  const text = [
    '\uFEFFreader_id;name;email;region;level:number;active:boolean;teams:list',
    '007;"Ada ""the first""";ada@example.com;north;3;TRUE;sales; press'.replace(
      'sales; press',
      '"sales; press"',
    ),
    '',
    '8;;;"two',
    'lines";;;',
    '9;Cleo;;;-1.5;false;x',
  ].join('\r\n')
  const rows = readersIn(text).map(({ line, reader }) => ({ line, ...reader }))
  assert.deepEqual(rows, [
    {
      line: 2,
      reader_id: '007',
      name: 'Ada "the first"',
      email: 'ada@example.com',
      user_id: null,
      attributes: { region: 'north', level: 3, active: true, teams: ['sales', 'press'] },
    },
    {
      line: 4,
      reader_id: '8',
      name: '8',
      email: null,
      user_id: null,
      attributes: { region: 'two\r\nlines' },
    },
    {
      line: 6,
      reader_id: '9',
      name: 'Cleo',
      email: null,
      user_id: null,
      attributes: { level: -1.5, active: false, teams: ['x'] },
    },
  ])
})

test('a CSV of readers that does not fit is refused with every line that does not', () => {
  const faults: [string, RegExp][] = [
    ['', /empty/],
    ['name,region\nAda,north\n', /^Line 1: There is no column reader_id among name, region/],
    ['reader_id,level:int\n', /^Line 1: .*text, number, boolean, list/],
    ['reader_id,id\n', /^Line 1: A column is named id/],
    ['reader_id,a,a\n', /^Line 1: Two columns are named a/],
    ['reader_id,level:number\nada,3\nbob,three\n', /^Line 3: level is not a number: three/],
    ['reader_id,level:number\nada,x\nbob,3\n,3\n', /^Line 2: level .*\nLine 4: reader_id is empty\.$/],
    ['reader_id,on:boolean\nada,yes\n', /^Line 2: on is not a boolean: write true or false instead of yes/],
    ['reader_id,region\nada\n', /^Line 2: It has 1 cells, and the first line 2/],
    ['reader_id,region\n,north\n', /^Line 2: reader_id is empty/],
    ['reader_id,region\nada,"north\n', /^Line 2: A quote/],
  ]
  for (const [text, message] of faults) assert.throws(() => readersIn(text), { message }, text)
})
