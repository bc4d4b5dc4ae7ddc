import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openTestServer } from '../test-server.ts'

const PATH = '/v1alpha/outgoing'

test('an admin reads what left, stops it and opens it again; budgets, hosts and the model are the operator’s', async (t) => {
  const api = await openTestServer(t)
  const { ask, store, parts } = api
  await store.createWorkspace({ workspace_id: 'guests', name: 'Guests', data_folder: null })
  const guest = await api.token('guests', ['admin'])
  const as = { token: guest }
  await parts.ledger.take('guests', 'query', 3)
  const before = (await ask('GET', PATH, as)).json()
  assert.deepEqual(
    [before.workspace_id, before.stopped, before.model, before.hosts],
    ['guests', null, true, null],
  )
  assert.deepEqual(before.budgets[0], { kind: 'mail', budget: 5000, own: false, today: 0 })
  assert.deepEqual(before.budgets.at(-1), { kind: 'query', budget: null, own: false, today: 3 })
  assert.deepEqual(
    before.days.map(({ kind, count }: { kind: string; count: number }) => [kind, count]),
    [['query', 3]],
  )
  const change = (body: object, token = guest, query = '') => ask('PATCH', `${PATH}${query}`, { token, body })
  const stopped = (await change({ stopped: true, reason: 'a leak' })).json().stopped
  assert.deepEqual([stopped.reason, stopped.by_operator], ['a leak', false])
  assert.equal((await parts.ledger.take('guests', 'query'))?.cause, 'stopped')
  assert.equal((await change({ stopped: false })).json().stopped, null)
  assert.equal(await parts.ledger.take('guests', 'query'), null)

  for (const body of [{ budgets: { mail: 1 } }, { model: false }, { hosts: null }]) {
    const refused = await change(body)
    assert.equal(refused.status, 403)
    assert.match(refused.json().detail, /an admin of this workspace may set "stopped"/)
  }
  assert.equal((await change({ stopped: true }, api.tokens.analyst)).status, 403)
  const operator = (body: object) => change(body, api.tokens.admin, '?workspace_id=guests')
  const rules = {
    budgets: { mail: 10, query: 5 },
    model: false,
    hosts: ['DB.example.com', '*.example.org', '10.0.0.5'],
  }
  const after = (await operator(rules)).json()
  assert.deepEqual([after.model, after.hosts], [false, ['db.example.com', '*.example.org', '10.0.0.5']])
  assert.deepEqual(after.budgets.at(-1), { kind: 'query', budget: 5, own: true, today: 4 })
  const usual = (await operator({ budgets: { query: null } })).json().budgets
  assert.deepEqual([usual[0].budget, usual.at(-1).budget], [10, null])
  const fault = (await operator({ hosts: ['example.com:443', 'https://x'] })).json().errors
  assert.deepEqual([fault.length, fault[1].path], [2, 'hosts.1'])

  await operator({ stopped: true })
  const own = await change({ stopped: false })
  assert.deepEqual([own.status, own.json().detail.split(' has ')[0]], [403, 'The operator'])
  assert.equal((await operator({ stopped: false })).json().stopped, null)
  assert.equal((await ask('GET', `${PATH}?workspace_id=nobody`)).status, 404)
  assert.equal((await ask('GET', `${PATH}?days=93`)).status, 422)
  const { items } = (await ask('GET', '/v1alpha/audit?action=outgoing.change', as)).json()
  assert.deepEqual(items[0].fields, ['stopped'])
  assert.ok(items.length >= 5, 'in the trail of the workspace, whoever changed it')
})
