/** One specification as two drawings: for a page, and for a phone, where there are fewer ticks but no smaller letters. */
import { type Label } from '../chart-values.ts'
import { titleText } from '../labels.ts'
import { LETTERS_NARROW, LOOK, NARROW, WIDE } from '../marks/look.ts'
import { linesOf } from '../text-width.ts'

type Spec = Record<string, unknown>

/** The height of a line of a name in two lines. */
const LINE = 14

const isSpec = (value: unknown): value is Spec =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** A specification of the width, with the look of all charts where it has none. */
export function fitted(given: Spec, size: 'wide' | 'narrow'): Spec {
  const narrow = size === 'narrow'
  const width = narrow ? NARROW : WIDE
  const config = { ...LOOK, ...(isSpec(given.config) ? given.config : {}) }
  const spec: Spec = { ...given, config: narrow ? withColumns(larger(config)) : config }
  const title: Spec = typeof given.title === 'string' ? { title: wrapped(given.title, narrow ? 34 : 88) } : {}
  if (isSpec(spec.facet)) {
    // The axes of panels have no room for a title.
    const subtitle = subtitleOf(given)
    if (subtitle !== null) title.title = { text: title.title ?? '', subtitle }
    const inner = isSpec(given.spec) ? given.spec : {}
    const panel = narrow ? { ...inner, width: NARROW - 80, height: 130 } : inner
    const drawn = inLines(narrow ? relaxed(panel) : panel)
    return { ...spec, ...title, columns: narrow ? 1 : given.columns, spec: drawn }
  }
  const sized = { ...spec, ...title, width, autosize: { type: 'fit-x', contains: 'padding' } }
  return inLines(narrow ? relaxed(sized) : sized) as Spec
}

/** Names down the side that are too long for a line stand in two. */
function inLines(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inLines)
  if (!isSpec(value)) return value
  const { axis, scale, type } = value
  const names = isSpec(scale) ? scale.domain : null
  if (type === 'nominal' && isSpec(axis) && Array.isArray(names) && typeof axis.labelLimit === 'number')
    return { ...value, axis: { ...axis, ...linesDown(names.map(String), axis.labelLimit) } }
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, key === 'data' ? item : inLines(item)]),
  )
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
    // Both lines together stand in the middle of their row.
    labelBaseline: { condition: { test: two, value: 'line-bottom' }, value: 'middle' },
  }
}

function subtitleOf({ usermeta }: Spec): string | null {
  const label = (usermeta as { labels?: { y?: Label } } | undefined)?.labels?.y
  return label ? titleText(label) : null
}

/** No letters below those of a narrow drawing. */
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
  return { ...config, legend: { ...legend, columns: 2, labelLimit: 110 } }
}

/** Half the ticks, and names of at most about 20 letters. */
function relaxed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(relaxed)
  if (!isSpec(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => {
      if (key === 'data') return [key, item]
      if (key === 'tickCount' && typeof item === 'number') return [key, Math.min(4, item)]
      if ((key === 'labelLimit' || key === 'limit') && typeof item === 'number')
        return [key, Math.min(item, 110)]
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
