import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openTestServer } from '../api/test-server.ts'
import { claimQuestions, mustAgree, noteConsents, readConsents } from './consents.ts'

const workspace_id = 'default'

test('the owner of a mailbox is asked once, and leaves once, whatever follows a plus sign in the address', async (t) => {
  const { store, secrets: box, parts } = await openTestServer(t)
  const { clock } = parts
  const ask = (addresses: string[]) => claimQuestions({ store, box }, { clock, workspace_id, addresses })
  assert.equal((await ask(['ada@example.com', 'ada+1@example.com', 'ADA+2@example.com'])).length, 1)
  assert.deepEqual(await ask(['ada+3@example.com', '+bob@example.com', 'ada@example.org']), [
    '+bob@example.com',
    'ada@example.org',
  ])
  const said = { clock, workspace_id, addresses: ['ada+1@example.com'] }
  await noteConsents({ store, box }, { ...said, what: 'left_at' })
  const consents = await readConsents({ store, box }, workspace_id, ['ada+9@example.com', 'ada@example.org'])
  assert.equal(mustAgree('ada+9@example.com', consents.get('ada+9@example.com')!, ['*']), true)
  assert.equal(mustAgree('ada@example.org', consents.get('ada@example.org')!, ['*']), false)
})
