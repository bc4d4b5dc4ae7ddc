/** Decides whether something may leave a workspace, and words the reason if not. Pure. */
import { type Budgets, KIND_WORDS, type OutgoingKind, type OutgoingRules } from '@assay/model/outgoing'

/** The cause of a refusal: the stop of the workspace, the budget, the switch of the model, or the list of hosts. */
export type Cause = 'stopped' | 'budget' | 'model' | 'host'

export interface Refusal {
  cause: Cause
  /** A sentence for the caller with the reason and the remedy. */
  text: string
}

/** Returns how many of a kind may leave a day; null: no limit. */
export function budgetOf({ budgets }: OutgoingRules, kind: OutgoingKind, usual: Budgets): number | null {
  return budgets[kind] ?? usual[kind]
}

function stoppedText({ stopped }: OutgoingRules): string {
  const { at, by_operator, reason } = stopped!
  const who = by_operator ? 'The operator' : 'An admin'
  const why = reason === null ? '' : ` (${reason})`
  const undo = by_operator ? 'the operator opens it again' : 'an admin opens it again under System, Outgoing'
  return `${who} has stopped all that leaves this workspace, at ${at}${why}: ${undo}.`
}

/** Returns why one more of a kind may not leave if `today` have left since 00:00 UTC. Null if it may. */
export function refusalOf(
  rules: OutgoingRules,
  kind: OutgoingKind,
  { today, usual }: { today: number; usual: Budgets },
): Refusal | null {
  if (rules.stopped !== null) return { cause: 'stopped', text: stoppedText(rules) }
  if (kind === 'model' && !rules.model)
    return {
      cause: 'model',
      text: 'This workspace may not ask the language model: the operator can allow it (PATCH /v1alpha/outgoing).',
    }
  const budget = budgetOf(rules, kind, usual)
  if (budget === null || today < budget) return null
  const bearer =
    typeof rules.budgets[kind] !== 'number'
      ? `ASSAY_BUDGET_${kind.toUpperCase()}`
      : `its own budget "${kind}"`
  return {
    cause: 'budget',
    text: `The workspace has used up its budget of ${budget} ${KIND_WORDS[kind]} a day (${bearer}): more leave from 00:00 UTC on, or when the operator raises it.`,
  }
}

/** Returns the host of an address as lists of hosts write it; "" for a text that is not an address. */
export function hostOf(url: string): string {
  return (URL.parse(url)?.hostname ?? '').replace(/^\[|\]$/g, '')
}

/** The most hosts that a sentence names. */
const NAMED_MOST = 5

function namedHosts(hosts: readonly string[]): string {
  if (hosts.length === 0) return 'which is empty'
  const more = hosts.length - NAMED_MOST
  return `which holds ${hosts.slice(0, NAMED_MOST).join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}

/** Makes the refusal of a host. `hosts`: the list of the workspace, which does not hold the host. */
export function hostRefusal(host: string, hosts: readonly string[]): Refusal {
  return {
    cause: 'host',
    text: `This workspace may not reach the host ${host}: the operator can add it to the list "hosts" of the workspace (PATCH /v1alpha/outgoing), ${namedHosts(hosts)}.`,
  }
}
