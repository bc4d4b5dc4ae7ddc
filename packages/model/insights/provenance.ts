/**
 * The provenance of an insight: the origin of each value that the prose prints, as marks beside the Markdown. It is
 * recorded while the Markdown is written. Text without a mark stands in the template.
 */
import { Type } from '../schema.ts'

/**
 * The origin of a value: a cell (`block`, `row`, `column`), some cells of a column (`rows`, `count`), a field of an
 * outcome (`block`, `field`), a cell of a list in an outcome (`block`, `field`, `row`, `column`), a variable, or a
 * field of the run.
 */
export interface Origin {
  block?: string
  /** The field of an outcome, or its list that holds the row: "slope", "points". `size` of a table is the count of its rows. */
  field?: string
  /** The index in `tables[block].rows`, or in the list, from 0. */
  row?: number
  /** The first and the last of several rows. */
  rows?: [first: number, last: number]
  /** The number of rows within `rows`. */
  count?: number
  /** The name of the column. A cell that holds an object has a name with dots: "where.country". */
  column?: string
  variable?: string
  run?: string
}

/** A table in the text: its columns in order with their formats, and runs of rows in order. */
export interface MarkedTable {
  columns: { name: string; fmt: string | null }[]
  /** The first and the last row of each run. */
  rows: [first: number, last: number][]
}

/**
 * Authors of marked text other than the template. `model`: a language model wrote it. `lineage`: "How this was
 * computed", and notices of failed tests. `unrecorded`: more values follow than are recorded.
 */
export const AUTHORS = ['model', 'lineage', 'unrecorded'] as const

/** A piece of the Markdown. Marks are in the order of the text and do not overlap. */
export interface Mark {
  /** The start in UTF-16 code units, as JavaScript counts. */
  start: number
  end: number
  from: Origin[]
  /** The number of further origins, which are not listed. */
  more?: number
  /** The filters that the value went through, with their arguments: `round: 1`. */
  through?: string[]
  /** The name of the fact that is recorded here. */
  fact?: string
  table?: MarkedTable
  by?: (typeof AUTHORS)[number]
}

/** A replacement in a text: `length` characters in place of those from `start` to `end`. */
export interface Edit {
  start: number
  end: number
  length: number
}

/** Returns the marks in the text after the edits, which are in order. A mark that is fully replaced is left out. */
export function movedMarks(marks: readonly Mark[], edits: readonly Edit[]): Mark[] {
  if (edits.length === 0) return [...marks]
  let next = 0
  let shift = 0
  /** A text inserted at the end of a mark stands after the mark. */
  const passed = (position: number, ends: boolean): number => {
    for (; next < edits.length; next++) {
      const { start, end, length } = edits[next]!
      if (end > position || (ends && start === position)) break
      shift += length - (end - start)
    }
    const inside = edits[next]
    return shift + (inside && inside.start < position ? inside.start : position)
  }
  return marks.flatMap((mark) => {
    const start = passed(mark.start, false)
    const end = passed(mark.end, true)
    return end > start ? [{ ...mark, start, end }] : []
  })
}

const Row = Type.Integer({ minimum: 0 })
const Rows = Type.Array(Row, { minItems: 2, maxItems: 2, description: 'The first and the last row, from 0' })

const OriginView = Type.Object({
  block: Type.Optional(Type.String({ description: 'The block of the template' })),
  field: Type.Optional(
    Type.String({
      description: 'The field of an outcome, or its list that holds the row; `size`: the count of rows',
    }),
  ),
  row: Type.Optional(
    Type.Integer({ minimum: 0, description: 'From 0, in `tables[block].rows` or the list' }),
  ),
  rows: Type.Optional(Rows),
  count: Type.Optional(Type.Integer({ minimum: 0, description: 'How many rows of `rows`' })),
  column: Type.Optional(Type.String()),
  variable: Type.Optional(Type.String()),
  run: Type.Optional(Type.String({ description: 'A field of `run`, such as started_at' })),
})

export const MarkView = Type.Object({
  start: Type.Integer({ minimum: 0, description: 'A position in `markdown`, in UTF-16 code units' }),
  end: Type.Integer({ minimum: 0 }),
  from: Type.Array(OriginView, { description: 'Where the printed value comes from' }),
  more: Type.Optional(Type.Integer({ minimum: 1, description: 'How many more origins there are' })),
  through: Type.Optional(
    Type.Array(Type.String(), { description: 'The filters that the value went through, such as `round: 1`' }),
  ),
  fact: Type.Optional(Type.String({ description: 'The fact that is recorded here' })),
  table: Type.Optional(
    Type.Object(
      {
        columns: Type.Array(
          Type.Object({ name: Type.String(), fmt: Type.Union([Type.String(), Type.Null()]) }),
        ),
        rows: Type.Array(Rows),
      },
      { description: 'The cells of a table: its columns, and runs of rows of `from[0]` in order' },
    ),
  ),
  by: Type.Optional(
    Type.Enum([...AUTHORS], {
      description:
        '`model`: a language model wrote it; `lineage`: how this was computed; `unrecorded`: more values than are recorded',
    }),
  ),
})
