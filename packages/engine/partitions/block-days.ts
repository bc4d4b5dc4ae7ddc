/**
 * Writes the SQL of a block whose days are kept: `sql NAME at: CONNECTION day: COLUMN reopen: 3d deletes: none`. The rows
 * of a day are kept as the database gave them, and nothing is added up. So its author promises that each row of the query
 * is made of the rows of its own day.
 */
import type { BlockDays, PartitionedQuery, PartitionWindow, TemplateSource } from '@assay/model/template'
import type { Dialect } from '../dialects/dialect.ts'
import { dialectOf } from '../dialects/engines.ts'
import { splitTemplate } from '../language/fences.ts'
import { extreme, FROM, UNTIL } from './partition-sql.ts'
import { keyName, STEP } from './statistics.ts'

/** Returns the name under which the days of a block are kept. No metric has a name with a slash. */
const nameOf = (template_id: string, block: string): string => `${template_id}/${block}`

/** Returns the names under which the days of the blocks of a template are kept. */
export function keptBlocks({
  template_id,
  source,
}: Pick<TemplateSource, 'template_id' | 'source'>): string[] {
  return splitTemplate(source).fences.flatMap(({ name, days }) =>
    days === null ? [] : [nameOf(template_id, name)],
  )
}

export function blockQuery(template_id: string, block: string, days: BlockDays): PartitionedQuery {
  const timeIn = (dialect: Dialect): string => dialect.identifier(days.column)
  return {
    metric: nameOf(template_id, block),
    rules: days.rules,
    grain: 'day',
    by: [],
    statistics: [],
    period: null,
    day: days.column,
    rowsFor(kind, window, _wide, _condition, { text, columns }) {
      const dialect = dialectOf(kind)
      const time = timeIn(dialect)
      const list = [
        `${dialect.step(time, 'day')} as ${dialect.identifier(STEP)}`,
        ...columns.map(
          (name, index) => `${dialect.identifier(name)} as ${dialect.identifier(keyName(index))}`,
        ),
      ]
      return `select ${list.join(', ')} from ${rowsOf(text, dialect)}${windowOf(time, window)}`
    },
    firstFor(kind, text) {
      const dialect = dialectOf(kind)
      const first = dialect.step(extreme('min', timeIn(dialect)), 'day')
      return `select ${first} as ${dialect.identifier('first')} from ${rowsOf(text, dialect)}`
    },
    changedFor(kind, text) {
      const dialect = dialectOf(kind)
      const day = dialect.step(timeIn(dialect), 'day')
      const since = `${timeIn(dialect)} is not null and ${dialect.identifier(days.rules.changed!)} >= $${FROM}`
      return `select ${day} as ${dialect.identifier('day')} from ${rowsOf(text, dialect)} where ${since} group by ${day}`
    },
  }
}

const rowsOf = (text: string, dialect: Dialect): string =>
  `(\n${text}\n) ${dialect.identifier('rows_of_block')}`

/** Returns the condition of a window. Rows without a time have no day, so each run reads them beside the open days. */
function windowOf(time: string, window: PartitionWindow): string {
  if (window === 'untimed') return ` where ${time} is null`
  if (!window.from) return ''
  return window.until
    ? ` where ${time} >= $${FROM} and ${time} < $${UNTIL}`
    : ` where (${time} is null or ${time} >= $${FROM})`
}
