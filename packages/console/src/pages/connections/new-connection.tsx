/** Adds a connection, by its kind. */

import { CONNECTION_KINDS, KINDS } from '@assay/model/connection-kinds'
import { useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import { api, areShown, faultsOf } from '../../api.ts'
import { type ConnectionDraft, firstDraft, inputOf, ofKind } from '../../connections.ts'
import { useDraft } from '../../drafts/draft.ts'
import {
  CONNECTION_FIELDS,
  ConnectionFields,
  type SecretsDraft,
} from '../../parts/connections/connection-form.tsx'
import { Refused, useTriedSave } from '../../parts/connections/connection-test.tsx'
import { Fault } from '../../parts/fault.tsx'
import { SelectField, TextField, useFaultFocus } from '../../parts/field.tsx'
import { ForAdmins } from '../../parts/for-admins.tsx'
import { Page } from '../../parts/page.tsx'

const typedOnly = (secrets: SecretsDraft): Record<string, string> =>
  Object.fromEntries(
    Object.entries(secrets).flatMap(([name, value]) => (value === null ? [] : [[name, value]])),
  )

function NewConnection() {
  const cache = useQueryClient()
  const navigate = useNavigate()
  const [draft, change, forget] = useDraft<ConnectionDraft>('connection', () => firstDraft('postgresql'))
  const [secrets, setSecrets] = useState<SecretsDraft>({})
  const input = inputOf(draft, typedOnly(secrets))
  const create = useTriedSave({
    ask: () => api().connections.try(input),
    save: async () => {
      const { name } = await api().connections.create(input)
      forget()
      await cache.invalidateQueries({ queryKey: ['connections'] })
      await navigate({ to: '/system/connections/$name', params: { name } })
    },
  })
  const faults = faultsOf(create.error)
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    create.submit()
  }
  return (
    <form className="run-form" ref={useFaultFocus(create.error)} onSubmit={submit} noValidate>
      <TextField
        label="Name"
        hint="Templates use this name: lower-case letters, digits, _ and -."
        required
        autoComplete="off"
        placeholder="warehouse"
        fault={faults.name}
        value={draft.name}
        onChange={({ target }) => change({ ...draft, name: target.value })}
      />
      <SelectField
        label="Kind"
        options={CONNECTION_KINDS.map((kind) => ({ value: kind, label: KINDS[kind].title }))}
        value={draft.kind}
        onChange={({ target }) => {
          create.forget()
          setSecrets({})
          change(ofKind(draft, CONNECTION_KINDS.find((kind) => kind === target.value)!))
        }}
      />
      <ConnectionFields
        draft={draft}
        change={change}
        secrets={secrets}
        setSecrets={setSecrets}
        faults={faults}
      />
      {create.isError && !areShown(faults, CONNECTION_FIELDS) && <Fault error={create.error} />}
      <Refused tried={create} action="Add it anyway" />
      <button type="submit" className="button primary" disabled={create.isPending}>
        Add
      </button>
    </form>
  )
}

export function NewConnectionPage() {
  return (
    <Page
      title="New connection"
      trail={<Link to="/system/connections">Connections</Link>}
      lead={
        <p>
          Use a database user that can only read. “Add” tries the connection first, from where reports read
          over it.
        </p>
      }
    >
      <ForAdmins>
        <NewConnection />
      </ForAdmins>
    </Page>
  )
}
