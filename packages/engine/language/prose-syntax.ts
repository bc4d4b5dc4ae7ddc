/** Finds the syntax faults of all Liquid in a template: body, partials, title, files, deliver_if. */
import type { Fault, Template } from '@assay/model/template'
import { isMetricPartial } from '../metrics/names.ts'
import { suggest } from '../values/near.ts'
import { Reader, ValueCount } from './expressions.ts'
import { makeFault, OffsetFault, type Position, positionsIn } from './fault.ts'
import { type Prose, readProse } from './statements.ts'

/** The most tags and outputs of a template with its partials. */
const MAX_TAGS = 20_000
const MAX_FAULTS = 100

export function proseFaults(template: Template): Fault[] {
  const tooMany = tagBound(template)
  if (tooMany) return [tooMany]
  const { body, partials } = template
  const values = new ValueCount()
  const faults: Fault[] = []
  for (const [text, partial] of [[body, null] as const, ...namedTexts(partials)]) {
    const prose = readProse(text, partial, values)
    faults.push(...prose.faults, ...missingPartials(prose, partial, partials))
  }
  for (const source of template.sources)
    if (source.file !== null) faults.push(...oneLineFaults(source.file, source))
  // A title from a heading is part of the body: its faults are reported there.
  const fromBody = faults.some((fault) => fault.line === template.title_line)
  if (!fromBody) faults.push(...oneLineFaults(template.title, { line: template.title_line, column: 1 }))
  if (template.deliver_if) {
    const { expression, line } = template.deliver_if
    faults.push(...conditionFaults(expression, line))
  }
  return faults
}

/** Returns the fault of the first tag beyond the bound. It reads no tag. */
function tagBound({ title, body, partials, sources, deliver_if }: Template): Fault | null {
  const front = [title, deliver_if?.expression ?? '', ...sources.map(({ file }) => file ?? '')]
  const texts = [[body, null] as const, ...namedTexts(partials)]
  let tags = 0
  for (const text of front) tags += text.split(/\{[{%]/).length - 1
  for (const [text, partial] of texts) {
    for (const { index } of text.matchAll(/\{[{%]/g)) {
      tags += 1
      if (tags <= MAX_TAGS) continue
      const message = `The template has more than ${MAX_TAGS} tags and outputs with its partials.`
      const remedy = 'Write rows by a loop or {% table %}.'
      return makeFault('too_long', positionsIn(text)(index), message, remedy, { partial })
    }
  }
  return null
}

function namedTexts(partials: Record<string, string>): (readonly [text: string, partial: string])[] {
  return Object.entries(partials)
    .filter(([name]) => !isMetricPartial(name))
    .map(([name, text]) => [text, name])
}

function missingPartials(prose: Prose, partial: string | null, partials: Record<string, string>): Fault[] {
  return prose.statements
    .filter(({ tag, target }) => tag === 'render' && !Object.hasOwn(partials, target!))
    .slice(0, MAX_FAULTS)
    .map(({ target, begin }) => {
      const message = `There is no partial ${JSON.stringify(target)}.`
      const remedy = suggest(target!, Object.keys(partials), 'Add it to the folder "partials".')
      return makeFault('unknown_partial', prose.positionOf(begin), message, remedy, { partial })
    })
}

/** Returns the faults of a text in the front matter, at the position of the value. */
function oneLineFaults(text: string, position: Position): Fault[] {
  return readProse(text).faults.map((fault) => ({ ...fault, line: position.line, column: position.column }))
}

function conditionFaults(expression: string, line: number): Fault[] {
  try {
    const reader = new Reader(expression)
    reader.expression()
    reader.finish()
    return []
  } catch (error) {
    if (!(error instanceof OffsetFault)) throw error
    return [makeFault('liquid_syntax', { line, column: 1 }, `deliver_if: ${error.message}`, error.remedy)]
  }
}
