/**
 * Binds variables in an analysis block. An option whose whole text is `$name` (or `$period.start`,
 * `$period.previous.end`) takes the variable's value, at any depth of lists and maps. Any other value stays as YAML
 * gives it.
 */

const REFERENCE = /^\$([A-Za-z_]\w*)((?:\.[A-Za-z_]\w*)*)$/

export interface OptionReference {
  /** The keys from the options down to the reference. */
  path: (string | number)[]
  name: string
}

export function optionReferences(value: unknown, path: (string | number)[] = []): OptionReference[] {
  if (typeof value === 'string') {
    const match = REFERENCE.exec(value)
    return match ? [{ path, name: match[1]! }] : []
  }
  if (typeof value !== 'object' || value === null) return []
  const entries: [string | number, unknown][] = Array.isArray(value)
    ? value.map((item, index) => [index, item])
    : Object.entries(value)
  return entries.flatMap(([key, item]) => optionReferences(item, [...path, key]))
}

/** Binds the options. An option whose variable has no value is left out, so the method's default applies. */
export function bindOptions(
  options: Record<string, unknown>,
  vars: Record<string, unknown>,
): Record<string, unknown> {
  return bound(options, vars) as Record<string, unknown>
}

/** Adds the defaults of a method's schema for options that are not given. */
export function withDefaults(schema: object, options: Record<string, unknown>): Record<string, unknown> {
  const { properties = {} } = schema as { properties?: Record<string, { default?: unknown }> }
  const defaults = Object.entries(properties).filter(([, property]) => property.default !== undefined)
  return { ...Object.fromEntries(defaults.map(([name, property]) => [name, property.default])), ...options }
}

function bound(value: unknown, vars: Record<string, unknown>): unknown {
  if (typeof value === 'string') return reference(value, vars)
  if (Array.isArray(value)) return value.map((item) => bound(item, vars))
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).map(([key, item]) => [key, bound(item, vars)] as const)
  return Object.fromEntries(entries.filter(([key, item]) => item !== null || (value as never)[key] === null))
}

function reference(text: string, vars: Record<string, unknown>): unknown {
  const match = REFERENCE.exec(text)
  if (!match || !Object.hasOwn(vars, match[1]!)) return text
  let value = vars[match[1]!]
  for (const step of match[2]!.split('.').slice(1)) {
    value = typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[step] : undefined
  }
  return value ?? null
}
