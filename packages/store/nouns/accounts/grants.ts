/** Grants: the rights that people have given clients to act in their name. */
import { iso } from '@assay/model/clock'
import type { Grant, StoredLetIn } from '../../contract/accounts/grants.ts'
import type { Reader, Routine, Writer } from '../../rows.ts'
import { statement } from '../../statement.ts'
import type { Input } from '../../store.ts'
import { GRANTS } from '../../tables/accounts/grants.ts'
import { by } from '../../tables/table.ts'
import { TOKENS } from '../../tables/workspaces/accounts.ts'

const INSERT_TOKEN = TOKENS.insert(TOKENS.columns)
const INSERT = GRANTS.insert(GRANTS.columns)
const grantBy = (column: 'code_hash' | 'token_id') =>
  GRANTS.sql<Grant>(
    `SELECT grants.token_id, workspace_id, user_id, client_id, redirect_uri, challenge, resource, grants.scopes, generation
     FROM grants JOIN tokens ON tokens.token_id = grants.token_id
     WHERE grants.${column} = :${column} AND ends_at > :now`,
  )
const FIND_BY_CODE = grantBy('code_hash')
const FIND_BY_TOKEN = grantBy('token_id')
const LIST = statement<StoredLetIn>(
  `SELECT tokens.token_id, name, grants.scopes, redirect_uri, tokens.created_at, last_used_at, ends_at
   FROM tokens CROSS JOIN grants
   WHERE workspace_id = :workspace_id AND user_id = :user_id
     AND grants.token_id = tokens.token_id AND generation > 0 AND ends_at > :now
   ORDER BY tokens.created_at DESC, tokens.token_id DESC LIMIT :limit`,
  { ...TOKENS.kinds, ...GRANTS.kinds, limit: 'integer' },
)
const LOCK = GRANTS.select(`${by('token_id', 'generation')} AND ends_at > :now FOR UPDATE`, ['begun_at'])
// The token is locked before its grant, as in a deletion of the token, so that nobody waits in a circle.
const LOCK_TOKEN = TOKENS.select(`${by('token_id')} FOR UPDATE`, ['token_id'])
const DELETE_UNREDEEMED = TOKENS.delete(
  `${by('workspace_id', 'user_id')}
   AND EXISTS (SELECT 1 FROM grants WHERE grants.token_id = tokens.token_id AND generation = 0)`,
)
const USE = GRANTS.sql(
  'UPDATE grants SET generation = generation + 1, ends_at = :ends_at WHERE token_id = :token_id',
)
const RENEW = TOKENS.update(['token_hash', 'expires_at', 'scopes'], by('token_id'))

export function* createGrant(tx: Writer, input: Input<'createGrant'>): Routine<true> {
  const ends_at = iso(Date.parse(tx.now) + input.code_ms)
  const token = { created_at: tx.now, last_used_at: null, templates: null, expires_at: ends_at }
  yield* tx.run(DELETE_UNREDEEMED, input)
  yield* tx.run(INSERT_TOKEN, { ...input, ...token })
  yield* tx.run(INSERT, { ...input, generation: 0, begun_at: tx.now, ends_at })
  return true
}

export function* findGrant(from: Reader, input: Input<'findGrant'>): Routine<Grant | null> {
  return (yield* from.find('code_hash' in input ? FIND_BY_CODE : FIND_BY_TOKEN, input)) ?? null
}

export function* listGrants(from: Reader, query: Input<'listGrants'>): Routine<StoredLetIn[]> {
  return yield* from.all(LIST, query)
}

export function* useGrant(tx: Writer, input: Input<'useGrant'>): Routine<boolean> {
  yield* tx.find(LOCK_TOKEN, input)
  const found = yield* tx.find(LOCK, input)
  if (!found) return false
  const now = Date.parse(tx.now)
  const end = Math.min(now + input.idle_ms, Date.parse(found.begun_at) + input.life_ms)
  const { token_id, token_hash, scopes } = input
  yield* tx.run(USE, { token_id, ends_at: iso(end) })
  yield* tx.run(RENEW, { token_id, token_hash, scopes, expires_at: iso(Math.min(now + input.token_ms, end)) })
  return true
}
