import assert from 'node:assert/strict'
import test from 'node:test'
import type { Cell } from '@assay/model/insight'
import { TemplateFault } from '../language/fault.ts'
import { type Inputs, outcome, render, table } from '../rendering/render-fixture.ts'
import { courseOf } from './course.ts'

const MEANINGS =
  'columns: { late: { label: the share of late flights, fmt: pct1, good: down, target: 0.2 }, delay: { label: delay, unit: minutes, good: down } }'
const COMPARE =
  '```analysis review\n{ method: compare, of: days, time: day, value: delay, period: week }\n```\n'
const DAYS = '```sql days\nselect 1\n```\n'

const days = (rows: Cell[][]) => table({ day: 'date', late: 'number', delay: 'number' }, rows)

function tiles(body: string, given: Inputs & { settings?: string }) {
  return render(body, given).reading.tiles
}

const compared = {
  current: 9,
  previous: 28,
  relative: -19 / 28,
  current_per_day: null,
  previous_per_day: null,
  current_period: 'the week of 2001-06-18',
  previous_period: 'the week of 2001-06-11',
  against: [{ what: 'year_before', value: 9, period: 'x', relative: 0, says: '' }],
  course: [10, 12, 28, 9].map((value, index) => ({ period: `week ${index}`, value })),
}

test('a comparison is a tile with its change in words, the year before and its course', () => {
  const [tile, ...more] = tiles(`${DAYS}${COMPARE}`, {
    settings: MEANINGS,
    blocks: { days: days([]), review: outcome(compared) },
  })
  assert.deepEqual(more, [])
  assert.equal(tile!.label, 'Delay')
  assert.equal(tile!.text, '9 minutes')
  assert.equal(tile!.when, 'the week of 18 June 2001')
  assert.deepEqual(tile!.changes, [
    { direction: 'down', text: 'down 68 % from the week of 11 June 2001', good: true },
    { direction: 'level', text: 'level with a year before', good: null },
  ])
  assert.equal(tile!.course!.points.length, 4)
})

test('a change that is ordinary noise is neither good nor bad, and doubtful data are told on the tile', () => {
  const [tile] = tiles(`${DAYS}${COMPARE}`, {
    settings: MEANINGS,
    blocks: {
      days: days([]),
      review: outcome({
        ...compared,
        grade: 'unclear',
        caveats: [{ code: 'days_missing', says: '3 of 7 days have no data.' }],
      }),
    },
  })
  assert.equal(tile!.changes[0]!.good, null)
  assert.equal(tile!.doubt, '3 of 7 days have no data.')
})

test('chosen tiles read the last time of a block, the first of two rows, or a number of an outcome', () => {
  const found = tiles(`${DAYS}\`\`\`sql totals\nselect 1\n\`\`\`\n${COMPARE}`, {
    settings: `tiles: [days.late, totals.late, review.z]\n${MEANINGS}`,
    blocks: {
      days: days([
        ['2001-06-02', 0.25, 1],
        ['2001-06-01', 0.2, 1],
        ['2001-06-03', 0.223, 1],
      ]),
      totals: table({ part: 'text', late: 'number' }, [
        ['now', 0.223],
        ['the days before', 0.17],
      ]),
      review: outcome({ ...compared, z: -1.0873 }),
    },
  })
  assert.deepEqual(
    found.map(({ label, text, when, changes, target }) => [label, text, when, changes[0]?.text, target]),
    [
      [
        'Share of late flights',
        '22.3 %',
        '3 June 2001',
        'down 2.7 points from 2 June 2001',
        'target 20 %: 2.3 points more',
      ],
      [
        'Share of late flights',
        '22.3 %',
        null,
        'up 5.3 points from the days before',
        'target 20 %: 2.3 points more',
      ],
      ['Delay: z', '1.09', null, undefined, null],
    ],
  )
})

test('a run refuses a tile that is no figure, at its place', () => {
  assert.throws(
    () => tiles(DAYS, { settings: 'tiles: [nights.late]', blocks: { days: days([]) } }),
    (error) => error instanceof TemplateFault && error.fault.line === 3,
  )
})

test('facts are tiles where no analysis has a figure and the template describes them', () => {
  const body = '{% fact "late", 0.223, fmt: "pct1" %} {% fact "other", 1 %}'
  const found = tiles(body, { settings: MEANINGS })
  assert.deepEqual(
    found.map(({ label, text }) => [label, text]),
    [['Share of late flights', '22.3 %']],
  )
})

test('the usual range is that of the middle 8 of 10 earlier steps, and needs 8 of them', () => {
  const steps = (count: number) => Array.from({ length: count }, (_, at) => ({ at: `${at}`, value: at }))
  // R: quantile(0:10, c(.1, .9)) is 1 and 9.
  const { low, high } = courseOf([...steps(11), { at: 'now', value: 99 }])!
  assert.deepEqual([low, high], [1, 9])
  assert.equal(courseOf(steps(8))!.low, null)
  assert.equal(courseOf(steps(2)), null)
})

test('a sentence that the text prints keeps its evidence, and the first paragraph its grade', () => {
  const blocks = { days: days([]), review: outcome({ ...compared, headline: 'It *fell*.', grade: 'likely' }) }
  const { reading } = render(`${DAYS}${COMPARE}\n# Title\n\n**{{ review.headline }}**\n\n{% doubts %}`, {
    blocks,
  })
  assert.equal(reading.grade, 'likely')
  assert.deepEqual(
    reading.proofs.map(({ block, says, of }) => [block, says, of]),
    [['review', 'It *fell*.', 'days']],
  )
  const silent = render(`${DAYS}${COMPARE}\n# Title\n\nNothing.`, { blocks }).reading
  assert.deepEqual([silent.grade, silent.proofs], [null, []])
})

test('a change of a column has no colour where the analysis of that column cannot tell it from chance', () => {
  const body = `${DAYS}\`\`\`analysis chance\n{ method: ab_test, of: days, group: part, value: late }\n\`\`\`\n`
  const columns = table({ part: 'text', late: 'number' }, [
    ['this period', 0.273],
    ['the days before', 0.236],
  ])
  const goodOf = (grade: 'firm' | 'unclear') => {
    const settings = `${MEANINGS}\ntiles: [days.late]`
    const [tile] = tiles(body, { settings, blocks: { days: columns, chance: outcome({ grade }) } })
    return tile!.changes[0]!.good
  }
  assert.deepEqual([goodOf('firm'), goodOf('unclear')], [false, null])
})
