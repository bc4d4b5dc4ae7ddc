/** The page of workspaces, with the caps of each and its use now. The operator changes the caps. */

import type { Workspace } from '@assay/client'
import { DEFAULT_WORKSPACE } from '@assay/model/token'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { api, faultsOf, useMe } from '../../api.ts'
import {
  CAP_NAMES,
  CAPS,
  type CapName,
  capFaults,
  capsChange,
  capsDraft,
  isBytes,
} from '../../drafts/caps.ts'
import { asShown } from '../../drafts/unchanged.ts'
import { ChangeForm } from '../../parts/editing.tsx'
import { TextField } from '../../parts/field.tsx'
import { ListTable } from '../../parts/lists/list-table.tsx'
import { Paged, usePaged } from '../../parts/lists/paged.tsx'
import { Empty } from '../../parts/page.tsx'
import { size } from '../../words/durations.ts'

const REFRESH_MS = 10_000
const COLUMNS = [
  'Workspace',
  'Jobs waiting',
  'Jobs running',
  'Processor seconds this hour',
  'Disk of analyses',
  'Stored',
  'Requests a second',
  'Uploads',
  'Action',
]

function capOf(workspace: Workspace, name: CapName): string {
  const cap = workspace[name]
  if (cap === null) return 'usual'
  return isBytes(name) ? size(cap) : cap.toLocaleString('en')
}

/** Shows the use of a cap if the service reports it, else only the cap. */
function Cap({ workspace, name, used }: { workspace: Workspace; name: CapName; used?: number }) {
  const cap = capOf(workspace, name)
  const label = CAPS[name].label
  const shown = (value: number): string =>
    isBytes(name) ? size(value) : Number(value.toFixed(1)).toLocaleString('en')
  if (used === undefined) return <td data-label={label}>{cap}</td>
  return (
    <td data-label={label}>
      {shown(used)}
      {workspace[name] !== null && ` of ${cap}`}
    </td>
  )
}

function CapsForm({ workspace, onDone }: { workspace: Workspace; onDone(): void }) {
  const cache = useQueryClient()
  const [draft, setDraft] = useState(() => capsDraft(workspace))
  const [tried, setTried] = useState(false)
  const save = useMutation({
    mutationFn: async () => {
      const { workspace_id } = workspace
      const condition = await asShown(workspace, () => api().workspaces.get(workspace_id), CAP_NAMES)
      return api().workspaces.change(workspace_id, capsChange(draft, workspace), condition)
    },
    onSuccess: async () => {
      await cache.invalidateQueries({ queryKey: ['workspaces'] })
      onDone()
    },
  })
  const typed = capFaults(draft)
  const faults: Record<string, string> = { ...faultsOf(save.error), ...(tried ? typed : {}) }
  const submit = (): void => {
    setTried(true)
    if (Object.keys(typed).length === 0) save.mutate()
  }
  return (
    <ChangeForm
      save={save}
      shown={CAP_NAMES.some((name) => name in faults)}
      onSubmit={submit}
      onDone={onDone}
    >
      <fieldset className="field">
        <legend>Caps of {workspace.workspace_id}</legend>
        <div className="hint">
          Left empty, a cap is the one that the settings give every workspace. Bytes may be written as 500 MB.
        </div>
        <div className="pairs">
          {CAP_NAMES.map((name) => (
            <TextField
              key={name}
              label={CAPS[name].label}
              hint={CAPS[name].hint}
              placeholder="usual"
              autoComplete="off"
              fault={faults[name]}
              value={draft[name]}
              onChange={({ target }) => setDraft({ ...draft, [name]: target.value })}
            />
          ))}
        </div>
      </fieldset>
    </ChangeForm>
  )
}

interface RowProps {
  workspace: Workspace
  editable: boolean
  waiting: number | undefined
  running: number | undefined
}

function Row({ workspace, editable, waiting, running }: RowProps) {
  const [editing, setEditing] = useState(false)
  const { workspace_id, name, processor_seconds, stored_bytes } = workspace
  if (editing)
    return (
      <tr>
        <td colSpan={COLUMNS.length}>
          <CapsForm workspace={workspace} onDone={() => setEditing(false)} />
        </td>
      </tr>
    )
  return (
    <tr>
      <td>
        {name}
        {name !== workspace_id && (
          <>
            {' '}
            (<code>{workspace_id}</code>)
          </>
        )}
      </td>
      <Cap workspace={workspace} name="max_queued" used={waiting} />
      <Cap workspace={workspace} name="max_running" used={running} />
      <Cap workspace={workspace} name="max_processor_seconds" used={processor_seconds} />
      <Cap workspace={workspace} name="max_spill_bytes" />
      <Cap workspace={workspace} name="max_stored_bytes" used={stored_bytes} />
      <Cap workspace={workspace} name="rate_limit" />
      <td data-label="Uploads">
        <div>one: {capOf(workspace, 'max_file_bytes')}</div>
        <div>all: {capOf(workspace, 'max_files_bytes')}</div>
      </td>
      {editable && (
        <td>
          <button
            type="button"
            className="button quiet small"
            aria-label={`Change ${workspace_id}`}
            onClick={() => setEditing(true)}
          >
            Change
          </button>
        </td>
      )}
    </tr>
  )
}

/** Returns the unfinished jobs of a workspace in these states; undefined until they are known. */
function useJobs() {
  const queue = useQuery({ queryKey: ['queue'], queryFn: () => api().queue(), refetchInterval: REFRESH_MS })
  return (workspace_id: string, ...states: string[]): number | undefined =>
    queue.data?.jobs
      .filter((one) => one.workspace_id === workspace_id && states.includes(one.job_status))
      .reduce((sum, { count }) => sum + count, 0)
}

export function WorkspacesPage() {
  const operator = useMe().data?.workspace_id === DEFAULT_WORKSPACE
  const jobs = useJobs()
  const query = usePaged(
    ['workspaces', 'pages'],
    (cursor) => api().workspaces.list(cursor ? { cursor } : {}),
    REFRESH_MS,
  )
  return (
    <section>
      <h2>Workspaces</h2>
      <p className="small">
        What each takes now, and its own cap where it has one. “usual”, or a number alone: the cap of every
        workspace in the <Link to="/system/settings">settings</Link>.
        {!operator && ' The operator of the service sets these.'}
      </p>
      <Paged query={query} empty={<Empty title="No workspace">The operator creates them.</Empty>}>
        {(workspaces) => (
          <div className="wraps">
            <ListTable columns={operator ? COLUMNS : COLUMNS.slice(0, -1)}>
              {workspaces.map((workspace) => (
                <Row
                  key={workspace.workspace_id}
                  workspace={workspace}
                  editable={operator}
                  waiting={jobs(workspace.workspace_id, 'queued')}
                  running={jobs(workspace.workspace_id, 'active', 'executing')}
                />
              ))}
            </ListTable>
          </div>
        )}
      </Paged>
    </section>
  )
}
