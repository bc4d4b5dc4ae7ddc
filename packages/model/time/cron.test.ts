import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Cron } from 'croner'
import * as fc from 'fast-check'
import { cronFault, timesAfter } from './cron.ts'

const MINUTE = 60_000

interface Minute {
  at: number
  /** The minute, hour, day of month, month and day of week. */
  wall: [number, number, number, number, number]
  /** The wall time as minutes since an epoch of its own. It jumps where the clocks do. */
  shown: number
}

/** Returns what a clock in the zone shows in each minute, by Intl alone. */
function minutesOf(zone: string, from: string, days: number): Minute[] {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone: zone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
  })
  const begin = Date.parse(from)
  return Array.from({ length: days * 1440 }, (_, index) => {
    const at = begin + index * MINUTE
    const part = Object.fromEntries(format.formatToParts(at).map(({ type, value }) => [type, Number(value)]))
    const shown = Date.UTC(part.year!, part.month! - 1, part.day, part.hour, part.minute) / MINUTE
    const weekday = new Date(shown * MINUTE).getUTCDay()
    return { at, wall: [part.minute!, part.hour!, part.day!, part.month!, weekday], shown }
  })
}

function wallOf(shown: number): Minute['wall'] {
  const date = new Date(shown * MINUTE)
  return [
    date.getUTCMinutes(),
    date.getUTCHours(),
    date.getUTCDate(),
    date.getUTCMonth() + 1,
    date.getUTCDay(),
  ]
}

const LEAST = [0, 0, 1, 1, 0]
const MOST = [59, 23, 31, 12, 7]

function has(field: string, index: number, value: number): boolean {
  return field.split(',').some((item) => {
    const [range, step = '1'] = item.split('/')
    const [first, last = first] = range === '*' ? [LEAST[index], MOST[index]] : range!.split('-').map(Number)
    const fits = (one: number): boolean =>
      one >= first! && one <= last! && (one - first!) % Number(step) === 0
    return fits(value) || (index === 4 && value === 0 && fits(7))
  })
}

function matches(line: string, wall: Minute['wall']): boolean {
  const fields = line.split(' ')
  const [minute, hour, day, month, weekday] = fields.map((field, index) => has(field, index, wall[index]!))
  const either = fields[2] !== '*' && fields[4] !== '*'
  return minute! && hour! && month! && (either ? day! || weekday! : day! && weekday!)
}

/** Applies the rule of docs/schedules.md minute by minute. */
function expected(line: string, minutes: Minute[]): number[] {
  const [minute, hour] = line.split(' ')
  const fixed = !/[*/]/.test(`${minute}${hour}`)
  const seen = new Set<number>()
  const due: number[] = []
  for (const [index, { at, wall, shown }] of minutes.entries()) {
    const before = minutes[index - 1]
    const skipped =
      fixed && before && shown > before.shown + 1
        ? Array.from({ length: shown - before.shown - 1 }, (_, gap) => before.shown + 1 + gap)
        : []
    const repeated = seen.has(shown)
    seen.add(shown)
    if (skipped.some((one) => matches(line, wallOf(one)))) due.push(at)
    else if (matches(line, wall) && !(fixed && repeated)) due.push(at)
  }
  return due
}

/** Four days around each change of clocks in 2026, and around rarer changes. */
const CHANGES: [zone: string, days: string[]][] = [
  ['Europe/Berlin', ['2026-03-27', '2026-10-23']],
  ['America/New_York', ['2026-03-06', '2026-10-30']],
  ['Australia/Lord_Howe', ['2026-04-02', '2026-10-01']],
  ['Pacific/Chatham', ['2026-04-02', '2026-09-24']],
  ['America/Havana', ['2026-03-06', '2026-10-30']],
  ['America/Santiago', ['2026-04-02', '2026-09-04']],
  ['Asia/Beirut', ['2026-03-26', '2026-10-22']],
  ['Africa/Cairo', ['2026-04-22', '2026-10-28']],
  ['America/Scoresbysund', ['2026-03-26', '2026-10-22']],
  // The zone left out a full day.
  ['Pacific/Apia', ['2011-12-28']],
  ['Asia/Kolkata', ['2026-03-27']],
]

const WINDOWS = CHANGES.flatMap(([zone, days]) =>
  days.map((day) => ({ zone, minutes: minutesOf(zone, `${day}T00:00:00Z`, 4) })),
)

/** Returns a window of `hours` hours before and after its change of clocks, or the middle of a window without one. */
function around({ zone, minutes }: (typeof WINDOWS)[number], hours: number): (typeof WINDOWS)[number] {
  const jump = minutes.findIndex(({ shown }, index) => index > 0 && shown !== minutes[index - 1]!.shown + 1)
  const middle = jump < 0 ? minutes.length / 2 : jump
  return { zone, minutes: minutes.slice(Math.max(0, middle - hours * 60), middle + hours * 60) }
}

function check(line: string, { zone, minutes }: (typeof WINDOWS)[number]): void {
  const first = minutes[0]!.at
  const last = minutes.at(-1)!.at
  const wanted = expected(line, minutes).filter((at) => at > first)
  const found = timesAfter(line, zone, first, wanted.length + 1).filter((at) => at <= last)
  const texts = (times: number[]): string[] => times.map((at) => new Date(at).toISOString())
  assert.deepEqual(texts(found), texts(wanted), `${line} in ${zone}`)
}

const list = (least: number, most: number) =>
  fc
    .array(fc.integer({ min: least, max: most }), { minLength: 1, maxLength: 3 })
    .map((items) => items.join(','))
const range = (least: number, most: number) =>
  fc
    .tuple(fc.integer({ min: least, max: most }), fc.integer({ min: least, max: most }))
    .map(([a, b]) => `${Math.min(a, b)}-${Math.max(a, b)}`)
const step = (most: number) => fc.integer({ min: 2, max: most }).map((size) => `*/${size}`)

const lines = fc
  .tuple(
    fc.oneof(fc.constant('*'), list(0, 59), range(0, 59), step(30)),
    fc.oneof(fc.constant('*'), list(0, 3), list(0, 23), range(0, 23), step(12)),
    fc.oneof({ weight: 4, arbitrary: fc.constant('*') }, list(1, 31)),
    fc.constant('*'),
    fc.oneof({ weight: 4, arbitrary: fc.constant('*') }, list(0, 7), range(0, 6)),
  )
  .map((fields) => fields.join(' '))

test('each change of the clocks in each zone gives the times of the rule', () => {
  for (const line of [
    '30 2 * * *',
    '0 0 * * *',
    '30 0 * * *',
    '0,30 1-3 * * *',
    '15 2 * * *',
    '45 23 * * *',
    '30 12 * * *',
    '0 * * * *',
    '*/15 * * * *',
    '*/30 2 * * *',
    '0 3 * * SUN',
  ])
    for (const window of WINDOWS) check(line.replace('SUN', '0'), window)
  // Checking each minute of all four days takes seconds, so this window is shorter.
  for (const window of WINDOWS) check('* * * * *', around(window, 3))
})

test('any line gives the times that a clock on the wall shows', () => {
  const windows = fc.constantFrom(...WINDOWS)
  const near = windows.map((window) => around(window, 13))
  const over = (some: fc.Arbitrary<(typeof WINDOWS)[number]>, numRuns: number): void =>
    fc.assert(
      fc.property(lines, some, (line, window) => check(line, window)),
      { numRuns },
    )
  over(near, 150)
  over(windows, 15)
})

test('times that are asked for one by one are those that are asked for at once', () => {
  fc.assert(
    fc.property(lines, fc.constantFrom(...WINDOWS), (line, { zone, minutes }) => {
      const begin = minutes[0]!.at
      const together = timesAfter(line, zone, begin, 40)
      let last = begin
      const apart = together.map(() => (last = timesAfter(line, zone, last, 1)[0]!))
      assert.deepEqual(apart, together)
    }),
    { numRuns: 60 },
  )
})

test('the names stand for what they say', () => {
  const first = (line: string, zone = 'UTC') =>
    new Date(timesAfter(line, zone, Date.parse('2026-06-17T10:30:00Z'), 1)[0]!).toISOString()
  assert.equal(first('@hourly'), '2026-06-17T11:00:00.000Z')
  assert.equal(first('@daily'), '2026-06-18T00:00:00.000Z')
  assert.equal(first('@daily', 'Europe/Berlin'), '2026-06-17T22:00:00.000Z')
  assert.equal(first('@weekly'), '2026-06-21T00:00:00.000Z')
  assert.equal(first('@monthly'), '2026-07-01T00:00:00.000Z')
  assert.equal(first('@yearly'), '2027-01-01T00:00:00.000Z')
  assert.equal(first('0 0 29 2 *'), '2028-02-29T00:00:00.000Z')
  assert.equal(first('0 0 L * *'), '2026-06-30T00:00:00.000Z')
})

test('a week may end on SUN', () => {
  const from = Date.parse('2026-01-01T00:00:00Z')
  for (const [line, same] of [
    ['0 0 * * MON-SUN', '0 0 * * *'],
    ['0 0 * * SUN-SUN', '0 0 * * *'],
    ['0 0 * * sat-sun', '0 0 * * SAT,SUN'],
    ['0 0 * * FRI-SUN/2', '0 0 * * FRI,SUN'],
  ] as const) {
    assert.equal(cronFault(line), null, line)
    assert.deepEqual(timesAfter(line, 'UTC', from, 20), timesAfter(same, 'UTC', from, 20), line)
  }
})

test('each bad line gets a sentence that says what is wrong', () => {
  const bad: [line: string, says: RegExp][] = [
    ['', /is empty/],
    ['* * * *', /has 4 fields and not five/],
    ['daily', /^has one field and not five/],
    ['* * * * * *', /has 6 fields/],
    ['61 * * * *', /minute: "61" is not within 0 to 59/],
    ['0 24 * * *', /hour: "24" is not within 0 to 23/],
    ['0 0 0 * *', /day of month: "0" is not within 1 to 31/],
    ['0 0 * 13 *', /month: "13" is not within 1 to 12 or JAN to DEC/],
    ['0 0 * * FUNDAY', /day of week: "FUNDAY" is not within 0 to 7 or SUN to SAT/],
    ['0 22-2 * * *', /hour: 22-2 runs backwards; .* 22-23,0-2/],
    ['1,,2 * * * *', /minute: an item of the list is empty/],
    ['*/0 * * * *', /minute: the step 0/],
    ['*/90 * * * *', /minute: the step 90/],
    ['5/15 * * * *', /minute: a step takes a range or \*, such as 5-59\/15/],
    ['1.5 * * * *', /cannot be read/],
    ['0 0 31 2 *', /never comes/],
    ['@reboot', /@reboot is not a known name; the names are @yearly/],
    ['@fortnightly', /is not a known name/],
    [`${'1,'.repeat(200)}1 * * * *`, /characters/],
    ['\u0000 * * * *', /cannot be read/],
  ]
  for (const [line, says] of bad) assert.match(cronFault(line) ?? 'no fault', says, line)
  assert.match(cronFault('0 0 * * FRI-MON') ?? '', /FRI-MON runs backwards; .* 5-7,0-1/)
  for (const line of ['@daily', '0 7 * * MON-FRI', '  0  7 1,15 */2 SUN ', '0 0 L * *', '0 9 * * 5#2'])
    assert.equal(cronFault(line), null, line)
})

test('whatever is written is judged, and what is judged right has a time', () => {
  const field = fc.stringMatching(/^[0-9*,/\-LW#A-Za-z?]{1,8}$/)
  fc.assert(
    fc.property(fc.array(field, { minLength: 4, maxLength: 6 }), (fields) => {
      const line = fields.join(' ')
      if (cronFault(line) === null) assert.ok(timesAfter(line, 'Europe/Berlin', 0, 1).length === 1, line)
    }),
    { numRuns: 500 },
  )
})

test('looks for no instant beyond the last requested one, however many there are', (t) => {
  const asked = t.mock.method(Cron.prototype, 'nextRun')
  const begin = Date.UTC(2026, 10, 24)
  for (const [line, step] of [
    ['* * * * *', 60_000],
    ['0 0 * * *', 86_400_000],
  ] as const) {
    const until = begin + 3 * step
    const before = asked.mock.callCount()
    const times = timesAfter(line, 'UTC', begin, 1000, until)
    assert.deepEqual(
      times,
      [1, 2, 3].map((nth) => begin + nth * step),
    )
    assert.equal(asked.mock.callCount() - before, 4, line)
    assert.deepEqual(timesAfter(line, 'UTC', begin, 2, until), times.slice(0, 2))
  }
})
