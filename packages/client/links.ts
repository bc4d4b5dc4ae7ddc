/** Links to the pages of insights, for who has no token. */
import type { Link } from '@assay/model/link'
import {
  type CreateOptions,
  createKey,
  type Json,
  type Page,
  type PageInput,
  type Send,
  segment,
} from './http.ts'

export interface LinkInput {
  /** Seconds; seven days unless given. */
  expires_in?: number
  label?: string
}

/** `url` is shown here and never again. */
export type NewLink = Link & { url: string }

export function linkCalls(send: Send, json: Json) {
  const at = (insight_id: string) => `/insights/${segment(insight_id)}/links`
  return {
    create: (insight_id: string, input: LinkInput = {}, options?: CreateOptions) =>
      json<NewLink>('POST', at(insight_id), { json: input, idempotencyKey: createKey(options) }),
    list: (insight_id: string, query: PageInput = {}) =>
      json<Page<Link>>('GET', at(insight_id), { query: { ...query } }),
    delete: async (insight_id: string, link_id: string): Promise<void> => {
      await send('DELETE', `${at(insight_id)}/${segment(link_id)}`)
    },
  }
}
