/** The first user of a service, and the admin token of ASSAY_TOKEN or of the first start. */
import { AppError } from '@assay/model/errors'
import { uuidv7 } from '@assay/model/ids'
import { DEFAULT_WORKSPACE, SETTING_TOKEN, type Token } from '@assay/model/token'
import type { Store } from '@assay/store/store'
import type { Config } from '../config/config.ts'
import type { Logger } from '../runtime/log.ts'
import { hashToken, newToken } from '../runtime/secrets.ts'

/** The user that owns the first token. It has no password until an admin sets one. */
export const ADMIN_USER = 'admin'

export async function ensureAdmin(store: Store): Promise<void> {
  const admin = { user_id: ADMIN_USER, username: ADMIN_USER, workspace_id: DEFAULT_WORKSPACE }
  if (await store.findUser(admin)) return
  await store.createUser({ ...admin, scopes: ['admin'], password_hash: null }).catch((error: unknown) => {
    if (!(error instanceof AppError && error.code === 'name_taken')) throw error
  })
}

/** Ends all sign-ins and tokens that a password began, if ASSAY_PASSWORD_LOGIN is off. */
export async function endPasswords(
  store: Store,
  { passwordLogin }: Pick<Config, 'passwordLogin'>,
  log: Logger,
): Promise<void> {
  if (passwordLogin === 'on') return
  const ended = await store.endPasswordSignIns()
  if (ended > 0) log.info({ ended }, 'sign-ins by a password have ended: ASSAY_PASSWORD_LOGIN is off')
}

async function createAdminToken(store: Store, name: string, token: string): Promise<Token> {
  return store.createToken({
    token_id: uuidv7(),
    workspace_id: DEFAULT_WORKSPACE,
    user_id: ADMIN_USER,
    name,
    scopes: ['admin'],
    expires_at: null,
    token_hash: hashToken(token),
  })
}

/**
 * Replaces the token of ASSAY_TOKEN, or makes the first token. Returns a token that was made, to be shown once; else
 * null.
 */
export async function ensureToken(store: Store, given: string | null): Promise<string | null> {
  const workspace_id = DEFAULT_WORKSPACE
  if (given === null) {
    const some = await store.listTokens({ workspace_id, limit: 1 })
    if (some.items.length > 0) return null
    const token = newToken()
    await createAdminToken(store, 'first token', token)
    return token
  }
  if (await store.findToken(hashToken(given))) return null
  const earlier = (await allTokens(store)).filter(({ name }) => name === SETTING_TOKEN)
  try {
    await createAdminToken(store, SETTING_TOKEN, given)
  } catch (error) {
    // Another node that started at the same time may have created it.
    if (!(await store.findToken(hashToken(given)))) throw error
    return null
  }
  for (const { token_id } of earlier) await store.deleteToken({ workspace_id, token_id })
  return null
}

async function allTokens(store: Store): Promise<Token[]> {
  const tokens: Token[] = []
  let cursor: string | undefined
  do {
    const page = await store.listTokens({ workspace_id: DEFAULT_WORKSPACE, limit: 200, cursor })
    tokens.push(...page.items)
    cursor = page.next_cursor ?? undefined
  } while (cursor)
  return tokens
}

/** Makes the admin token of the command line on this home, and deletes an earlier one of the same name. */
export async function replaceToken(store: Store, name: string): Promise<{ token: string; token_id: string }> {
  for (const old of await allTokens(store)) {
    if (old.name === name)
      await store.deleteToken({ workspace_id: DEFAULT_WORKSPACE, token_id: old.token_id })
  }
  const token = newToken()
  const { token_id } = await createAdminToken(store, name, token)
  return { token, token_id }
}
