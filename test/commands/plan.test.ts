/**
 * Tests `assay plan --from`: the level, the spread and the traffic of a table and of a metric, as an author uses the
 * command.
 */
import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { after, before, test } from 'node:test'
import { temporaryFolder } from '../servers/service.ts'
import { openCommands } from './commands.ts'

const { folder, remove } = temporaryFolder()
after(remove)

const USERS = Array.from({ length: 2000 }, (_, user) => ({
  user,
  day: new Date(Date.UTC(2025, 2, 1 + Math.floor(user / 100))).toISOString().slice(0, 10),
  rows: 1 + (user % 3),
  bought: user % 2 === 0,
  amount: user % 10,
}))

/** Writes 100 new users on each of 20 days, with one to three rows each. Half of them bought. */
before(() => {
  const lines = USERS.flatMap(({ user, day, rows, bought, amount }) =>
    Array.from(
      { length: rows },
      () => `u${user},${day},${bought},${amount},DE,${amount + (Math.floor(user / 10) % 3) - 1}`,
    ),
  )
  writeFileSync(
    path.join(folder, 'visits.csv'),
    `user,day,bought,amount,country,before\n${lines.join('\n')}\n`,
  )
  mkdirSync(path.join(folder, 'metrics'))
  const metric = (name: string, value: string): void =>
    writeFileSync(
      path.join(folder, 'metrics', `${name}.yaml`),
      `metric: ${name}\nsource: { file: visits.csv }\ntime: { column: day }\nvalue: ${value}\n`,
    )
  metric('basket', '{ ratio: { numerator: sum(amount), denominator: count(*) } }')
  metric('revenue', 'sum(amount)')
  metric('largest', 'max(amount)')
})

const commands = openCommands({
  cwd: folder,
  env: { ASSAY_HOME: path.join(folder, 'home'), ASSAY_DATA: folder },
  keepPool: true,
})
after(() => commands.close())

async function plan(...args: string[]) {
  const { code, out, err } = await commands.run(['plan', ...args])
  return { status: code, out, err }
}

const VISITS = ['--from', 'visits.csv', '--unit', 'user']

test('a share of the table gives the units that R gives, and the days at the traffic of its units', async () => {
  const { status, out, err } = await plan(
    ...VISITS,
    '--value',
    'bought',
    '--time',
    'day',
    '--effect',
    '0.25',
    '--power',
    '0.9',
  )
  assert.equal(status, 0, err)
  // The example of R's ?power.prop.test: power.prop.test(p1 = .50, p2 = .75, power = .90) gives n = 76.7 in each
  // group.
  assert.equal(
    out,
    'visits.csv: bought is 50 % over 2,000 units (user), 100 a day in 20 days.\n' +
      '77 units in each of 2 groups, 154 in all.\n2 days at 100 units a day.\n',
  )
  assert.match(err, /let the test run for a whole week/)
})

test('a plan to exclude a loss takes the spread of the share as it is', async () => {
  const { out } = await plan(...VISITS, '--value', 'bought', '--margin', '10%')
  // The formula gives 2 (1.959964 + 0.841621)^2 0.25 / 0.1^2 = 392.4 in each group.
  assert.match(out, /^393 units in each of 2 groups/m)
})

test('rows of one unit are one observation, and a lift is a share of the mean', async () => {
  const mean = await plan(...VISITS, '--value', 'amount', '--lift', '10%')
  // The formula gives 2 (1.959964 + 0.841621)^2 8.254127 / 0.45^2 = 639.8 in each group.
  assert.match(
    mean.out,
    /amount is 4\.5 with a standard deviation of 2\.873 over 2,000 units \(user\)\.\n640 units/,
  )
  assert.doesNotMatch(mean.out, /day/)
  assert.match(mean.err, /--time/)
  const sums = USERS.map(({ rows, amount }) => rows * amount)
  const level = sums.reduce((sum, value) => sum + value, 0) / sums.length
  const { out } = await plan(
    ...VISITS,
    '--value',
    'amount',
    '--lift',
    '10%',
    '--aggregate',
    'sum',
    '--per-day',
    '50',
  )
  assert.ok(out.includes(`amount is ${level.toPrecision(4).replace(/\.?0+$/, '')} with`), out)
  assert.match(out, /units a day\.\n$/)
})

test('a covariate and a cap take their part of the spread, and shares divide the units', async () => {
  const { status, out, err } = await plan(
    ...VISITS,
    '--value',
    'amount',
    '--covariate',
    'before',
    '--winsorise',
    '95%',
    '--effect',
    '0.5',
    '--shares',
    '75%,25%',
  )
  assert.equal(status, 0, err)
  // The covariate is the amount plus 1, 0 or -1. So the standard deviation falls from 2.87 to less than 0.82, that of
  // the rest.
  const [, sd, control, arm] =
    /amount is 4\.5 with a standard deviation of (\S+) after before has taken its part .*\n(\d+) units in the control and (\d+) in the arm, /u.exec(
      out,
    )!
  assert.ok(Number(sd) > 0.7 && Number(sd) < 0.82, out)
  assert.ok(Math.abs(Number(control) / Number(arm) - 3) < 0.1, out)
  const wrong = await plan(...VISITS, '--value', 'amount', '--covariate', 'country', '--effect', '1')
  assert.match(wrong.err, /--covariate: "country" holds values of the type text, not a number/)
})

test('a ratio of a metric has the spread that the jackknife over units gives', async () => {
  const { status, out, err } = await plan('--from', 'metric:basket', '--unit', 'user', '--lift', '10%')
  assert.equal(status, 0, err)
  const [, value, sd] =
    / is (\S+) with a standard deviation of (\S+) over 2,000 units \(user\), 100 a day/.exec(out)!
  const [y, x] = USERS.reduce(([top, below], { rows, amount }) => [top + rows * amount, below + rows], [0, 0])
  assert.ok(Math.abs(Number(value) - y / x) < 0.001, out)
  const without = USERS.map(({ rows, amount }) => (y - rows * amount) / (x - rows))
  const middle = without.reduce((sum, one) => sum + one, 0) / without.length
  const variance = (USERS.length - 1) * without.reduce((sum, one) => sum + (one - middle) ** 2, 0)
  assert.ok(Math.abs(Number(sd) / Math.sqrt(variance) - 1) < 0.005, `${sd} beside ${Math.sqrt(variance)}`)
})

test('a sum of a metric is planned by what its units add up to', async () => {
  const [metric, table] = [
    await plan('--from', 'metric:revenue', '--unit', 'user', '--lift', '10%'),
    await plan(...VISITS, '--value', 'amount', '--time', 'day', '--aggregate', 'sum', '--lift', '10%'),
  ]
  assert.equal(metric.status, 0, metric.err)
  assert.equal(metric.out.split('\n')[1], table.out.split('\n')[1])
  assert.equal(metric.out.split('\n')[2], table.out.split('\n')[2])
})

test('every column that is missing or does not fit is told at once, with those that there are', async () => {
  const wrong = await plan(
    '--from',
    'visits.csv',
    '--unit',
    'usr',
    '--value',
    'country',
    '--time',
    'when',
    '--lift',
    '5%',
  )
  assert.equal(wrong.status, 2)
  assert.match(wrong.err, /--unit: visits\.csv has no column "usr"\. Did you mean "user"\?/)
  assert.match(wrong.err, /--value: "country" holds .*not a number, or true and false\./)
  assert.match(
    wrong.err,
    /--time: visits\.csv has no column "when"\. Known: user, day, bought, amount, country, before\./,
  )
  const none = await plan('--from', 'visits.csv', '--lift', '5%')
  assert.match(none.err, /--unit COLUMN\. visits\.csv has user, day/)
  assert.match(none.err, /--value COLUMN\./)
  const metric = await plan('--from', 'metric:revenue', '--unit', 'usr', '--lift', '5%')
  assert.equal(metric.status, 1)
  assert.match(metric.err, /"usr"/)
})

test('a metric that cannot be planned, and one that is not there, say so', async () => {
  const largest = await plan('--from', 'metric:largest', '--unit', 'user', '--lift', '5%')
  assert.equal(largest.status, 4)
  assert.match(largest.err, /cannot be added up for each unit/)
  const unknown = await plan('--from', 'metric:revenu', '--unit', 'user', '--lift', '5%')
  assert.equal(unknown.status, 3)
  assert.match(unknown.err, /Did you mean "revenue"\?/)
  assert.equal(
    (await plan('--from', 'nothing.csv', '--unit', 'user', '--value', 'x', '--lift', '5%')).status,
    3,
  )
  assert.match(
    (await plan('--from', 'metric:revenue', '--unit', 'user', '--value', 'x', '--lift', '5%')).err,
    /leave out --value/,
  )
})
