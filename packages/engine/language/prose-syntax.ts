/** The syntax faults of everything in a template that Liquid reads: body, partials, title, files, deliver_if. */
import type { Fault, Template } from '@assay/model/template'
import { Reader, SyntaxFault } from './expressions.ts'
import { makeFault } from './fault.ts'
import { suggest } from './near.ts'
import { type Prose, readProse } from './prose.ts'

export function proseFaults(template: Template): Fault[] {
  const faults = [...textFaults(template.body, null, template.partials)]
  for (const [name, text] of Object.entries(template.partials)) {
    faults.push(...textFaults(text, name, template.partials))
  }
  for (const source of template.sources)
    if (source.file !== null) faults.push(...oneLineFaults(source.file, source))
  // A title taken from a heading is part of the body, whose faults are known already.
  const fromBody = faults.some((fault) => fault.line === template.title_line)
  if (!fromBody) faults.push(...oneLineFaults(template.title, { line: template.title_line, column: 1 }))
  if (template.deliver_if) {
    const { expression, line } = template.deliver_if
    faults.push(...conditionFaults(expression, line))
  }
  return faults
}

function textFaults(text: string, partial: string | null, partials: Record<string, string>): Fault[] {
  const prose = readProse(text, partial)
  return [...prose.faults, ...missingPartials(prose, partial, partials)]
}

function missingPartials(prose: Prose, partial: string | null, partials: Record<string, string>): Fault[] {
  return prose.statements
    .filter(({ tag, target }) => tag === 'render' && !Object.hasOwn(partials, target!))
    .map(({ target, begin }) => {
      const message = `There is no partial ${JSON.stringify(target)}.`
      const remedy = suggest(target!, Object.keys(partials), 'Add it to the folder "partials".')
      return makeFault('unknown_partial', prose.placeOf(begin), message, remedy, { partial })
    })
}

/** Text of the front matter: its place is where the value begins. */
function oneLineFaults(text: string, place: { line: number; column: number }): Fault[] {
  return readProse(text).faults.map((fault) => ({ ...fault, line: place.line, column: place.column }))
}

function conditionFaults(expression: string, line: number): Fault[] {
  try {
    const reader = new Reader(expression)
    reader.expression()
    reader.finish()
    return []
  } catch (error) {
    if (!(error instanceof SyntaxFault)) throw error
    return [makeFault('liquid_syntax', { line, column: 1 }, `deliver_if: ${error.message}`, error.remedy)]
  }
}
