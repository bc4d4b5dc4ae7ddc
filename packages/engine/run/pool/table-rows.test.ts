import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Findings, Table } from '@assay/model/insight'
import { tablesText, withTablesText } from '@assay/model/table-text'
import type { FromChild, RunResult } from '../protocol.ts'
import { inPieces, ReceivedRows } from './table-rows.ts'

const columns = [{ name: 'é"\n', type: 'text', database_type: 'VARCHAR' }] as Table['columns']
const tableOf = (count: number): Table => ({
  columns,
  rows: Array.from({ length: count }, (_, at) => [`${at} "\\\u2028 ü`, at % 3 === 0 ? null : at / 7]),
  total: count + 1,
})

/** Sends a result as the process does and receives it as the parent does, with each message as text. */
function sent(result: RunResult): { got: RunResult; messages: number } {
  const { pieces, rest } = inPieces(result)
  const received = new ReceivedRows()
  for (const piece of pieces) {
    const message = JSON.stringify({ type: 'rows', id: 1, ...piece })
    assert.ok(message.length < 300_000)
    received.add(JSON.parse(message) as Extract<FromChild, { type: 'rows' }>)
  }
  const got = received.into(JSON.parse(JSON.stringify(rest)) as RunResult) as RunResult
  return { got, messages: pieces.length }
}

test('large tables of a result come in pieces, and their text is that of the whole, byte for byte', () => {
  const tables = {
    small: tableOf(3),
    'large "one"': tableOf(40_000),
    empty: tableOf(0),
    other: tableOf(9_000),
  }
  const result: RunResult = {
    status: 'done',
    findings: { title: 'T', tables, facts: [] } as unknown as Findings,
  }
  const whole = JSON.stringify(result)
  const { got, messages } = sent(result)
  assert.ok(messages > 5, `${messages}`)
  assert.equal(JSON.stringify(got), whole)
  assert.ok(got.status === 'done')
  assert.equal(tablesText(got.findings.tables), JSON.stringify(tables))
  assert.equal(withTablesText(got.findings).text, JSON.stringify(result.findings))
  assert.equal(tablesText(tables), JSON.stringify(tables), 'also of rows that came whole')
})

test('what a process says of tables that its result has not changes nothing', () => {
  const failed: RunResult = { status: 'failed', error: { code: 'analysis_failed', detail: 'x' } }
  assert.equal(sent(failed).messages, 0)
  const received = new ReceivedRows()
  for (const table of ['nowhere', '__proto__', 'constructor'])
    received.add({ type: 'rows', id: 1, table, rows: [[1]] })
  assert.deepEqual(received.into(failed), failed)
  const done: RunResult = { status: 'done', findings: { tables: { a: tableOf(1) } } as unknown as Findings }
  assert.equal(JSON.stringify(received.into(structuredClone(done))), JSON.stringify(done))
})
