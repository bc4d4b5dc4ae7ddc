/**
 * Makes two drawings from one specification: for a page, and for a phone, which has fewer ticks but no smaller
 * letters.
 */
import type { Kept } from '../chart-values.ts'
import { axisTitle, valueText } from '../labels.ts'
import { LETTERS_NARROW, LOOK, NARROW, WIDE } from '../marks/look.ts'
import { linesOf, textWidthOf } from '../text-width.ts'

type Spec = Record<string, unknown>

/** The pixels of a line of a name in two lines. */
const LINE = 14
/** The pixels between the names of two columns, and between the names of rows and the columns. */
const APART = 4
/** The least width of a column for a slanted name, in pixels. Narrower columns show every second name, or fewer. */
const SLANTED = 17
const SLANT = -45
/** The width of a name in a narrow drawing, in pixels. */
const NARROW_NAME = 110

const isSpec = (value: unknown): value is Spec =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Returns a specification of the width, with the look of all charts where it has none. */
export function fitted(given: Spec, size: 'wide' | 'narrow'): Spec {
  const narrow = size === 'narrow'
  const width = narrow ? NARROW : WIDE
  const config = { ...LOOK, ...(isSpec(given.config) ? given.config : {}) }
  const spec: Spec = { ...given, config: narrow ? withColumns(larger(config)) : config }
  const title: Spec = typeof given.title === 'string' ? { title: wrapped(given.title, narrow ? 34 : 88) } : {}
  if (isSpec(spec.facet)) {
    // The axes of panels have no room for a title.
    const subtitle = subtitleOf(given)
    if (subtitle !== null)
      title.title = { text: title.title ?? '', subtitle: wrapped(subtitle, narrow ? 34 : 88) }
    const inner = isSpec(given.spec) ? given.spec : {}
    const panel = narrow ? { ...inner, width: NARROW - 80, height: 130 } : inner
    const drawn = inLines(narrow ? relaxed(panel) : panel)
    return { ...spec, ...title, columns: narrow ? 1 : given.columns, spec: drawn }
  }
  const sized = { ...spec, ...title, width, autosize: { type: 'fit-x', contains: 'padding' } }
  return inLines(narrow ? relaxed(sized) : sized) as Spec
}

/**
 * Puts names down the side that are too long for a line into two lines. Names of the columns of a grid are placed by
 * its width.
 */
function inLines(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inLines)
  if (!isSpec(value)) return value
  const { axis, scale, type } = value
  const names = isSpec(scale) ? scale.domain : null
  if (isSpec(value.x) && isSpec(value.y) && value.x.type === 'ordinal') {
    const columns = namesIn(value.x)
    const rows = namesIn(value.y)
    const limited = isSpec(value.x.axis) && typeof value.x.axis.labelLimit === 'number'
    if (columns && rows && limited) {
      const { x, ...others } = value
      return { ...(inLines(others) as Spec), x: { ...x, axis: below(x, columns, rows) } }
    }
  }
  if (type === 'nominal' && isSpec(axis) && Array.isArray(names) && typeof axis.labelLimit === 'number')
    return { ...value, axis: { ...axis, ...linesDown(names.map(String), axis.labelLimit) } }
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, key === 'data' ? item : inLines(item)]),
  )
}

const namesIn = ({ scale }: Spec): unknown[] | null =>
  isSpec(scale) && Array.isArray(scale.domain) ? scale.domain : null

/**
 * Sets names below columns: in one line if each fits, in two lines if words allow it, else slanted. Numbers and times
 * are thinned.
 */
function below({ axis }: Spec, columns: readonly unknown[], rows: readonly unknown[]): Spec {
  const given = isSpec(axis) ? axis : {}
  const limit = given.labelLimit as number
  const wide = limit > NARROW_NAME
  const side = rows.reduce<number>(
    (most, name) => Math.max(most, textWidthOf(String(name), LETTERS_NARROW)),
    0,
  )
  const room = ((wide ? WIDE : NARROW) - Math.min(side, limit) - 5 * APART) / columns.length
  const names = columns.map(String)
  const fits = (text: string): boolean => textWidthOf(text, LETTERS_NARROW) <= room - APART
  const level = { ...given, labelAngle: 0, labelLimit: 0 }
  if (names.every(fits)) return { ...level, labelOverlap: false }
  if (columns.every((name) => typeof name === 'number' || /^\d{4}-\d{2}/.test(String(name)))) return level
  if (names.every((name) => name.split(' ').every(fits))) {
    const lines = names.map((name) => linesOf(name, room - APART, LETTERS_NARROW, 9))
    if (lines.every((one) => one.length <= 2)) {
      const labelExpr = `${JSON.stringify(lines)}[indexof(${JSON.stringify(columns)}, datum.value)]`
      return { ...level, labelOverlap: false, labelLineHeight: LINE, labelExpr }
    }
  }
  const each = Math.ceil(SLANTED / room)
  const values = columns.filter((_, index) => index % each === 0)
  return { ...given, values, labelAngle: SLANT, labelOverlap: false }
}

function linesDown(names: readonly string[], width: number): Spec {
  const lines = names.map((name) => linesOf(name, width, LETTERS_NARROW, 2))
  const whole = { labelLimit: 0, labelOverlap: false }
  if (lines.every((one) => one.length === 1)) return whole
  const at = `indexof(${JSON.stringify(names)}, datum.value)`
  const two = `${JSON.stringify(lines.map((one) => one.length > 1))}[${at}]`
  return {
    ...whole,
    labelLineHeight: LINE,
    labelExpr: `${JSON.stringify(lines)}[${at}]`,
    // The condition centers both lines in the middle of their row.
    labelBaseline: { condition: { test: two, value: 'line-bottom' }, value: 'middle' },
  }
}

/**
 * Returns the measure of panels that share one, and the value of their target, whose line has no room for a name
 * there; null for none.
 */
function subtitleOf({ usermeta }: Spec): string | null {
  const { labels, target, panels } = (usermeta ?? {}) as Partial<Kept>
  const label = labels?.y
  if (!label || panels) return null
  return target === undefined
    ? axisTitle(label)
    : `${axisTitle(label)}. Dotted line: target ${valueText(label, target)}`
}

/** Raises all font sizes to at least that of a narrow drawing. */
function larger(config: Spec): Spec {
  return Object.fromEntries(
    Object.entries(config).map(([key, item]) => {
      if (isSpec(item)) return [key, larger(item)]
      const small = /fontSize$/i.test(key) && typeof item === 'number' && item < LETTERS_NARROW
      return [key, small ? LETTERS_NARROW : item]
    }),
  )
}

function withColumns(config: Spec): Spec {
  const legend = isSpec(config.legend) ? config.legend : {}
  return { ...config, legend: { ...legend, columns: 2, labelLimit: NARROW_NAME } }
}

/** Halves the ticks, and limits names to about 20 letters. */
function relaxed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(relaxed)
  if (!isSpec(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => {
      if (key === 'data') return [key, item]
      if (key === 'tickCount' && typeof item === 'number') return [key, Math.min(4, item)]
      if ((key === 'labelLimit' || key === 'limit') && typeof item === 'number')
        return [key, Math.min(item, NARROW_NAME)]
      return [key, relaxed(item)]
    }),
  )
}

function wrapped(text: string, letters: number): string | string[] {
  if (text.length <= letters) return text
  const lines = ['']
  for (const word of text.split(' ')) {
    const line = lines.at(-1)!
    if (line !== '' && line.length + word.length >= letters) lines.push(word)
    else lines[lines.length - 1] = line === '' ? word : `${line} ${word}`
  }
  return lines
}
