/** Finds registered addresses with a host that the workspace may not reach. */

import type { FieldError } from '@assay/model/errors'
import type { Source } from '@assay/model/template'
import type { DialingKind, Ledger } from './ledger.ts'
import { hostOf } from './refusal.ts'

export interface HostVetting {
  ledger: Pick<Ledger, 'vetHost'>
  workspace_id: string
  kind: DialingKind
}

/** The most hosts that are looked up once there is a fault. */
const HOSTS_MOST = 20

/** Returns a fault for each refused host. Each refusal counts in the ledger and is in the audit trail. */
export async function hostFaults(
  { ledger, workspace_id, kind }: HostVetting,
  host: string,
  path: string,
): Promise<FieldError[]> {
  const refusal = await ledger.vetHost(workspace_id, kind, host)
  return refusal === null ? [] : [{ path, message: refusal.text }]
}

/**
 * Returns the faults of the addresses that a template or a metric downloads. Hosts in these addresses are written in
 * full. `path`: the path of the field with the template.
 */
export async function downloadFaults(
  vetting: Omit<HostVetting, 'kind'>,
  sources: readonly Pick<Source, 'connection' | 'file' | 'line' | 'column'>[],
  path: 'template' | 'metric' | 'template_id' | 'payload.template_id',
): Promise<FieldError[]> {
  const faults: FieldError[] = []
  const judged = new Map<string, FieldError[]>()
  for (const { connection, file, line, column } of sources) {
    const host = connection === null && file !== null && /^https?:/i.test(file) ? hostOf(file) : ''
    if (host === '') continue
    const found = judged.get(host) ?? (await hostFaults({ ...vetting, kind: 'download' }, host, path))
    judged.set(host, found)
    faults.push(...found.map((fault) => ({ ...fault, line, column })))
    // Each refused host costs a read of the rules, so the search stops here.
    if (judged.size >= HOSTS_MOST && faults.length > 0) break
  }
  return faults
}
