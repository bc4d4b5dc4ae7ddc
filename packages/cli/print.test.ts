import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HOSTILE_TEXTS, UNSEEN } from '../../test/hostile/hostile-texts.ts'
import { bar, out, progressLine, table } from './print.ts'

test('a table is as wide as its widest cells, and null is a dash', () => {
  assert.equal(
    table(
      ['A', 'B'],
      [
        ['long', null],
        ['x', 2],
      ],
    ),
    'A     B\nlong  -\nx     2\n',
  )
})

test('a bar is full at 100 and never leaves its width', () => {
  assert.equal(bar(0), `${' '.repeat(24)}   0 %`)
  assert.equal(bar(100), `${'█'.repeat(24)} 100 %`)
  assert.equal(bar(250), bar(100))
  for (let percent = 0; percent <= 100; percent += 1) assert.equal(bar(percent).length, 30)
})

function stream(isTTY: boolean) {
  const written: string[] = []
  const target = { isTTY, columns: 40, write: (text: string) => written.push(text) }
  return { target: target as unknown as NodeJS.WriteStream, written }
}

const at = (percent: number, step: number) => ({ percent, step, steps: 2, label: 'daily' })

test('progress is one line drawn over on a terminal', () => {
  const { target, written } = stream(true)
  const line = progressLine(target)
  line.show('executing', at(10, 1))
  line.show('executing', at(60, 2))
  line.end()
  line.end()
  assert.equal(written.length, 3)
  assert.ok(written[0]!.startsWith('\r\u001b[K'))
  assert.ok(written.every((text) => !text.slice(0, -1).includes('\n') && text.length <= 40 + 4))
  assert.equal(written[2], '\n')
})

test('progress elsewhere is a line for each change of state or step', () => {
  const { target, written } = stream(false)
  const line = progressLine(target)
  line.show('queued', { percent: 0, step: 0, steps: 0, label: '' })
  line.show('executing', at(10, 1))
  line.show('executing', at(40, 1))
  line.show('executing', at(60, 2))
  line.end()
  assert.deepEqual(written, ['queued\n', 'executing 1 of 2: daily\n', 'executing 2 of 2: daily\n'])
})

test('a terminal gets what it would obey as codes, and a file gets every byte', () => {
  const text = 'a\u001b]0;title\u0007 b\u009b31m c\rd\u202ee\r\n\tf 😀\n'
  const terminal = stream(true)
  out(text, terminal.target)
  assert.deepEqual(terminal.written, ['a<1b>]0;title<07> b<9b>31m c<0d>d<202e>e\r\n\tf 😀\n'])
  const file = stream(false)
  out(text, file.target)
  assert.deepEqual(file.written, [text])
})

test('no hostile text controls a terminal, or begins a row of a table or a line of the progress', () => {
  for (const text of HOSTILE_TEXTS) {
    const terminal = stream(true)
    out(text, terminal.target)
    assert.doesNotMatch(terminal.written.join(''), UNSEEN)
    assert.doesNotMatch(terminal.written.join(''), /\r(?!\n)/)
    const rows = table(['A', 'B'], [[text, 1]]).split(/\r\n|[\n\r\u0085\u2028\u2029]/)
    assert.equal(rows.length, 3, JSON.stringify(rows))
    assert.match(rows[1]!, / 1$/)
    const drawn = stream(true)
    progressLine(Object.assign(drawn.target, { columns: 400 })).show('executing', {
      ...at(10, 1),
      label: text,
    })
    const line = drawn.written[0]!.slice('\r\u001b[K'.length)
    assert.doesNotMatch(line, UNSEEN)
    assert.doesNotMatch(line, /[\r\n]/)
  }
})
