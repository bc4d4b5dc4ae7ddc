/** Decides whether a template needs a reader. */
import { metricPartial, metricsRead, metricVariables } from '@assay/engine/metrics/names'
import type { FoundTemplate } from '@assay/engine/reading/lookup'
import type { StoredReader } from '@assay/model/readers'

type Viewed = Pick<FoundTemplate, 'view'>
type Read = Viewed & Pick<FoundTemplate, 'source'>

/** The key `rows` in a definition, which only a definition with the rule has. */
const RULE = /(?:^|[{,])[ \t]*["']?rows["']?[ \t]*:/mu

/**
 * Tells whether each run with these values of its variables needs a reader. The values may name metrics whose rows have
 * a rule.
 */
export function isPersonal({ view, source }: Read, values: Readonly<Record<string, unknown>>): boolean {
  if (view.personal) return true
  if (metricVariables(source.source).length === 0) return false
  return metricsRead(source, values).some((name) => RULE.test(source.partials[metricPartial(name)]!))
}

/** Tells whether readers of the template have rows of their own, or may have by a metric that a variable names. */
export function takesReader({ view, source }: Read): boolean {
  return view.personal || metricVariables(source.source).length > 0
}

/** Returns a sentence on what the template reads and the reader lacks; null if nothing is missing. */
export function lackOf(template: Viewed, reader: StoredReader): string | null {
  const has = (name: string): boolean =>
    name === 'name' || (name === 'email' ? reader.email !== null : Object.hasOwn(reader.attributes, name))
  const lacking = template.view.reader_attributes.filter((name) => !has(name))
  if (lacking.length === 0) return null
  return `The reader ${reader.reader_id} has no ${lacking.join(', ')}, which the template reads: put the reader with it (PUT /v1alpha/readers/{reader_id}, "assay readers set").`
}
