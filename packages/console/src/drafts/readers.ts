/** Converts readers between forms, where their attributes are lines of text, and the service. Pure. */

import type { Client, ReaderView } from '@assay/client'
import { typedAttribute } from '@assay/model/reader-file'

export type Attributes = ReaderView['attributes']

type ReaderInput = Parameters<Client['readers']['put']>[1]

/** The first part of the keys of queries about readers. */
export const READERS = 'readers'
const LIST_HINT = '["sales", "press"]'

export const ATTRIBUTES_HINT = `One a line, as in region: North. A number, true, false and a list such as ${LIST_HINT} are read as such; quotes keep a text, as in code: "7".`

/** Returns an attribute as a person reads it. */
export const shown = (value: unknown): string =>
  Array.isArray(value) ? value.map(String).join(', ') : String(value)

/** Returns an attribute as the form holds it, so that it is read as the same value again. */
function typed(value: unknown): string {
  const isPlain = typeof value === 'string' && value === value.trim() && !/[\r\n]/.test(value)
  return isPlain && typedAttribute(value) === value ? value : JSON.stringify(value)
}

export function attributeLines(attributes: Record<string, unknown>): string {
  return Object.entries(attributes)
    .map(([name, value]) => `${name}: ${typed(value)}`)
    .join('\n')
}

/** Reads the attributes. `fault`: why a line is no attribute. */
export function attributesOf(text: string): { attributes: Attributes; fault: string | undefined } {
  const attributes: Attributes = {}
  let fault: string | undefined
  for (const line of text.split('\n').filter((one) => one.trim() !== '')) {
    const [, name = '', value = ''] = /^([^:]*):(.*)$/.exec(line) ?? []
    if (name.trim() === '' || value.trim() === '')
      fault ??= `“${line.trim()}” is not an attribute: write its name, a colon and its value, as in region: North`
    else if (Object.hasOwn(attributes, name.trim())) fault ??= `${name.trim()} stands twice: keep one`
    else attributes[name.trim()] = typedAttribute(value.trim())
  }
  return { attributes, fault }
}

/** Returns the faults below a path as one sentence, each with the name that it is about. */
export function faultBelow(faults: Record<string, string>, path: string): string | undefined {
  const found = Object.entries(faults).filter(([at]) => at === path || at.startsWith(`${path}.`))
  const words = found.map(([at, message]) =>
    at === path ? message : `“${at.slice(path.length + 1)}” ${message}`,
  )
  return words.join('; ') || undefined
}

export interface ReaderDraft {
  reader_id: string
  name: string
  email: string
  user_id: string
  /** The attributes, one a line. */
  attributes: string
}

export function readerDraft(reader: ReaderView | undefined): ReaderDraft {
  return {
    reader_id: reader?.reader_id ?? '',
    name: reader?.name ?? '',
    email: reader?.email ?? '',
    user_id: reader?.user_id ?? '',
    attributes: attributeLines(reader?.attributes ?? {}),
  }
}

export function readerInput({ reader_id, name, email, user_id, attributes }: ReaderDraft): ReaderInput {
  return {
    name: name.trim() || reader_id.trim(),
    email: email.trim() || null,
    user_id: user_id || null,
    attributes: attributesOf(attributes).attributes,
  }
}
