/**
 * Finds what an outcome has that the last delivered insight did not: `new` of an analysis in a template. A row of
 * `news.list` is identified by its values in `news.key`; its other values, such as p, may differ between runs.
 */
import type { Outcome } from '@assay/model/insight'
import { Type } from '@assay/model/schema'
import type { TSchema } from 'typebox'
import { type FieldSchema, type Fields, outcomeSchema } from '../methods/shared/fields.ts'

export interface News {
  /** The names of the lists of findings. The first one that the outcome has is used. */
  lists: readonly string[]
  /** The names of the values that identify its rows. */
  key: readonly string[]
  /** The name of a value of the outcome that its rows share, such as the period. */
  of?: string
}

type Row = Record<string, unknown>

/** Returns the rows that were found. `by` names the group if there are groups. */
function foundIn({ lists }: News, outcome: Outcome): Row[] {
  if (Array.isArray(outcome.groups))
    return (outcome.groups as (Outcome & { by: string })[]).flatMap((group) =>
      lists.flatMap((list) =>
        ((group[list] as Row[] | undefined) ?? []).map((row) => ({ by: group.by, ...row })),
      ),
    )
  const list = lists.find((name) => Array.isArray(outcome[name]))
  return list === undefined ? [] : (outcome[list] as Row[])
}

/**
 * Returns the new rows. `before` is the outcome of the same block in the last delivered insight; if it is null, all
 * rows are new.
 */
export function newIn(news: News, outcome: Outcome, before: Outcome | null): Row[] {
  const nameOf = (row: Row, of: Outcome): string =>
    JSON.stringify([
      news.of === undefined ? null : of[news.of],
      row.by ?? null,
      ...news.key.map((key) => row[key] ?? null),
    ])
  const known = new Set(before === null ? [] : foundIn(news, before).map((row) => nameOf(row, before)))
  return foundIn(news, outcome).filter((row) => !known.has(nameOf(row, outcome)))
}

/** Returns the schema of the outcome as a template sees it. */
export function visibleSchema(
  { fields, news }: { fields: Fields; news?: News },
  options: Record<string, unknown>,
): TSchema {
  const schema = outcomeSchema(fields, options)
  if (!news) return schema
  const { properties = {} } = schema as FieldSchema
  const [list] = news.lists.flatMap((name) => properties[name] ?? [])
  const { groups } = properties
  const inGroups = news.lists.flatMap((name) => groups?.items?.properties?.[name]?.items ?? [])[0]
  const grouped = inGroups && { ...inGroups, properties: { by: Type.String(), ...inGroups.properties } }
  const items = list?.items ?? grouped
  return items
    ? Type.Object(
        { ...(properties as Record<string, TSchema>), new: Type.Array(items) },
        { additionalProperties: false },
      )
    : schema
}
