/** Finds the workspace and scope for the groups of a person. */
import type { GroupRule } from '../config/sign-in-values.ts'
import { SignInRefusal } from './refusal.ts'

type Claims = Readonly<Record<string, unknown>>

const isObject = (value: unknown): value is Claims =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const own = (claims: unknown, name: string): unknown =>
  isObject(claims) && Object.hasOwn(claims, name) ? claims[name] : undefined

/**
 * The groups that a claim holds: a text is one group, of a list the texts are taken. `name` is a claim, or a path of
 * claims divided by dots. Returns null if there is no such claim. Throws `groups_left_out` where the provider says that
 * it holds too many.
 */
export function groupsOf(claims: Claims, name: string): string[] | null {
  const found = own(claims, name) ?? name.split('.').reduce<unknown>(own, claims)
  if (found === undefined || found === null) {
    // OpenID Connect Core 5.6.2: a distributed claim. Entra ID does so beyond 200 groups.
    if (own(own(claims, '_claim_names'), name) !== undefined) throw new SignInRefusal('groups_left_out')
    return null
  }
  if (typeof found === 'string') return [found]
  return Array.isArray(found) ? found.filter((one): one is string => typeof one === 'string') : []
}

/** The first rule whose group is among these; null: none is. */
export function ruleFor(groups: readonly string[], rules: readonly GroupRule[]): GroupRule | null {
  const held = new Set(groups)
  return rules.find(({ group }) => group === '*' || held.has(group)) ?? null
}
