/**
 * Keeps the changes of two people apart: a form saves only what nobody else has changed since it was opened. The
 * condition goes with the change (If-Match), so the service decides.
 */
import { type CallOptions, etagOf } from '@assay/client'
import { useState } from 'react'

export const OUTDATED =
  'Somebody has changed this since you opened it, and nothing was saved. Copy what you wrote, reload the page, and make your change in what is there now.'

/** Returns the condition that the object is as it was when the form was opened, although the page reads it again. */
export function useOpened(shown: object | undefined): CallOptions {
  return useState(() => (shown ? { ifMatch: etagOf(shown) } : {}))[0]
}

/**
 * Returns the condition that an object of a list is as the list showed it. A list has no tags, so the object is read
 * first. Throws if these fields have changed.
 */
export async function asShown<Item extends object>(
  shown: Item,
  read: () => Promise<Item>,
  fields: readonly (keyof Item)[],
): Promise<CallOptions> {
  const now = await read()
  const isSame = fields.every((field) => JSON.stringify(now[field]) === JSON.stringify(shown[field]))
  if (!isSame) throw new Error(OUTDATED)
  return { ifMatch: etagOf(now) }
}
