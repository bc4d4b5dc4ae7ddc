/** Admits a person whom the provider has signed in to the workspace of their groups. */
import { createHash } from 'node:crypto'
import type { NewAuditRecord } from '@assay/model/audit'
import { AppError } from '@assay/model/errors'
import { uuidv7 } from '@assay/model/ids'
import { fullScopes, type Scope, type User } from '@assay/model/token'
import type { Store } from '@assay/store/store'
import type { GroupRule } from '../config/sign-in-values.ts'
import { ruleFor } from './groups.ts'
import type { Person } from './provider.ts'
import { SignInRefusal } from './refusal.ts'

/** Makes the audit record of a change that the sign-in causes. */
export type RecordOf = (of: { workspace_id: string; object_id: string }) => NewAuditRecord

const ranked = (scopes: readonly Scope[]): string => fullScopes(scopes).join()

interface Admission {
  store: Store
  rules: readonly GroupRule[]
  /** Milliseconds for which the rights from the provider are valid. */
  life_ms: number
  record: RecordOf
}

/**
 * Withdraws the rights of an earlier sign-in, so that the person keeps no scope. Resolves with true if there were
 * any.
 */
async function withdraw({ store, record }: Admission, person: Person, known: User[]): Promise<boolean> {
  const had = known.find(({ scopes }) => scopes.length > 0)
  if (!had) return false
  const { workspace_id, user_id: object_id } = had
  return store.audited(record({ workspace_id, object_id })).withdrawUser(person)
}

/**
 * Admits the person. Rejects with SignInRefusal if no rule matches the groups, or if the user is disabled. Calls
 * `onChange` if the rights have changed.
 */
export async function admit(admission: Admission, person: Person, onChange: () => void): Promise<User> {
  const { store, rules, life_ms, record } = admission
  const known = await store.findIdentity(person)
  const rule = ruleFor(person.groups, rules)
  const own = known.find((user) => user.workspace_id === rule?.workspace_id)
  const leadsOn = rule !== null && (await store.getWorkspace(rule.workspace_id)) !== null
  if (!leadsOn || own?.disabled) {
    if (await withdraw(admission, person, known)) onChange()
    if (rule === null) throw new SignInRefusal('no_group', `${person.groups.length} groups`)
    if (own?.disabled) throw new SignInRefusal('disabled', own.user_id)
    throw new SignInRefusal('no_workspace', rule.workspace_id)
  }
  const { workspace_id, scope } = rule
  const elsewhere = known.some((user) => user !== own && user.scopes.length > 0)
  const { display_name } = person
  const isSame =
    own && !elsewhere && ranked(own.scopes) === ranked([scope]) && own.display_name === display_name
  const user_id = own?.user_id ?? uuidv7()
  // If only the time of the sign-in is new, there is no change to record.
  const audited = isSame ? store : store.audited(record({ workspace_id, object_id: user_id }))
  const { issuer, subject } = person
  const of = { issuer, subject, user_id, workspace_id, display_name, scopes: [scope], life_ms }
  const user = await audited.admitUser({ ...of, username: person.username }).catch((error: unknown) => {
    if (!(error instanceof AppError && error.code === 'name_taken')) throw error
    // Another user has the name. The person gets a different one and never becomes that user.
    return audited.admitUser({ ...of, username: ownName(person) })
  })
  if (!isSame) onChange()
  return user
}

const NAME_MOST = 255
const MARK_LENGTH = 8

/** Returns the name with a mark that is the same at each sign-in. */
function ownName({ username, issuer, subject }: Person): string {
  const mark = createHash('sha256').update(`${issuer}\n${subject}`).digest('hex').slice(0, MARK_LENGTH)
  return `${username.slice(0, NAME_MOST - MARK_LENGTH - 1).toWellFormed()}-${mark}`
}
