/**
 * Finds headlines that hide their doubts. A text that prints `X.headline` must also print `X.summary`, `X.caveats`,
 * `X.notes` or `{% doubts %}`, in the body or in a partial.
 */
import type { Fault, Template } from '@assay/model/template'
import type { Expression, Operand } from '../language/expressions.ts'
import { makeFault } from '../language/fault.ts'
import { readProse, type Statement } from '../language/statements.ts'
import { isMetricPartial } from '../metrics/names.ts'

const TELLS = new Set(['summary', 'caveats', 'notes'])

export function headlineFaults(template: Template): Fault[] {
  const analyses = new Set(template.blocks.filter(({ kind }) => kind === 'analysis').map(({ name }) => name))
  const told = new Set<string>()
  const headlines: { name: string; fault: Fault }[] = []
  const texts: [string, string | null][] = [
    [template.body, null],
    ...Object.entries(template.partials)
      .filter(([name]) => !isMetricPartial(name))
      .map(([name, text]): [string, string] => [text, name]),
  ]
  for (const [text, partial] of texts) {
    const prose = readProse(text, partial)
    for (const statement of prose.statements) {
      for (const name of doubted(statement, analyses)) told.add(name)
      for (const { root, field, begin } of fieldsIn(statement)) {
        if (!analyses.has(root)) continue
        if (TELLS.has(field)) told.add(root)
        if (field !== 'headline') continue
        const message = `The headline of "${root}" is printed without its caveats.`
        const remedy = `Print {{ ${root}.summary }}, or add {% doubts ${root} %}.`
        const position = prose.positionOf(begin)
        headlines.push({
          name: root,
          fault: makeFault('hidden_caveats', position, message, remedy, { partial }),
        })
      }
    }
  }
  return headlines.filter(({ name }) => !told.has(name)).map(({ fault }) => fault)
}

/** Returns the analyses whose doubts a statement prints: all of them for a plain `{% doubts %}`. */
function doubted({ tag, expressions }: Statement, analyses: ReadonlySet<string>): Iterable<string> {
  if (tag !== 'doubts') return []
  return expressions.length === 0 ? analyses : expressions.flatMap(rootsOf)
}

function rootsOf({ operands }: Expression): string[] {
  return operands.flatMap((operand) =>
    operand.kind === 'path' ? [operand.root] : operand.kind === 'list' ? operand.items.flatMap(rootsOf) : [],
  )
}

/** Returns each `x.field` in the expressions and options of a statement. */
function fieldsIn(statement: Statement): { root: string; field: string; begin: number }[] {
  const found: { root: string; field: string; begin: number }[] = []
  const visit = (operand: Operand): void => {
    if (operand.kind === 'list') for (const item of operand.items) item.operands.forEach(visit)
    if (operand.kind === 'map') for (const { value } of operand.entries) value.operands.forEach(visit)
    if (operand.kind !== 'path') return
    const [step] = operand.steps
    if (step?.kind === 'literal' && typeof step.value === 'string')
      found.push({ root: operand.root, field: step.value, begin: operand.begin })
  }
  for (const expression of [...statement.expressions, ...statement.named.map(({ value }) => value)]) {
    expression.operands.forEach(visit)
    for (const { args } of expression.filters) for (const { value } of args) visit(value)
  }
  return found
}
