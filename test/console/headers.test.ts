import assert from 'node:assert/strict'
import { test } from 'node:test'
import { draftsOf, headerChanges, NEW_HEADER, rowFaults } from '../../packages/console/src/drafts/headers.ts'
import { metadataFault, metadataOf, metadataRows } from '../../packages/console/src/drafts/metadata.ts'

const PRESENT = [
  { name: 'X-Team', value: 'reports', public: true },
  { name: 'Authorization', value: '•••• 0a1b2c3d', public: false },
  { name: 'X-Old', value: '•••• 99999999', public: false },
]

test('sends what was changed of the headers and nothing else, and never a fingerprint as a value', () => {
  const [team, secret, old] = draftsOf(PRESENT)
  assert.ok(team && secret && old)
  assert.deepEqual(headerChanges([team, secret, old], PRESENT), [])
  assert.deepEqual(headerChanges([{ ...team, value: 'sales' }, secret, old], PRESENT), [
    { name: 'X-Team', value: 'sales', public: true },
  ])
  assert.deepEqual(
    headerChanges([{ ...team, public: false }, secret, old], PRESENT),
    [{ name: 'X-Team', value: 'reports' }],
    'a value that was shown can be hidden without being typed again',
  )
  assert.deepEqual(headerChanges([team, { ...secret, value: 'new' }], PRESENT), [
    { name: 'Authorization', value: 'new' },
    { name: 'X-Old', value: null },
  ])
})

test('a header that was taken away and given anew is changed, in whatever case, and empty rows are nothing', () => {
  const drafts = [
    ...draftsOf(PRESENT.slice(0, 2)),
    NEW_HEADER,
    { ...NEW_HEADER, name: ' x-old ', value: 'a', public: true },
  ]
  assert.deepEqual(headerChanges(drafts, PRESENT), [{ name: 'x-old', value: 'a', public: true }])
  assert.deepEqual(
    headerChanges([{ ...NEW_HEADER, value: 'v' }]),
    [{ name: '', value: 'v' }],
    'a value without a name is for the service to refuse',
  )
})

test('a fault of what was sent stands at the row that it is of', () => {
  const drafts = [...draftsOf(PRESENT), NEW_HEADER, { ...NEW_HEADER, name: 'host', value: 'x' }]
  assert.deepEqual(
    rowFaults({ 'headers.0.name': 'is set by the service', url: 'is closed' }, drafts, PRESENT),
    {
      'headers.4.name': 'is set by the service',
      url: 'is closed',
    },
  )
})

test('metadata is read from its rows: trimmed names, no empty rows, and the last of two of one name', () => {
  const rows = [...metadataRows({ team: 'ops' }), { name: ' team ', value: 'sales' }, { name: '', value: '' }]
  assert.deepEqual(metadataOf(rows), { team: 'sales' })
  assert.equal(metadataFault(rows, 0), 'stands again in row 2, whose value is used')
  assert.equal(metadataFault(rows, 1), undefined)
  assert.equal(metadataFault(rows, 2), undefined)
  assert.equal(metadataFault([{ name: ' ', value: 'x' }], 0), 'has no name')
})
