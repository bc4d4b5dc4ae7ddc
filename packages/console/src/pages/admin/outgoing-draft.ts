/** Converts the rules of what may leave a workspace to those of its form, and a draft to the change that it makes. */
import type { OutgoingView } from '@assay/client'
import { OUTGOING_KINDS, type OutgoingKind } from '@assay/model/outgoing'
import { api } from '../../api.ts'

export interface RulesDraft {
  /** The budgets as typed. An empty text stands for that of every workspace. */
  budgets: Record<OutgoingKind, string>
  model: boolean
  /** True if a list restricts the hosts. The next field holds its lines. */
  narrowsHosts: boolean
  hosts: string
  ownDomains: boolean
  domains: string
}

type Change = Parameters<ReturnType<typeof api>['outgoing']['change']>[0]

export const linesOf = (text: string): string[] => text.split(/[\s,]+/).filter(Boolean)

export function draftOf({ budgets, model, hosts, mail_domains }: OutgoingView): RulesDraft {
  const own = new Map(budgets.map((one) => [one.kind, one.own ? String(one.budget) : '']))
  return {
    budgets: Object.fromEntries(OUTGOING_KINDS.map((kind) => [kind, own.get(kind) ?? ''])) as Record<
      OutgoingKind,
      string
    >,
    model,
    narrowsHosts: hosts !== null,
    hosts: (hosts ?? []).join('\n'),
    ownDomains: mail_domains !== null,
    domains: (mail_domains ?? []).join('\n'),
  }
}

/** Returns the faults of budgets as typed, by the paths of the API's faults. */
export function budgetFaults({ budgets }: RulesDraft): Record<string, string> {
  const wrong = OUTGOING_KINDS.filter((kind) => !/^\d{0,10}$/.test(budgets[kind].trim()))
  return Object.fromEntries(
    wrong.map((kind) => [`budgets.${kind}`, 'must be a whole number such as 200, or empty']),
  )
}

/** Returns the fields that differ. Nothing else is sent, so that the audit trail names what was changed. */
export function changeOf(draft: RulesDraft, present: OutgoingView): Change {
  const before = draftOf(present)
  const budgets = OUTGOING_KINDS.map((kind) => [kind, draft.budgets[kind].trim()] as const)
    .filter(([kind, typed]) => typed !== before.budgets[kind])
    .map(([kind, typed]) => [kind, typed === '' ? null : Number(typed)])
  const listOf = (isOwn: boolean, lines: string) => (isOwn ? linesOf(lines) : null)
  const hosts = listOf(draft.narrowsHosts, draft.hosts)
  const mail_domains = listOf(draft.ownDomains, draft.domains)
  const differs = (one: unknown, other: unknown) => JSON.stringify(one) !== JSON.stringify(other)
  return {
    ...(budgets.length > 0 ? { budgets: Object.fromEntries(budgets) } : {}),
    ...(draft.model === present.model ? {} : { model: draft.model }),
    ...(differs(hosts, present.hosts) ? { hosts } : {}),
    ...(differs(mail_domains, present.mail_domains) ? { mail_domains } : {}),
  }
}

/** Returns the faults of a list, each with the line that it is about. */
export function listFault(
  faults: Record<string, string>,
  name: 'hosts' | 'mail_domains',
  text: string,
): string | undefined {
  const lines = linesOf(text)
  const found = Object.entries(faults).filter(([path]) => path === name || path.startsWith(`${name}.`))
  const words = found.map(([path, message]) => {
    const line = lines[Number(path.slice(name.length + 1))]
    return line === undefined || path === name ? message : `“${line}” ${message}`
  })
  return words.join('; ') || undefined
}
