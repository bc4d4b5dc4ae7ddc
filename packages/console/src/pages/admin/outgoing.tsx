/** What leaves the workspace: budgets with what is used of them today, the days before, and the switch that stops all of it. */

import type { OutgoingView } from '@assay/client'
import { KIND_WORDS, type OutgoingKind } from '@assay/model/outgoing'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api } from '../../api.ts'
import { AskFirst } from '../../parts/ask-first.tsx'
import { Fault } from '../../parts/fault.tsx'
import { TextField } from '../../parts/field.tsx'
import { ListTable } from '../../parts/lists/list-table.tsx'
import { Empty, Loaded } from '../../parts/page.tsx'
import { Time } from '../../parts/show.tsx'
import { Curl } from '../../parts/text/curl.tsx'
import { UserName } from '../../parts/user-name.tsx'
import { size } from '../../words/durations.ts'

const DAYS = 14
const KEY = ['outgoing']

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)
const words = (kind: OutgoingKind): string => capital(KIND_WORDS[kind])

function Stopped({ stopped }: { stopped: NonNullable<OutgoingView['stopped']> }) {
  const cache = useQueryClient()
  const open = useMutation({
    mutationFn: () => api().outgoing.change({ stopped: false }),
    onSuccess: () => cache.invalidateQueries({ queryKey: KEY }),
  })
  return (
    <section className="notice" role="status">
      <p>
        <strong>Nothing leaves this workspace</strong> since <Time at={stopped.at} exact />, stopped by{' '}
        {stopped.by_operator ? 'the operator, ' : ''}
        <UserName user_id={stopped.user_id} />
        {stopped.reason === null ? '.' : `: ${stopped.reason}.`} Deliveries wait and go out afterwards.
      </p>
      <button
        type="button"
        className="button primary"
        disabled={open.isPending}
        onClick={() => open.mutate()}
      >
        Open it again
      </button>
      {open.isError && <Fault error={open.error} />}
    </section>
  )
}

function StopAll() {
  const cache = useQueryClient()
  const [reason, setReason] = useState('')
  return (
    <AskFirst
      label="Stop all that leaves"
      title="Stop all that leaves this workspace?"
      description="Mail, chat messages and webhooks wait, and go out once it is open again. Questions to the language model, downloads and queries over connections are refused, so jobs that need them fail."
      note={
        <TextField
          label="Why, for your colleagues"
          value={reason}
          maxLength={500}
          onChange={({ target }) => setReason(target.value)}
        />
      }
      action="Stop it"
      act={() =>
        api().outgoing.change({ stopped: true, reason: reason.trim() === '' ? null : reason.trim() })
      }
      onDone={() => cache.invalidateQueries({ queryKey: KEY })}
    />
  )
}

function Budgets({ budgets }: Pick<OutgoingView, 'budgets'>) {
  return (
    <ListTable columns={['What', 'Today (UTC)', 'Budget a day', 'Set for']} caption="Budgets">
      {budgets.map(({ kind, budget, own, today }) => (
        <tr key={kind}>
          <td>{words(kind)}</td>
          <td>{today}</td>
          <td>{budget === null ? 'no limit' : budget}</td>
          <td>{own ? 'this workspace' : 'every workspace'}</td>
        </tr>
      ))}
    </ListTable>
  )
}

function Days({ days }: Pick<OutgoingView, 'days'>) {
  if (days.length === 0)
    return (
      <Empty title={`Nothing left in ${DAYS} days`}>
        <p>A mail, a webhook request or a query over a connection appears here a second after it left.</p>
        <Curl path={`/outgoing?days=${DAYS}`} />
      </Empty>
    )
  return (
    <ListTable
      columns={['Day', 'What', 'Left', 'Refused or held back', 'Size']}
      caption={`The last ${DAYS} days`}
    >
      {days.map(({ day, kind, count, refused, bytes }) => (
        <tr key={`${day} ${kind}`}>
          <td>{day}</td>
          <td>{words(kind)}</td>
          <td>{count}</td>
          <td>{refused}</td>
          <td>{bytes === 0 ? '–' : size(bytes)}</td>
        </tr>
      ))}
    </ListTable>
  )
}

export function OutgoingPage() {
  const query = useQuery({ queryKey: KEY, queryFn: () => api().outgoing.read({ days: DAYS }) })
  return (
    <section>
      <h2>Outgoing</h2>
      <p className="small">What leaves this workspace in the name of the service.</p>
      <Loaded query={query}>
        {({ stopped, model, hosts, budgets, days }) => (
          <>
            {stopped === null ? <StopAll /> : <Stopped stopped={stopped} />}
            {!model && <p>Templates of this workspace may not ask the language model.</p>}
            {hosts !== null && (
              <p>
                Connections, downloads, webhooks and chat messages may reach{' '}
                {hosts.length === 0 ? 'no host' : hosts.map((host) => <code key={host}>{host} </code>)}
              </p>
            )}
            <section>
              <Budgets budgets={budgets} />
            </section>
            <section>
              <Days days={days} />
            </section>
          </>
        )}
      </Loaded>
    </section>
  )
}
