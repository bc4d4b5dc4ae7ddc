/** Sign-ins: the browsers in which people are signed in. */
import { iso } from '@assay/model/clock'
import { AppError } from '@assay/model/errors'
import {
  boundScopes,
  includesScope,
  LOGIN_TOKEN,
  type Principal,
  type Scope,
  SIGN_INS_MOST,
  type SignIn,
} from '@assay/model/token'
import type { Page } from '../../contract/page.ts'
import { listOf } from '../../list.ts'
import type { Reader, Routine, Writer } from '../../rows.ts'
import { type Kinds, type Statement, statement } from '../../statement.ts'
import type { Input } from '../../store.ts'
import { by } from '../../tables/table.ts'
import { TOKENS, USERS } from '../../tables/workspaces/accounts.ts'
import { SIGN_INS } from '../../tables/workspaces/sign-ins.ts'

/**
 * The rights of a user of a sign-in provider. They are those of the groups at the last sign-in, whatever an older
 * token says. They end some time after that sign-in.
 */
export interface Held {
  /** The scopes of the user; null if the user comes from no provider. */
  held: Scope[] | null
}

/** The column `held` in a statement that joins `users`. */
export const HELD = `CASE WHEN users.issuer IS NULL THEN NULL
  WHEN users.admitted_until > :now THEN users.scopes ELSE '[]' END AS held`

export function withHeld<Row extends Held>(text: string, kinds: Kinds): Statement<Row> {
  return statement<Row>(text, { ...kinds, held: 'json' })
}

/** Returns the caller with the scopes that the user still has. Null if there is no caller or no scope is left. */
export function bounded(found: (Principal & Held) | undefined): Principal | null {
  if (!found) return null
  const { held, ...principal } = found
  if (held === null) return principal
  const scopes = boundScopes(principal.scopes, held)
  return scopes.length === 0 ? null : { ...principal, scopes }
}

const SHOWN = SIGN_INS.except('secret_hash', 'workspace_id', 'user_id', 'token_id', 'scopes', 'templates')
// A repeat after a crash has the same id and a new secret. Nobody has seen the first one.
const INSERT = SIGN_INS.insert<SignIn>(
  SIGN_INS.columns,
  `ON CONFLICT (sign_in_id) DO UPDATE SET secret_hash = excluded.secret_hash
     WHERE sign_ins.workspace_id = excluded.workspace_id AND sign_ins.user_id = excluded.user_id
   RETURNING ${SIGN_INS.list(SHOWN)}`,
)
const END_OLDEST = statement(
  `DELETE FROM sign_ins WHERE sign_in_id IN (
     SELECT sign_in_id FROM sign_ins WHERE workspace_id = :workspace_id AND user_id = :user_id AND sign_in_id <> :sign_in_id
     ORDER BY created_at DESC, sign_in_id DESC LIMIT 1000 OFFSET ${SIGN_INS_MOST - 1})`,
)
// The lock makes a change or deletion of the token wait. It then ends this sign-in too.
const LOCK_TOKEN = TOKENS.select(`${by('workspace_id', 'token_id')} FOR UPDATE`, ['expires_at', 'scopes'])
const LOCK_USER = USERS.select(`${by('workspace_id', 'user_id')} FOR UPDATE`, ['disabled'])
const FIND = withHeld<Principal & Held>(
  `SELECT sign_in_id AS token_id, sign_ins.token_id AS begun_with, sign_ins.workspace_id, sign_ins.user_id, sign_ins.scopes, templates, NULL AS collections, rate_limit, reader_id, ${HELD}
   FROM sign_ins JOIN workspaces ON workspaces.workspace_id = sign_ins.workspace_id
   LEFT JOIN users ON users.workspace_id = sign_ins.workspace_id AND users.user_id = sign_ins.user_id
   LEFT JOIN readers ON readers.workspace_id = sign_ins.workspace_id AND readers.user_id = sign_ins.user_id
   WHERE secret_hash = :secret_hash AND idle_ends_at > :now AND deleted_at IS NULL AND users.disabled IS NOT TRUE`,
  SIGN_INS.kinds,
)
const NOTE_USE = SIGN_INS.sql({
  sqlite: `UPDATE sign_ins SET last_used_at = :at, address = :address, idle_ends_at = min(:idle_ends_at, ends_at)
    WHERE sign_in_id = :sign_in_id AND last_used_at < :at`,
  postgres: `UPDATE sign_ins SET last_used_at = :at, address = :address, idle_ends_at = least(:idle_ends_at::timestamptz, ends_at)
    WHERE sign_in_id = :sign_in_id AND last_used_at < :at`,
})
const LIST = listOf(SIGN_INS, {
  columns: SHOWN,
  id: 'sign_in_id',
  always: 'idle_ends_at > :now',
  indexed: [['workspace_id', 'user_id']],
})
const DELETE = SIGN_INS.delete(by('workspace_id', 'user_id', 'sign_in_id'))
const DELETE_ALL = SIGN_INS.delete(`${by('workspace_id', 'user_id')} AND sign_in_id <> :except`)
// Deletes the tokens of logins, and the tokens of grants.
const DELETE_LOGINS = TOKENS.delete(
  `${by('workspace_id', 'user_id')}
   AND (name = :name OR EXISTS (SELECT 1 FROM grants WHERE grants.token_id = tokens.token_id))`,
)

const BY_PASSWORD = (table: string) => `NOT EXISTS (SELECT 1 FROM users
  WHERE users.workspace_id = ${table}.workspace_id AND users.user_id = ${table}.user_id AND issuer IS NOT NULL)`
const DELETE_PASSWORD_TOKENS = TOKENS.delete(
  `WHERE (name = :name OR EXISTS (SELECT 1 FROM grants WHERE grants.token_id = tokens.token_id))
   AND ${BY_PASSWORD('tokens')}`,
)
// Also deletes the sign-ins that began with the token of a login.
const DELETE_BY_PASSWORD = SIGN_INS.delete(
  `WHERE ${BY_PASSWORD('sign_ins')}
   AND (token_id IS NULL OR NOT EXISTS (SELECT 1 FROM tokens WHERE tokens.token_id = sign_ins.token_id))`,
)

/**
 * Returns the user of the sign-in. It locks the user if there is no token: a deletion of the user waits, and then
 * ends this sign-in too.
 */
function* userOf(tx: Writer, input: Input<'createSignIn'>) {
  const user = yield* tx.find(LOCK_USER, input)
  return user && !user.disabled ? { expires_at: null, scopes: input.scopes } : undefined
}

export function* createSignIn(tx: Writer, input: Input<'createSignIn'>): Routine<SignIn | null> {
  const { idle_ms, life_ms, ...rest } = input
  const { token_id, scopes } = input
  const token = token_id === null ? yield* userOf(tx, input) : yield* tx.find(LOCK_TOKEN, input)
  // The token may have lost scopes meanwhile.
  if (!token || !scopes.every((scope) => includesScope(token.scopes, scope))) return null
  const now = Date.parse(tx.now)
  const ends = [iso(now + life_ms), token.expires_at].filter((end) => end !== null)
  const signIn = yield* tx.find(INSERT, {
    ...rest,
    created_at: tx.now,
    last_used_at: tx.now,
    idle_ends_at: earliest(iso(now + idle_ms), ...ends),
    ends_at: earliest(...ends),
  })
  if (!signIn) throw new AppError('name_taken', `There is already a sign-in ${input.sign_in_id}.`)
  yield* tx.run(END_OLDEST, input)
  return signIn
}

const earliest = (...times: string[]): string => times.toSorted()[0]!

export function* findSignIn(from: Reader, secret_hash: string): Routine<Principal | null> {
  return bounded(yield* from.find(FIND, { secret_hash }))
}

/** Writes uses of sign-ins. It locks in the order of ids, so that nodes that write at once do not wait for each other. */
export function* noteSignInUses(tx: Writer, uses: Input<'noteSignInUses'>): Routine<void> {
  for (const { idle_ms, ...use } of uses.toSorted((a, b) => (a.sign_in_id < b.sign_in_id ? -1 : 1)))
    yield* tx.run(NOTE_USE, { ...use, idle_ends_at: iso(Date.parse(use.at) + idle_ms) })
}

export function listSignIns(from: Reader, query: Input<'listSignIns'>): Routine<Page<SignIn>> {
  return LIST.page(from, query)
}

export function* deleteSignIn(tx: Writer, input: Input<'deleteSignIn'>): Routine<boolean> {
  return (yield* tx.run(DELETE, input)) > 0
}

export function* deleteSignIns(tx: Writer, input: Input<'deleteSignIns'>): Routine<number> {
  const { workspace_id, user_id, except = '' } = input
  yield* tx.run(DELETE_LOGINS, { workspace_id, user_id, name: LOGIN_TOKEN })
  return yield* tx.run(DELETE_ALL, { workspace_id, user_id, except })
}

/**
 * Ends all that began with a password. It locks tokens before the sign-ins that began with them, as all transactions
 * do.
 */
export function* endPasswordSignIns(tx: Writer): Routine<number> {
  const tokens = yield* tx.run(DELETE_PASSWORD_TOKENS, { name: LOGIN_TOKEN })
  return tokens + (yield* tx.run(DELETE_BY_PASSWORD, {}))
}
