/** Checks what a subscription follows: templates, schedules, collections and metrics must exist. */
import { AppError, type FieldError } from '@assay/model/errors'
import { isUuid } from '@assay/model/ids'
import type { Call } from '../http/operation.ts'
import { requireTemplate } from '../templates/template-lookup.ts'

type Asking = Pick<Call, 'services' | 'principal'>

async function hasTemplate({ services, principal }: Asking, template_id: string): Promise<boolean> {
  try {
    await requireTemplate(services, principal, template_id)
    return true
  } catch (error) {
    // A template with faults exists and may be mended. Only `not_found` means that there is none.
    if (error instanceof AppError) return error.code !== 'not_found'
    throw error
  }
}

async function hasSchedule({ services, principal }: Asking, schedule_id: string): Promise<boolean> {
  const { workspace_id } = principal
  return isUuid(schedule_id) && (await services.store.getSchedule({ workspace_id, schedule_id })) !== null
}

async function hasCollection({ services, principal }: Asking, collection_id: string): Promise<boolean> {
  const { workspace_id } = principal
  return (
    isUuid(collection_id) && (await services.store.getCollection({ workspace_id, collection_id })) !== null
  )
}

async function hasMetric({ services, principal }: Asking, metric_id: string): Promise<boolean> {
  const { workspace_id } = principal
  if (services.catalog.metrics().some(({ view }) => view.metric_id === metric_id)) return true
  return (await services.store.getMetric({ workspace_id, metric_id })) !== null
}

const NOUNS = { template: hasTemplate, schedule: hasSchedule, collection: hasCollection, metric: hasMetric }

/** Returns every fault of `follows`. Entries of `present` are not checked, because they may be gone by now. */
export async function followFaults(
  asking: Asking,
  follows: readonly string[] | null | undefined,
  present: readonly string[] | null = null,
): Promise<FieldError[]> {
  const faults: FieldError[] = []
  for (const [index, one] of (follows ?? []).entries()) {
    if (present?.includes(one)) continue
    const refuse = (message: string): void => void faults.push({ path: `follows.${index}`, message })
    const [, noun, id = ''] = /^(template|schedule|collection|metric):(.+)$/.exec(one) ?? []
    if (noun === undefined)
      refuse(
        `must be "template:ID", "schedule:ID", "collection:ID" or "metric:ID", not ${JSON.stringify(one)}`,
      )
    else if (!(await NOUNS[noun as keyof typeof NOUNS](asking, id)))
      refuse(`names no ${noun} of this workspace: ${id}`)
  }
  return faults
}
