/** The fields that many operations share: ids, times, pages. */
import { Type } from '@assay/model/schema'
import type { TObject, TProperties, TSchema } from 'typebox'

/** A UUID. Validation removes JSON's quotes around it first (validate.ts). */
export const Id = Type.String({ format: 'uuid', description: "A UUID; JSON's quotes around it are accepted" })

export const Time = Type.String({ format: 'date-time', description: 'RFC 3339, from 1970 to 9999' })

/** Any text of 1 to 255 characters. */
export const Name = Type.String({ minLength: 1, maxLength: 255 })

export const LIMIT_DEFAULT = 50

const pageFields = {
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 200,
      description: `The most items of a page (default ${LIMIT_DEFAULT})`,
    }),
  ),
  cursor: Type.Optional(
    Type.String({ minLength: 1, maxLength: 1024, description: 'The next_cursor of the previous page' }),
  ),
}

/** Returns the schema of the query of a list: its own filters and the fields of a page. */
export function pageQuery<Filters extends TProperties>(
  filters: Filters,
): TObject<Filters & typeof pageFields> {
  return Type.Object({ ...filters, ...pageFields })
}

/** Returns the schema of a page: `{items, next_cursor}`, newest first. */
export function pageOf<Item extends TSchema>(item: Item) {
  const fields = {
    items: Type.Array(item),
    next_cursor: Type.Union([Type.String(), Type.Null()], {
      description:
        'Send it as cursor to read the next page; null at the end. A page before the end may have fewer items than limit, even none: a filter without an index reads at most 5,000 rows for a page.',
    }),
  }
  return Type.Object(fields, { title: `${(item as { title?: string }).title}Page` })
}

/** Returns the answer of a list that has one page only. */
export function whole<Item>(items: Item[]): { items: Item[]; next_cursor: null } {
  return { items, next_cursor: null }
}

/** Fields of any name, such as a query that another site has made. The operation reads those that it knows. */
export const AnyFields = Type.Object({}, { additionalProperties: true })
