/**
 * Describes a column for readers: its label, unit, format, good direction and target. The template declares it under
 * `columns`; without it the name is made readable.
 */
import type { ColumnMeaning } from '@assay/model/template'

export interface Measure extends ColumnMeaning {
  label: string
  /** The name in the data. */
  name: string
}

/** The meanings of columns in the template, by name in lower case. */
export type Meanings = ReadonlyMap<string, ColumnMeaning>

export const NO_MEANINGS: Meanings = new Map()

export function measureOf(meanings: Meanings, name: string): Measure {
  const given = meanings.get(name.toLowerCase())
  return {
    name,
    label: given?.label ?? readable(name),
    unit: given?.unit ?? null,
    fmt: given?.fmt ?? null,
    good: given?.good ?? 'none',
    target: given?.target ?? null,
  }
}

/**
 * Returns the heading of a column and the title of an axis: "Delay (minutes)", and "Late share" for a column without
 * a label. A name with a blank was written for readers and stays.
 */
export function titleOf(meanings: Meanings, name: string): string {
  const { label, unit } = measureOf(meanings, name)
  const written = /\s/u.test(name) && (meanings.get(name.toLowerCase())?.label ?? null) === null
  const title = written ? name : opening(label)
  return unit === null ? title : `${title} (${unit})`
}

/**
 * Makes a name readable: "late_share" becomes "late share", "avgDelay" becomes "avg delay". Words in capitals keep
 * them, and so does a name that is not written in English letters, such as "Umsatz in €", whose nouns may need them.
 */
export function readable(name: string): string {
  const english = /^\p{ASCII}*$/u.test(name)
  const text = name
    .replaceAll(/[_\s]+/gu, ' ')
    .replaceAll(/(\p{Ll}|\p{N})(\p{Lu})/gu, '$1 $2')
    .trim()
    .split(' ')
    .map((word) => (english && /^\p{Lu}\p{Ll}+$/u.test(word) ? word.toLowerCase() : word))
    .join(' ')
  return text === '' ? name : text
}

/** Returns "the average of delay". A label that says average already stays as it is. */
export function averageOf({ label }: Measure): string {
  return /^(?:the )?(?:average|mean)\b/iu.test(label) ? label : `the average of ${label}`
}

/** Returns "the share of buyers" for a label without its article. */
export function withThe(label: string): string {
  return /^(?:share|rate|proportion|percentage|number|total|sum) of /iu.test(label)
    ? `the ${label.charAt(0).toLowerCase()}${label.slice(1)}`
    : label
}

/** Returns the text with a capital, to begin a sentence. */
export function opening(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}
