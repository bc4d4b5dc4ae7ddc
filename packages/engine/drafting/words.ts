/** What metrics and templates of a draft write alike: names, comments, and what is measured. */
import { plainLine } from '../printing/escape.ts'

const LONGEST = 200

export interface Measured {
  /** The name of the metric. */
  id: string
  label: string
  /** Null: the rows are counted. */
  column: string | null
  /** An expression of a metric, which SQL reads alike. */
  value: string
}

/** Of these a mean says more than a sum. */
export const MEANS =
  /(?:^|[^a-z])(?:rate|share|percent|pct|perc|ratio|score|rating|price|temp\w*|age|speed|delay|distance|height|weight|length|depth|mean|avg|average|index|level|open|high|low|close|pressure|wind|minutes?|min|expect\w*|fertility|co2|mpg)(?:[^a-z]|$)/i

export const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`

export const comment = (text: string): string => `# ${plainLine(text).slice(0, LONGEST).toWellFormed()}\n`
