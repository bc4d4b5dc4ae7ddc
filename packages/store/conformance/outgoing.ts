/** The ledger: counts by day, rules of what may leave, and deliveries that they hold back. */
import assert from 'node:assert/strict'
import { OPEN_RULES, type OutgoingCount } from '@assay/model/outgoing'
import {
  addWebhook,
  type ConformanceTests,
  claimAll,
  otherWorkspace,
  outcome,
  register,
  SECOND,
  send,
  WORKSPACE,
} from './given.ts'

const DAY = '2026-03-04'

function counted(over: Partial<OutgoingCount> = {}): OutgoingCount & { workspace_id: string } {
  return { workspace_id: WORKSPACE, day: DAY, kind: 'mail', count: 1, refused: 0, bytes: 0, ...over }
}

export const outgoingTests: ConformanceTests = {
  'adds counts of many nodes by day and kind, for each workspace alone': async ({ store }) => {
    const other = await otherWorkspace(store)
    await Promise.all([
      store.countOutgoing([
        counted({ count: 3, bytes: 10 }),
        counted({ kind: 'query', refused: 2, count: 0 }),
      ]),
      store.countOutgoing([counted({ kind: 'query' }), counted({ count: 2, bytes: 5 })]),
      store.countOutgoing([counted({ day: '2026-03-03', count: 7 }), counted({ count: -1 })]),
    ])
    await store.countOutgoing([
      { ...counted(), workspace_id: other },
      { ...counted(), workspace_id: 'nobody' },
    ])
    const list = (workspace_id: string, since: string) => store.listOutgoing({ workspace_id, since })
    const mail = { day: DAY, kind: 'mail', count: 4, refused: 0, bytes: 15 }
    const query = { day: DAY, kind: 'query', count: 1, refused: 2, bytes: 0 }
    const before = { day: '2026-03-03', kind: 'mail', count: 7, refused: 0, bytes: 0 }
    assert.deepEqual(await list(WORKSPACE, '2026-03-01'), [mail, query, before])
    assert.deepEqual(await list(WORKSPACE, DAY), [mail, query])
    const now = await store.readOutgoing({ workspace_ids: [WORKSPACE, other, 'nobody'], day: DAY })
    const of = new Map(now.map((one) => [one.workspace_id, one]))
    assert.deepEqual([...of.keys()].toSorted(), [WORKSPACE, other].toSorted())
    assert.deepEqual(of.get(WORKSPACE)!.rules, OPEN_RULES)
    assert.deepEqual(of.get(other)!.counts, [{ ...mail, count: 1, bytes: 0 }])
    await store.deleteWorkspace(other)
    assert.deepEqual(await list(other, '2026-03-01'), [])
    assert.equal(await store.pruneAudit({ before: `${DAY}T12:00:00.000Z`, limit: 10 }), 1)
    assert.deepEqual(await list(WORKSPACE, '2026-03-01'), [mail, query])
  },

  'keeps what owners of mail addresses have said, for each workspace alone': async ({ store }) => {
    const other = await otherWorkspace(store)
    const [asked_at, confirmed_at, left_at] = [1, 2, 3].map((hour) => `${DAY}T0${hour}:00:00.000Z`)
    const note = (workspace_id: string, address_hashes: string[], said: object) =>
      store.noteMailConsents({ workspace_id, address_hashes, note: said })
    await note(WORKSPACE, ['b', 'a'], { asked_at })
    await note(WORKSPACE, ['a'], { confirmed_at })
    await note(WORKSPACE, ['a'], { left_at })
    await note(other, ['a'], { left_at: asked_at })
    const find = (workspace_id: string) =>
      store.findMailConsents({ workspace_id, address_hashes: ['a', 'b', 'c'] })
    const found = (await find(WORKSPACE)).toSorted((x, y) => (x.address_hash < y.address_hash ? -1 : 1))
    assert.deepEqual(found, [
      { address_hash: 'a', asked_at, confirmed_at, left_at },
      { address_hash: 'b', asked_at, confirmed_at: null, left_at: null },
    ])
    const claim = (hour: number, before: number) =>
      store.claimMailQuestions({
        workspace_id: WORKSPACE,
        address_hashes: ['b', 'new'],
        at: `${DAY}T0${hour}:00:00.000Z`,
        before: `${DAY}T0${before}:00:00.000Z`,
      })
    const claims = await Promise.all([claim(4, 1), claim(4, 1), claim(4, 1)])
    assert.deepEqual(claims.flat(), ['new'], 'one of all that ask at once')
    assert.deepEqual(await claim(5, 4), ['b'])
    await store.deleteWorkspace(other)
    assert.deepEqual(await find(other), [])
    assert.equal((await find(WORKSPACE)).length, 2)
  },

  'keeps the rules of a workspace beside its caps': async ({ store }) => {
    const workspace_id = await otherWorkspace(store)
    const stopped = { at: `${DAY}T00:00:00.000Z`, user_id: 'ada', by_operator: true, reason: null }
    assert.deepEqual(await store.changeOutgoing({ workspace_id, patch: { stopped } }), {
      ...OPEN_RULES,
      stopped,
    })
    await store.updateWorkspace({ workspace_id, patch: { max_queued: 3 } })
    const patch = { budgets: { mail: 5 }, hosts: ['db.example.com'] }
    const rules = { ...OPEN_RULES, stopped, ...patch }
    assert.deepEqual(await store.changeOutgoing({ workspace_id, patch }), rules)
    const [now] = await store.readOutgoing({ workspace_ids: [workspace_id], day: DAY })
    assert.deepEqual(now?.rules, rules)
    assert.equal((await store.getWorkspace(workspace_id))?.max_queued, 3)
    assert.equal(await store.changeOutgoing({ workspace_id: 'nobody', patch }), null)
  },

  'holds deliveries back without counting a try, and lets them go when the rules change or a minute is over':
    async ({ store, elapse }) => {
      await register(store)
      const webhook = await addWebhook(store)
      await send(store, webhook, 2)
      const open = await addWebhook(store)
      const shown = async () => {
        const found = await store.getWebhook(webhook)
        return [found?.held_reason, found?.failures]
      }
      const hold = async (): Promise<void> => {
        const claimed = await claimAll(store)
        assert.deepEqual(
          claimed.map(({ attempt }) => attempt),
          [1, 1],
        )
        await store.releaseDeliveries(claimed.map((one) => ({ ...one, held: 'It is stopped.' })))
      }
      await hold()
      assert.deepEqual(await shown(), ['It is stopped.', 0])
      assert.deepEqual(await claimAll(store), [])
      await send(store, open)
      const [other] = await claimAll(store)
      assert.equal(other?.webhook.webhook_id, open.webhook_id, 'others are not held back')
      await store.recordAttempt(outcome(other))
      await store.changeOutgoing({ workspace_id: WORKSPACE, patch: { budgets: { webhook: 10 } } })
      assert.deepEqual(await shown(), [null, 0])
      await hold()
      await elapse(61 * SECOND)
      const again = await claimAll(store)
      assert.equal(again.length, 2)
      await store.recordAttempts(again.map((one) => outcome(one)))
      assert.deepEqual(await shown(), [null, 0])
      const [first] = (
        await store.listDeliveries({ workspace_id: WORKSPACE, webhook_id: webhook.webhook_id, limit: 1 })
      ).items
      assert.deepEqual([first?.status, first?.attempt_count], ['delivered', 1])
    },
}
