/** One specification as two drawings: for a page, and for a phone, where there are fewer ticks but no smaller letters. */
import { type Label } from '../chart-values.ts'
import { titleText } from '../labels.ts'
import { LETTERS_NARROW, LOOK, NARROW, WIDE } from '../marks/look.ts'

type Spec = Record<string, unknown>

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
    return { ...spec, ...title, columns: narrow ? 1 : given.columns, spec: narrow ? relaxed(panel) : panel }
  }
  const sized = { ...spec, ...title, width, autosize: { type: 'fit-x', contains: 'padding' } }
  return narrow ? (relaxed(sized) as Spec) : sized
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
