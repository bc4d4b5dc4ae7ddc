/** Converts the values of variables between the form, where every value is text, and the service, where each has its type. */
import type { VariableView } from '@assay/model/template'

export type Values = Record<string, string>

export function textOf(value: unknown): string {
  if (value === null || value === undefined) return ''
  if (typeof value === 'string') return value
  return Array.isArray(value) ? value.map(textOf).join(', ') : JSON.stringify(value)
}

/**
 * Returns a name in words: "Last day" for last_day. Pages are for readers; the name that programs use is its title.
 */
export function inWords(name: string): string {
  const words = name.replaceAll('_', ' ')
  return words.charAt(0).toUpperCase() + words.slice(1)
}

export function splitList(value: string): string[] {
  return value
    .split(',')
    .map((item) => item.trim())
    .filter(Boolean)
}

/** Returns the initial values of the form: those of an earlier job, else the defaults. */
export function firstValues(variables: readonly VariableView[], given?: Record<string, unknown>): Values {
  return Object.fromEntries(
    variables.map(({ name, default: fallback }) => [
      name,
      textOf(given && Object.hasOwn(given, name) ? given[name] : fallback),
    ]),
  )
}

/**
 * Returns the values to send. An empty field is left out, or null if it would otherwise get a default that was
 * cleared.
 */
export function sentValues(variables: readonly VariableView[], values: Values): Record<string, unknown> {
  const sent: Record<string, unknown> = {}
  for (const { name, type, default: fallback } of variables) {
    const value = (values[name] ?? '').trim()
    if (value === '' || value === '..') {
      if (fallback !== null && fallback !== undefined) sent[name] = null
    } else if (type === 'list') sent[name] = splitList(value)
    else if (type === 'timestamp' && /T\d\d:\d\d$/.test(value)) sent[name] = `${value}:00`
    else sent[name] = value
  }
  return sent
}
