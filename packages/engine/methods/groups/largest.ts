/** Keeps the rows of the largest groups if there are more groups than can be compared. */
import type { Doubt } from '@assay/model/insight'
import { largestKept } from '../../verdicts/common-doubts.ts'
import type { Relation } from '../shared/method.ts'

/** The most groups, or values of a category, that are compared. */
const MOST = 50

/**
 * Returns the rows of the largest groups. `name` is SQL of a row's group, `counts` SQL that is true of rows that are
 * compared. Rows without a group stay. `beyond` holds the doubt about the other groups.
 */
export async function largestGroups(
  table: Relation,
  { name, counts, many }: { name: string; counts: string; many: string },
): Promise<{ table: Relation; beyond: Doubt[] }> {
  const sizes = `(select ${name} as g, count(*) as n from ${table.relation} where ${name} is not null and ${counts} group by all)`
  const ranked = `(select g, n, row_number() over (order by n desc, g) as place from ${sizes})`
  const [counted] = await table.query(
    `select count(*) as groups, coalesce(sum(n) filter (place > ${MOST}), 0)::double as rows from ${ranked}`,
  )
  const groups = counted!.groups as number
  if (groups <= MOST) return { table, beyond: [] }
  const kept = `(select g from ${ranked} where place <= ${MOST})`
  const relation = `(select * from ${table.relation} where ${name} is null or ${name} in ${kept})`
  return {
    table: { ...table, relation },
    beyond: largestKept(MOST, groups, counted!.rows as number, many),
  }
}
