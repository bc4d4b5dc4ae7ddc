import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cronFault } from '@assay/model/cron'
import { cronAt, cronWords, timeOf } from '../../packages/console/src/words/cron.ts'

const WORDS = {
  '@daily': 'every day at 00:00',
  '@hourly': 'every hour',
  '@weekly': 'every Sunday at 00:00',
  '@monthly': 'on day 1 of each month at 00:00',
  '@yearly': 'on day 1 of January at 00:00',
  '30 6 * * MON-FRI': 'Monday to Friday at 06:30',
  '0 9 * * 1,3,5': 'every Monday, Wednesday and Friday at 09:00',
  '0 9 * * sun': 'every Sunday at 09:00',
  '5 6,18 * * *': 'every day at 06:05 and 18:05',
  '0 18 L * *': 'on the last day of each month at 18:00',
  '0 7 1,15 JAN,7 *': 'on day 1 and 15 of January and July at 07:00',
  '* * * * *': 'every minute',
  '*/15 * * * *': 'every 15 minutes',
  '10 * * * *': 'every hour at minute 10',
  '0 */6 * * *': 'every 6 hours',
  '*/30 * * * MON-FRI': 'every 30 minutes, Monday to Friday',
} as const

test('says a cron expression in words where that is short', () => {
  for (const [line, words] of Object.entries(WORDS)) {
    assert.equal(cronFault(line), null, line)
    assert.equal(cronWords(line), words, line)
  }
})

test('shows an expression itself if it would take many words', () => {
  const lines = [
    '*/7 * * * *',
    '0 */5 * * *',
    '0 8-18/2 * * *',
    '0 6 13 * FRI',
    '0 6 * * FRI#2',
    '0,30 8 * * *',
  ]
  for (const line of [...lines, '', '0 6', 'every day', '@never', '0 6 * * FUN'])
    assert.equal(cronWords(line), null, line)
})

test('writes an expression by days and a time, and reads both back', () => {
  for (const days of ['* * *', '* * MON-FRI', 'L * *']) {
    const line = cronAt(days, '08:05')
    assert.equal(cronFault(line), null, line)
    assert.deepEqual(timeOf(line), { time: '08:05', days })
  }
  assert.equal(cronAt(null, '08:05'), '0 * * * *')
  for (const line of ['', '0 * * * *', '0 6,18 * * *', '@daily', '*/5 6 * * *', '0 25 * * *', '60 6 * * *'])
    assert.equal(timeOf(line), null, line)
})
