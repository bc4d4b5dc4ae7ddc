/**
 * Shows the rules of what may leave a workspace: budgets, the model, hosts, domains of mail. The operator changes
 * them.
 */

import type { OutgoingView } from '@assay/client'
import { KIND_WORDS, OUTGOING_KINDS, type OutgoingKind } from '@assay/model/outgoing'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, faultsOf } from '../../api.ts'
import { useOpened } from '../../drafts/unchanged.ts'
import { ChangeForm, Editable } from '../../parts/editing.tsx'
import { CheckField, LinesField, TextField } from '../../parts/field.tsx'
import { ListTable } from '../../parts/lists/list-table.tsx'
import { budgetFaults, changeOf, draftOf, listFault, type RulesDraft } from './outgoing-draft.ts'

export const OUTGOING = 'outgoing'

export const kindWords = (kind: OutgoingKind): string =>
  KIND_WORDS[kind].charAt(0).toUpperCase() + KIND_WORDS[kind].slice(1)

function List({ items, none }: { items: readonly string[]; none: string }) {
  if (items.length === 0) return none
  return items.map((item) => (
    <span key={item}>
      <code>{item}</code>{' '}
    </span>
  ))
}

function Shown({ rules: { budgets, model, hosts, mail_domains } }: { rules: OutgoingView }) {
  return (
    <>
      <ListTable columns={['What', 'Today (UTC)', 'Budget a day', 'Set for']} caption="Budgets">
        {budgets.map(({ kind, budget, own, today }) => (
          <tr key={kind}>
            <td>{kindWords(kind)}</td>
            <td data-label="Today">{today.toLocaleString('en')}</td>
            <td data-label="Budget a day">{budget === null ? 'no limit' : budget.toLocaleString('en')}</td>
            <td data-label="Set for">{own ? 'this workspace' : 'every workspace'}</td>
          </tr>
        ))}
      </ListTable>
      <dl>
        <div>
          <dt>Language model</dt>
          <dd>{model ? 'templates may ask it' : 'templates may not ask it'}</dd>
        </div>
        <div>
          <dt>Hosts</dt>
          <dd>
            {hosts === null ? 'all that the service may reach' : <List items={hosts} none="none at all" />}
          </dd>
        </div>
        <div>
          <dt>Mail without agreement</dt>
          <dd>
            {mail_domains === null ? (
              'to the domains of every workspace'
            ) : (
              <List items={mail_domains} none="to nobody" />
            )}
          </dd>
        </div>
      </dl>
    </>
  )
}

interface FieldsProps {
  draft: RulesDraft
  change(draft: RulesDraft): void
  faults: Record<string, string>
}

function BudgetFields({ draft, change, faults, rules }: FieldsProps & { rules: OutgoingView }) {
  return (
    <fieldset className="field">
      <legend>Budgets a day</legend>
      <div className="hint">Left empty, a budget is the one of every workspace.</div>
      <div className="pairs">
        {rules.budgets.map(({ kind, budget, own, today }) => (
          <TextField
            key={kind}
            label={kindWords(kind)}
            hint={`${today} today`}
            inputMode="numeric"
            placeholder={own ? '' : budget === null ? 'no limit' : String(budget)}
            fault={faults[`budgets.${kind}`]}
            value={draft.budgets[kind]}
            onChange={({ target }) =>
              change({ ...draft, budgets: { ...draft.budgets, [kind]: target.value } })
            }
          />
        ))}
      </div>
    </fieldset>
  )
}

function ReachFields({ draft, change, faults }: FieldsProps) {
  return (
    <>
      <CheckField
        label="Templates may ask the language model"
        checked={draft.model}
        onChange={({ target }) => change({ ...draft, model: target.checked })}
      />
      <CheckField
        label="Only the hosts of a list"
        hint="Otherwise all that the service may reach."
        checked={draft.narrowsHosts}
        onChange={({ target }) => change({ ...draft, narrowsHosts: target.checked })}
      />
      {draft.narrowsHosts && (
        <LinesField
          label="Hosts of connections, downloads, webhooks and chats"
          hint="One a line: a name, an address, or *.example.com for the names below it. An empty list lets nothing out."
          placeholder="db.example.com"
          fault={listFault(faults, 'hosts', draft.hosts)}
          value={draft.hosts}
          onChange={({ target }) => change({ ...draft, hosts: target.value })}
        />
      )}
      <CheckField
        label="Own domains of mail"
        hint="Otherwise those of every workspace. Owners of other addresses are asked before they get mail."
        checked={draft.ownDomains}
        onChange={({ target }) => change({ ...draft, ownDomains: target.checked })}
      />
      {draft.ownDomains && (
        <LinesField
          label="Domains whose addresses get mail without a question"
          hint="One a line: example.com, *.example.com for those below it, or * for all. An empty list asks every owner."
          placeholder="example.com"
          fault={listFault(faults, 'mail_domains', draft.domains)}
          value={draft.domains}
          onChange={({ target }) => change({ ...draft, domains: target.value })}
        />
      )}
    </>
  )
}

function RulesForm({ rules, onDone }: { rules: OutgoingView; onDone(): void }) {
  const { workspace_id } = rules
  const cache = useQueryClient()
  const opened = useOpened(rules)
  const [draft, change] = useState(() => draftOf(rules))
  const [tried, setTried] = useState(false)
  const save = useMutation({
    mutationFn: () => api().outgoing.change(changeOf(draft, rules), { workspace_id, ...opened }),
    onSuccess: async () => {
      await cache.invalidateQueries({ queryKey: [OUTGOING] })
      onDone()
    },
  })
  const typed = budgetFaults(draft)
  const faults = { ...faultsOf(save.error), ...(tried ? typed : {}) }
  const known = [...OUTGOING_KINDS.map((kind) => `budgets.${kind}`), 'hosts', 'mail_domains']
  const shown = Object.keys(faults).some((path) => known.some((name) => path.startsWith(name)))
  const submit = (): void => {
    setTried(true)
    if (Object.keys(typed).length === 0) save.mutate()
  }
  return (
    <ChangeForm save={save} shown={shown} onSubmit={submit} onDone={onDone}>
      <BudgetFields draft={draft} change={change} faults={faults} rules={rules} />
      <ReachFields draft={draft} change={change} faults={faults} />
    </ChangeForm>
  )
}

/** Shows the rules. `editable`: whether the caller is an operator, who alone may change them. */
export function Rules({ rules, editable }: { rules: OutgoingView; editable: boolean }) {
  return (
    <section className="rules">
      <Editable editable={editable} form={(onDone) => <RulesForm rules={rules} onDone={onDone} />}>
        <Shown rules={rules} />
      </Editable>
      {!editable && <p className="small">The operator of the service sets these.</p>}
    </section>
  )
}
