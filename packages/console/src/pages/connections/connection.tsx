/** The page of one connection: its settings, its test, the YAML for a template, and the form that changes it. */

import type { ConnectionView } from '@assay/model/connection'
import { KINDS } from '@assay/model/connection-kinds'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { api, areShown, faultsOf, useMay } from '../../api.ts'
import {
  changeOf,
  draftOf,
  findConnection,
  LIMITS,
  leadsOtherwise,
  optionText,
  optionWords,
  snippetOf,
} from '../../connections.ts'
import { useOpened } from '../../drafts/unchanged.ts'
import { AskFirst } from '../../parts/ask-first.tsx'
import {
  CONNECTION_FIELDS,
  ConnectionFields,
  type SecretsDraft,
} from '../../parts/connections/connection-form.tsx'
import { ConnectionTables } from '../../parts/connections/connection-tables.tsx'
import { ConnectionTest, Refused, useTriedSave } from '../../parts/connections/connection-test.tsx'
import { ChangeForm, Editable } from '../../parts/editing.tsx'
import { ForAdmins } from '../../parts/for-admins.tsx'
import { Empty, Loaded, Page } from '../../parts/page.tsx'
import { Time } from '../../parts/show.tsx'
import { Code } from '../../parts/text/code.tsx'

function Facts({ connection }: { connection: ConnectionView }) {
  const { kind, options, secrets, limits, origin, created_at, updated_at } = connection
  const rows: [string, string][] = [
    ['Kind', KINDS[kind].title],
    ...Object.entries(options).map(([name, value]): [string, string] => [
      optionWords(name).label,
      optionText(name, value),
    ]),
    ...Object.keys(KINDS[kind].secrets).map((name): [string, string] => [
      optionWords(name).label,
      secrets[name] === undefined ? 'not set' : `set: ${secrets[name]}`,
    ]),
    ...Object.entries(LIMITS).map(([name, says]): [string, string] => [
      says,
      limits[name as keyof typeof limits].toLocaleString('en'),
    ]),
  ]
  return (
    <dl>
      {rows.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
      <dt>Kept</dt>
      <dd>
        {origin === 'file' ? (
          'in the file that ASSAY_CONNECTIONS names: change it there and restart the service'
        ) : (
          <>
            here, since <Time at={created_at} exact />, changed <Time at={updated_at} exact />
          </>
        )}
      </dd>
    </dl>
  )
}

function EditForm({ connection, onDone }: { connection: ConnectionView; onDone(): void }) {
  const { name } = connection
  const cache = useQueryClient()
  const opened = useOpened(connection)
  const [draft, change] = useState(() => draftOf(connection))
  const [secrets, setSecrets] = useState<SecretsDraft>({})
  const changed = changeOf(draft, secrets)
  const { options, limits } = changed
  const save = useTriedSave({
    ask: () => api().connections.test(name, { options, secrets, limits }),
    save: async () => {
      await api().connections.change(name, changed, opened)
      await cache.invalidateQueries({ queryKey: ['connection', name] })
      await cache.invalidateQueries({ queryKey: ['connections'] })
      onDone()
    },
  })
  const faults = faultsOf(save.error)
  return (
    <ChangeForm
      save={save}
      shown={areShown(faults, CONNECTION_FIELDS)}
      onSubmit={() => save.submit(leadsOtherwise(draft, draftOf(connection), secrets))}
      onDone={onDone}
    >
      <ConnectionFields
        draft={draft}
        change={change}
        secrets={secrets}
        setSecrets={setSecrets}
        faults={faults}
        present={connection}
      />
      <Refused tried={save} action="Save it anyway" />
    </ChangeForm>
  )
}

function Settings({ connection }: { connection: ConnectionView }) {
  return (
    <Editable
      editable={connection.origin === 'store'}
      form={(onDone) => <EditForm connection={connection} onDone={onDone} />}
    >
      <Facts connection={connection} />
    </Editable>
  )
}

/** Names the templates that use the connection. */
function UsedBy({ name }: { name: string }) {
  const query = useQuery({ queryKey: ['templates'], queryFn: () => api().templates.list() })
  return (
    <Loaded query={query}>
      {(templates) => {
        const users = templates.filter(({ connections }) => connections.includes(name))
        if (users.length === 0) return <p>No template uses this connection.</p>
        return (
          <>
            <p>{users.length === 1 ? 'This template reads' : 'These templates read'} over it:</p>
            <ul>
              {users.map(({ template_id }) => (
                <li key={template_id}>
                  <Link to="/templates/$template_id" params={{ template_id }} search={{ tab: 'source' }}>
                    {template_id}
                  </Link>
                </li>
              ))}
            </ul>
          </>
        )
      }}
    </Loaded>
  )
}

function Remove({ name }: { name: string }) {
  const cache = useQueryClient()
  const navigate = useNavigate()
  return (
    <AskFirst
      label="Delete"
      title={`Delete the connection “${name}”?`}
      description="Its secrets are deleted, too. Later jobs that read over it fail with source_unavailable."
      note={<UsedBy name={name} />}
      action="Delete the connection"
      act={() => api().connections.delete(name)}
      onDone={async () => {
        await navigate({ to: '/system/connections' })
        await cache.invalidateQueries({ queryKey: ['connections'] })
      }}
    />
  )
}

function Whole({ connection }: { connection: ConnectionView }) {
  return (
    <>
      <ConnectionTest name={connection.name} />
      {KINDS[connection.kind].reads === 'query' && <ConnectionTables connection={connection} />}
      <h2>In a template</h2>
      <p>
        A template holds only the name of the connection.{' '}
        {KINDS[connection.kind].reads === 'query'
          ? 'The query is in the SQL of the database and runs there. $name is a variable of the template.'
          : 'The path of the file is relative to the address of the connection.'}
      </p>
      <Code text={snippetOf(connection)} />
      <UsedBy name={connection.name} />
      <h2>Settings</h2>
      <Settings connection={connection} />
    </>
  )
}

export function ConnectionPage() {
  const { name } = useParams({ from: '/shell/system/connections/$name' })
  const query = useQuery({
    queryKey: ['connection', name],
    queryFn: () => findConnection(name),
    enabled: useMay('admin'),
  })
  return (
    <Page
      title={name}
      trail={<Link to="/system/connections">Connections</Link>}
      lead={query.data?.description && <p>{query.data.description}</p>}
      actions={query.data?.origin === 'store' && <Remove name={name} />}
    >
      <ForAdmins>
        <Loaded query={query}>
          {(connection) =>
            connection === null ? (
              <Empty title="There is no connection of this name">
                <Link to="/system/connections">All connections</Link>
              </Empty>
            ) : (
              <Whole connection={connection} />
            )
          }
        </Loaded>
      </ForAdmins>
    </Page>
  )
}
