/** Finds `reader.NAME` in prose: in the body, the partials, the title and `deliver_if`. */

import { READER_ATTRIBUTE } from '@assay/model/reader'
import type { Fault, Template } from '@assay/model/template'
import { type Expression, type Operand, Reader } from '../language/expressions.ts'
import { makeFault, OffsetFault, type Position } from '../language/fault.ts'
import { readProse } from '../language/statements.ts'
import { isMetricPartial } from '../metrics/names.ts'
import { READER } from './sql-attributes.ts'

interface Use {
  /** The attribute; null for the whole reader, or for an attribute that is not written out. */
  attribute: string | null
  position: Position
  partial: string | null
}

type Path = Extract<Operand, { kind: 'path' }>

function* pathsIn({ operands, filters }: Expression): Generator<Path> {
  for (const operand of operands) yield* pathsOf(operand)
  for (const { args } of filters) for (const { value } of args) yield* pathsOf(value)
}

function* pathsOf(operand: Operand): Generator<Path> {
  switch (operand.kind) {
    case 'path':
      yield operand
      for (const step of operand.steps) yield* pathsOf(step)
      return
    case 'range':
      yield* pathsOf(operand.low)
      yield* pathsOf(operand.high)
      return
    case 'list':
      for (const item of operand.items) yield* pathsIn(item)
      return
    case 'map':
      for (const { value } of operand.entries) yield* pathsIn(value)
      return
    default:
  }
}

function useOf({ root, steps }: Path): Pick<Use, 'attribute'>[] {
  if (root !== READER) return []
  const [step] = steps
  const name = step?.kind === 'literal' && typeof step.value === 'string' ? step.value : ''
  return [{ attribute: new RegExp(READER_ATTRIBUTE).test(name) ? name : null }]
}

function usesInText(text: string, partial: string | null, at?: Position): Use[] {
  if (!text.includes(READER)) return []
  const prose = readProse(text, partial)
  return prose.statements.flatMap(({ expressions, named }) =>
    [...expressions, ...named.map(({ value }) => value)]
      .flatMap((one) => [...pathsIn(one)])
      .flatMap((path) =>
        useOf(path).map((use) => ({ ...use, position: at ?? prose.positionOf(path.begin), partial })),
      ),
  )
}

function usesInCondition(expression: string, position: Position): Use[] {
  if (!expression.includes(READER)) return []
  try {
    const paths = [...pathsIn(new Reader(expression).expression())]
    return paths.flatMap((path) => useOf(path).map((use) => ({ ...use, position, partial: null })))
  } catch (error) {
    // parseTemplate reports faults of syntax.
    if (!(error instanceof OffsetFault)) throw error
    return []
  }
}

function usesOf({ body, partials, title, title_line, deliver_if }: Template): Use[] {
  const texts = Object.entries(partials).filter(([name]) => !isMetricPartial(name))
  return [
    ...usesInText(body, null),
    ...texts.flatMap(([name, text]) => usesInText(text, name)),
    ...usesInText(title, null, { line: title_line, column: 1 }),
    ...(deliver_if ? usesInCondition(deliver_if.expression, { line: deliver_if.line, column: 1 }) : []),
  ]
}

/** Returns the attributes that the prose of a template reads. */
export function attributesInProse(template: Template): string[] {
  return usesOf(template).flatMap(({ attribute }) => attribute ?? [])
}

/** Finds each use of a reader that does not tell which attribute it needs. */
export function readerFaults(template: Template): Fault[] {
  return usesOf(template)
    .filter(({ attribute }) => attribute === null)
    .map(({ position, partial }) =>
      makeFault(
        'bad_value',
        position,
        'The text reads the attributes of a reader by their names.',
        'Write reader.NAME, in lower case.',
        { partial },
      ),
    )
}
