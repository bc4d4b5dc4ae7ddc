/** What a template needs of a reader. */
import { metricVariables } from '@assay/engine/metrics/names'
import type { FoundTemplate } from '@assay/engine/reading/lookup'
import type { StoredReader } from '@assay/model/readers'

type Viewed = Pick<FoundTemplate, 'view'>

/** Whether no run of it is without a reader. */
export function isPersonal(template: Viewed): boolean {
  return template.view.personal
}

/** Whether each of its readers has rows of her own, or may have: by a metric that a variable names. */
export function takesReader(template: Viewed & Pick<FoundTemplate, 'source'>): boolean {
  return isPersonal(template) || metricVariables(template.source.source).length > 0
}

/** What the template reads and the reader lacks, as a sentence; null: nothing. */
export function lackOf(template: Viewed, reader: StoredReader): string | null {
  const has = (name: string): boolean =>
    name === 'name' || (name === 'email' ? reader.email !== null : Object.hasOwn(reader.attributes, name))
  const lacking = template.view.reader_attributes.filter((name) => !has(name))
  if (lacking.length === 0) return null
  return `The reader ${reader.reader_id} has no ${lacking.join(', ')}, which the template reads: put the reader with it (PUT /v1alpha/readers/{reader_id}, "assay readers set").`
}
