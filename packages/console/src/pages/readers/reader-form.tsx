/** Adds a reader, or changes one in place. */

import type { ReaderView } from '@assay/client'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, faultsOf, orNull } from '../../api.ts'
import {
  ATTRIBUTES_HINT,
  attributesOf,
  faultBelow,
  READERS,
  type ReaderDraft,
  readerDraft,
  readerInput,
} from '../../drafts/readers.ts'
import { asShown } from '../../drafts/unchanged.ts'
import { ChangeForm } from '../../parts/editing.tsx'
import { LinesField, SelectField, TextField } from '../../parts/field.tsx'

const MOST_USERS = 200
const FIELDS = ['reader_id', 'name', 'email', 'user_id', 'attributes']

interface FieldsProps {
  draft: ReaderDraft
  faults: Record<string, string>
  onChange(changed: Partial<ReaderDraft>): void
}

/** Chooses the user who is this reader. It offers the first of many users, and the present one. */
function UserField({ draft: { user_id }, faults, onChange }: FieldsProps) {
  const users = useQuery({
    queryKey: ['users', 'names'],
    queryFn: () => api().users.list({ limit: MOST_USERS }),
    staleTime: 60_000,
  })
  const known = (users.data?.items ?? []).map((user) => ({ value: user.user_id, label: user.username }))
  const isOther = user_id !== '' && !known.some(({ value }) => value === user_id)
  return (
    <SelectField
      label="User"
      hint="A person who signs in as this user finds the reader’s insights here."
      fault={faults.user_id}
      value={user_id}
      options={[
        { value: '', label: 'none' },
        ...(isOther ? [{ value: user_id, label: user_id }] : []),
        ...known,
      ]}
      onChange={({ target }) => onChange({ user_id: target.value })}
    />
  )
}

function AttributesField({ draft, faults, onChange }: FieldsProps) {
  return (
    <LinesField
      label="Attributes"
      hint={ATTRIBUTES_HINT}
      fault={faultBelow(faults, 'attributes')}
      placeholder="region: North"
      value={draft.attributes}
      onChange={({ target }) => onChange({ attributes: target.value })}
    />
  )
}

/** Tells whether a reader has the id. A put replaces, and a new reader must not take the place of an existing one. */
async function isTaken(reader_id: string): Promise<boolean> {
  return (await orNull(api().readers.get(reader_id))) !== null
}

class IdIsTaken extends Error {}

const SETTABLE = ['name', 'email', 'user_id', 'attributes'] as const

function useSave(reader: ReaderView | undefined, onDone: () => void) {
  const cache = useQueryClient()
  return useMutation({
    mutationFn: async (draft: ReaderDraft) => {
      const reader_id = draft.reader_id.trim()
      if (!reader && (await isTaken(reader_id))) throw new IdIsTaken()
      const read = () => api().readers.get(reader_id)
      const condition = reader ? await asShown(reader, read, SETTABLE) : {}
      return api().readers.put(reader_id, readerInput(draft), condition)
    },
    onSuccess: async () => {
      await cache.invalidateQueries({ queryKey: [READERS] })
      onDone()
    },
  })
}

/** Returns the faults that are found before the service is asked. */
function typedFaults({ reader_id, attributes }: ReaderDraft): Record<string, string> {
  const { fault } = attributesOf(attributes)
  const id = reader_id.trim()
  return {
    ...(id === '' ? { reader_id: 'is missing: such as a number of the staff, or a mail address' } : {}),
    ...(/[\s/?#%\\]|^\./.test(id)
      ? { reader_id: 'must have no blank, / ? # % or \\ and no point first, as in ada' }
      : {}),
    ...(fault === undefined ? {} : { attributes: fault }),
  }
}

export function ReaderForm({ reader, onDone }: { reader?: ReaderView; onDone(): void }) {
  const [draft, setDraft] = useState(() => readerDraft(reader))
  const [tried, setTried] = useState(false)
  const save = useSave(reader, onDone)
  const typed = typedFaults(draft)
  const taken: Record<string, string> =
    save.error instanceof IdIsTaken
      ? { reader_id: 'is the id of a reader already: change that one below' }
      : {}
  const faults: Record<string, string> = { ...faultsOf(save.error), ...taken, ...(tried ? typed : {}) }
  const isShown = Object.keys(faults).some((path) => FIELDS.includes(path.split('.')[0]!))
  const onChange = (changed: Partial<ReaderDraft>): void => setDraft({ ...draft, ...changed })
  const fields = { draft, faults, onChange }
  const submit = (): void => {
    setTried(true)
    if (Object.keys(typed).length === 0) save.mutate(draft)
  }
  return (
    <ChangeForm save={save} shown={isShown} onSubmit={submit} onDone={onDone}>
      {reader ? (
        <p>
          Reader <code>{reader.reader_id}</code>
        </p>
      ) : (
        <TextField
          label="Id"
          hint="Your own id of the person. It cannot be changed later."
          required
          autoComplete="off"
          fault={faults.reader_id}
          value={draft.reader_id}
          onChange={({ target }) => onChange({ reader_id: target.value })}
        />
      )}
      <TextField
        label="Name"
        autoComplete="off"
        placeholder={draft.reader_id}
        fault={faults.name}
        value={draft.name}
        onChange={({ target }) => onChange({ name: target.value })}
      />
      <TextField
        label="Mail address"
        hint="Where the insights of a schedule over readers are sent; empty for no mail."
        type="email"
        autoComplete="off"
        fault={faults.email}
        value={draft.email}
        onChange={({ target }) => onChange({ email: target.value })}
      />
      <AttributesField {...fields} />
      <UserField {...fields} />
    </ChangeForm>
  )
}
