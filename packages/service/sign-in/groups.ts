/** Finds the workspace and scope for the groups of a person. */
import type { GroupRule } from '../config/sign-in-values.ts'
import { SignInRefusal } from './refusal.ts'

type Claims = Readonly<Record<string, unknown>>

const isObject = (value: unknown): value is Claims =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const own = (claims: unknown, name: string): unknown =>
  isObject(claims) && Object.hasOwn(claims, name) ? claims[name] : undefined

/**
 * Returns the groups that a claim holds. A text is one group; from a list its texts are taken. `name` is a claim, or
 * a path of claims with dots between them. Returns null if there is no such claim. Throws `groups_left_out` if the
 * provider says that the claim holds too many.
 */
export function groupsOf(claims: Claims, name: string): string[] | null {
  const found = own(claims, name) ?? name.split('.').reduce<unknown>(own, claims)
  if (found === undefined || found === null) {
    // This is a distributed claim (OpenID Connect Core 5.6.2). Entra ID sends one for more than 200 groups.
    if (own(own(claims, '_claim_names'), name) !== undefined) throw new SignInRefusal('groups_left_out')
    return null
  }
  if (typeof found === 'string') return [found]
  return Array.isArray(found) ? found.filter((one): one is string => typeof one === 'string') : []
}

/** Returns the first rule whose group is among these; null if there is none. */
export function ruleFor(groups: readonly string[], rules: readonly GroupRule[]): GroupRule | null {
  const held = new Set(groups)
  return rules.find(({ group }) => group === '*' || held.has(group)) ?? null
}
