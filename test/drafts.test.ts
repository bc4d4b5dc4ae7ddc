/** `assay draft`: a short form of the proof over public tables, and the command as an author meets it. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { after, test } from 'node:test'
import { judgeAll, violationsOf } from '../proofs/drafts.ts'
import { assay, cleanEnvironment, temporaryFolder } from './service.ts'

const { folder, remove } = temporaryFolder()
after(remove)

test('drafts of public tables find the roles that were labelled by hand, pass the checks and run', async () => {
  const found = await judgeAll(['seattle-weather.csv', 'gapminder.json', 'burtin.json', 'ucb-admissions.csv'])
  assert.deepEqual(violationsOf(found), [])
  assert.deepEqual(Object.keys(found[0]!.drafted.metrics), [
    'seattle_weather_precipitation',
    'seattle_weather_temp_max',
    'seattle_weather_rows',
  ])
  assert.deepEqual(found[2]!.drafted.metrics, {})
})

function run(...args: string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [assay, 'draft', ...args], {
    cwd: folder,
    encoding: 'utf8',
    env: cleanEnvironment({ ASSAY_HOME: path.join(folder, 'home') }),
  })
  return { status, out: stdout, err: stderr }
}
const read = (file: string): string => readFileSync(path.join(folder, file), 'utf8')

test('a date of two readings is asked and left out, and an answer settles it', () => {
  const rows = Array.from(
    { length: 60 },
    (_, at) => `A-${at},0${1 + (at % 9)}/0${1 + (at % 7)}/2025,${10 + at}.50,${at % 2 ? 'DE' : 'FR'}`,
  )
  writeFileSync(path.join(folder, 'orders.csv'), `order_id,due,amount,country\n${rows.join('\n')}\n`)
  const asked = run('orders.csv')
  assert.equal(asked.status, 1)
  assert.match(asked.err, /ASK {2}due: .*dates: dmy.*dates: mdy/)
  assert.match(read('orders.md'), /^# ASK: due: /m)
  assert.doesNotMatch(read('orders.md'), /"due"|column: due/)
  assert.equal(run('orders.csv', '--source', 'dates: dmy').status, 4)
  const answered = run('orders.csv', '--source', 'dates: dmy', '--force')
  assert.equal(answered.status, 0, answered.err)
  const metric = read('metrics/orders_amount.yaml')
  assert.match(metric, /dates: dmy[\s\S]*column: due[\s\S]*value: sum\("amount"\)[\s\S]*- country/)
  assert.match(metric, /^# Drafted\. Assumed: the value is the sum of a step/)
  assert.equal(run('orders.csv', '--source', 'file: x', '--force').status, 2)
  assert.equal(run('nothing.csv').status, 3)
})
