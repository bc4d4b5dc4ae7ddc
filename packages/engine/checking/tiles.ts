/** Finds the faults of `tiles` in the front matter: names that do not exist, and analyses without a figure. */
import type { Fault, Template, TileChoice } from '@assay/model/template'
import { makeFault } from '../language/fault.ts'
import { METHODS_WITH_TILES } from '../tiles/of-outcome.ts'
import { suggest } from '../values/near.ts'
import { NUMERIC, type Static } from './static-values.ts'

/** Returns the faults. `globals`: the fields and columns of each block. */
export function tileFaults(template: Template, globals: ReadonlyMap<string, Static>): Fault[] {
  return (template.tiles ?? []).flatMap((choice) => {
    const found = faultOf(choice, template, globals)
    if (found === null) return []
    const { line, column } = choice
    return [makeFault(found.code, { line, column }, `tiles: ${found.message}`, found.remedy)]
  })
}

interface Found {
  code: string
  message: string
  remedy: string
}

function faultOf(
  { block: name, field }: TileChoice,
  { blocks }: Template,
  globals: ReadonlyMap<string, Static>,
): Found | null {
  const block = blocks.find((one) => one.name === name)
  if (!block) {
    const known = blocks.map((one) => one.name)
    return { code: 'unknown_block', message: `There is no block "${name}".`, remedy: suggest(name, known) }
  }
  if (field === null) {
    if (block.kind === 'sql') {
      const message = `"${name}" gives rows, and a tile shows one figure.`
      return { code: 'bad_value', message, remedy: `Name a column: ${name}.COLUMN.` }
    }
    if (Object.hasOwn(METHODS_WITH_TILES, block.method)) return null
    const message = `"${name}" (${block.method}) has no figure of its own.`
    return { code: 'bad_value', message, remedy: `Name a number of it: ${name}.FIELD.` }
  }
  const fields = fieldsOf(globals.get(name))
  if (fields === null) return null
  const found = fields.get(field) ?? fields.get(field.toLowerCase())
  const what = block.kind === 'sql' ? 'column' : 'field'
  if (!found) {
    const message = `"${name}" has no ${what} "${field}".`
    return {
      code: `unknown_${what === 'column' ? 'column' : 'name'}`,
      message,
      remedy: suggest(field, fields.keys()),
    }
  }
  if (found.kind === 'unknown' || (found.kind === 'scalar' && NUMERIC.has(found.type))) return null
  const message = `The ${what} "${field}" of "${name}" holds no numbers.`
  return { code: 'wrong_type', message, remedy: `Name a numeric ${what}.` }
}

/** Returns the fields; null if they are not known. */
function fieldsOf(value: Static | undefined): ReadonlyMap<string, Static> | null {
  if (value?.kind === 'rows') return value.columns
  return value?.kind === 'object' && !value.open ? value.fields : null
}
