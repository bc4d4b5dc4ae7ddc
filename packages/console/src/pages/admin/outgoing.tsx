/**
 * The page of what leaves a workspace: its rules with today's use, the days before, and the switch that stops all of
 * it.
 */

import type { OutgoingView } from '@assay/client'
import { DEFAULT_WORKSPACE } from '@assay/model/token'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import { api, useMe } from '../../api.ts'
import { AskFirst } from '../../parts/ask-first.tsx'
import { Fault } from '../../parts/fault.tsx'
import { SelectField, TextField } from '../../parts/field.tsx'
import { ListTable } from '../../parts/lists/list-table.tsx'
import { Empty, Loaded } from '../../parts/page.tsx'
import { Time } from '../../parts/show.tsx'
import { Curl } from '../../parts/text/curl.tsx'
import { UserName } from '../../parts/user-name.tsx'
import { size } from '../../words/durations.ts'
import { kindWords, OUTGOING, Rules } from './outgoing-rules.tsx'

const DAYS = 14
/** The most workspaces that can be chosen. */
const MOST = 200

interface StoppedProps {
  stopped: NonNullable<OutgoingView['stopped']>
  workspace_id: string
}

function Stopped({ stopped, workspace_id }: StoppedProps) {
  const cache = useQueryClient()
  const open = useMutation({
    mutationFn: () => api().outgoing.change({ stopped: false }, { workspace_id }),
    onSuccess: () => cache.invalidateQueries({ queryKey: [OUTGOING] }),
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

function StopAll({ workspace_id }: { workspace_id: string }) {
  const cache = useQueryClient()
  const [reason, setReason] = useState('')
  return (
    <AskFirst
      label="Stop all that leaves"
      title={`Stop all that leaves the workspace ${workspace_id}?`}
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
        api().outgoing.change(
          { stopped: true, reason: reason.trim() === '' ? null : reason.trim() },
          { workspace_id },
        )
      }
      onDone={() => cache.invalidateQueries({ queryKey: [OUTGOING] })}
    />
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
          <td>{kindWords(kind)}</td>
          <td data-label="Left">{count.toLocaleString('en')}</td>
          <td data-label="Refused or held back">{refused.toLocaleString('en')}</td>
          <td data-label="Size">{bytes === 0 ? '–' : size(bytes)}</td>
        </tr>
      ))}
    </ListTable>
  )
}

/** Lets operators choose the workspace whose rules are shown. The choice is in the address. */
function WorkspaceChoice({ chosen }: { chosen: string }) {
  const navigate = useNavigate({ from: '/system/outgoing' })
  const all = useQuery({ queryKey: ['workspaces'], queryFn: () => api().workspaces.list({ limit: MOST }) })
  const names = (all.data?.items ?? []).map(({ workspace_id }) => workspace_id)
  if (names.length < 2) return null
  return (
    <SelectField
      label="Workspace"
      value={chosen}
      options={names.toSorted().map((name) => ({ value: name, label: name }))}
      onChange={({ target }) =>
        void navigate({
          search: { workspace: target.value === DEFAULT_WORKSPACE ? undefined : target.value },
          replace: true,
        })
      }
    />
  )
}

export function OutgoingPage() {
  const me = useMe().data
  const operator = me?.workspace_id === DEFAULT_WORKSPACE
  const { workspace } = useSearch({ from: '/shell/system/outgoing' })
  const workspace_id = workspace ?? me?.workspace_id
  const query = useQuery({
    queryKey: [OUTGOING, workspace_id],
    queryFn: () => api().outgoing.read({ days: DAYS, workspace_id }),
    enabled: workspace_id !== undefined,
  })
  return (
    <section>
      <h2>Outgoing</h2>
      <p className="small">What leaves a workspace in the name of the service.</p>
      {operator && <WorkspaceChoice chosen={workspace ?? DEFAULT_WORKSPACE} />}
      <Loaded query={query}>
        {(rules) => (
          <>
            {rules.stopped === null ? (
              <StopAll workspace_id={rules.workspace_id} />
            ) : (
              <Stopped stopped={rules.stopped} workspace_id={rules.workspace_id} />
            )}
            <Rules key={rules.workspace_id} rules={rules} editable={operator} />
            <section>
              <Days days={rules.days} />
            </section>
          </>
        )}
      </Loaded>
    </section>
  )
}
