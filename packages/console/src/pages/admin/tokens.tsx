/** The page of tokens, which are made here and shown once, listed and revoked. */

import { LOGIN_TOKEN, SCOPES, type Scope, type Token } from '@assay/model/token'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, faultsOf } from '../../api.ts'
import { asShown } from '../../drafts/unchanged.ts'
import { AskFirst } from '../../parts/ask-first.tsx'
import { NewForm } from '../../parts/editing.tsx'
import { SelectField, TextField } from '../../parts/field.tsx'
import { ListTable } from '../../parts/lists/list-table.tsx'
import { Paged, usePaged } from '../../parts/lists/paged.tsx'
import { Empty } from '../../parts/page.tsx'
import { Secret, Time } from '../../parts/show.tsx'
import { UserName } from '../../parts/user-name.tsx'
import { localInput } from '../../words/zones.ts'

export const SCOPE_OPTIONS = [
  { value: 'viewer', label: 'viewer: reads' },
  { value: 'analyst', label: 'analyst: also runs jobs and webhooks' },
  { value: 'publisher', label: 'publisher: also publishes templates and metrics' },
  { value: 'admin', label: 'admin: also manages' },
]

function NewToken() {
  const cache = useQueryClient()
  const [name, setName] = useState('')
  const [scope, setScope] = useState('analyst')
  const [expires, setExpires] = useState('')
  const [limit, setLimit] = useState('')
  const templates = limit.split(/[\s,]+/).filter(Boolean)
  const create = useMutation({
    mutationFn: () =>
      api().tokens.create({
        name: name.trim(),
        scopes: [scope as Scope],
        ...(templates.length === 0 ? {} : { templates }),
        ...(expires === '' ? {} : { expires_at: lastDay(expires) }),
      }),
    onSuccess: async () => {
      setName('')
      setLimit('')
      await cache.invalidateQueries({ queryKey: ['tokens'] })
    },
  })
  const faults = faultsOf(create.error)
  return (
    <>
      <NewForm
        create={create}
        shown={Object.keys(faults).length > 0}
        action="Create a token"
        onSubmit={() => create.mutate()}
      >
        <TextField
          label="Name"
          required
          value={name}
          fault={faults.name}
          onChange={({ target }) => setName(target.value)}
        />
        <SelectField
          label="Scope"
          options={SCOPE_OPTIONS}
          value={scope}
          onChange={({ target }) => setScope(target.value)}
        />
        <TextField
          label="Only these templates"
          value={limit}
          placeholder="all"
          fault={faults.scopes ?? Object.entries(faults).find(([path]) => path.startsWith('templates'))?.[1]}
          onChange={({ target }) => setLimit(target.value)}
        />
        <TextField
          label="Last day, if it ends"
          type="date"
          value={expires}
          fault={faults.expires_at}
          onChange={({ target }) => setExpires(target.value)}
        />
      </NewForm>
      {create.data && <Secret label={`The token “${create.data.name}”`} value={create.data.token} />}
    </>
  )
}

const SETTABLE = ['name', 'scopes', 'expires_at'] as const

/** Returns the end of a day in the reader's time zone. The next function returns the day of an end. */
const lastDay = (day: string): string => new Date(`${day}T23:59:59`).toISOString()
const dayOf = (expires_at: string | null): string => localInput(expires_at).slice(0, 10)

/** Returns the scopes that are not above the highest of a token. */
function fewerThan(scopes: readonly Scope[]) {
  const highest = Math.max(...scopes.map((scope) => SCOPES.indexOf(scope)))
  return SCOPE_OPTIONS.slice(0, highest + 1)
}

function Change({ token }: { token: Token }) {
  const { token_id, name, scopes, expires_at } = token
  const cache = useQueryClient()
  const highest = SCOPES.findLast((one) => scopes.includes(one)) ?? 'viewer'
  const day = dayOf(expires_at)
  const [newName, setName] = useState(name)
  const [scope, setScope] = useState<string>(highest)
  const [expires, setExpires] = useState(day)
  return (
    <AskFirst
      look="small"
      label="Change"
      of={name}
      title={`Change “${name}”?`}
      description="Scopes can only become fewer. Browsers that signed in with the token are signed out by other scopes or another end."
      note={
        <>
          <TextField label="New name" value={newName} onChange={({ target }) => setName(target.value)} />
          <SelectField
            label="Scope left"
            options={fewerThan(scopes)}
            value={scope}
            onChange={({ target }) => setScope(target.value)}
          />
          <TextField
            label="Last day, or empty"
            type="date"
            value={expires}
            onChange={({ target }) => setExpires(target.value)}
          />
        </>
      }
      action="Change the token"
      onAsk={() => {
        setName(name)
        setScope(highest)
        setExpires(day)
      }}
      act={async () => {
        const patch = {
          ...(newName.trim() === name ? {} : { name: newName.trim() }),
          ...(scope === highest ? {} : { scopes: [scope as Scope] }),
          ...(expires === day ? {} : { expires_at: expires === '' ? null : lastDay(expires) }),
        }
        const read = () => api().tokens.get(token_id)
        return api().tokens.update(token_id, patch, await asShown(token, read, SETTABLE))
      }}
      onDone={() => cache.invalidateQueries({ queryKey: ['tokens'] })}
    />
  )
}

function Revoke({ token: { token_id, name } }: { token: Token }) {
  const cache = useQueryClient()
  return (
    <AskFirst
      look="small"
      label="Revoke"
      of={name}
      title={`Revoke “${name}”?`}
      description="Requests with this token are refused at once."
      action="Revoke the token"
      act={() => api().tokens.delete(token_id)}
      onDone={() => cache.invalidateQueries({ queryKey: ['tokens'] })}
    />
  )
}

export function TokensPage() {
  const query = usePaged(['tokens'], (cursor) => api().tokens.list(cursor ? { cursor } : {}))
  return (
    <section>
      <h2>Tokens</h2>
      <NewToken />
      <Paged query={query} empty={<Empty title="No token">Create one above.</Empty>}>
        {(tokens) => (
          <ListTable columns={['Name', 'May', 'Made', 'Last used', 'Ends', 'Action']}>
            {tokens.map((token) => (
              <tr key={token.token_id}>
                <td>
                  {token.name}
                  <div className="small">
                    of <UserName user_id={token.user_id} />
                  </div>
                </td>
                <td data-label="May">
                  {token.scopes.join(', ')}
                  {token.templates !== null && <div className="small">only {token.templates.join(', ')}</div>}
                  {token.collections !== null && (
                    <div className="small">
                      only the insights of{' '}
                      {token.collections.length === 1
                        ? 'a collection'
                        : `${token.collections.length} collections`}
                    </div>
                  )}
                </td>
                <td data-label="Made">
                  <Time at={token.created_at} />
                </td>
                <td data-label="Last used">
                  {token.last_used_at === null ? 'never' : <Time at={token.last_used_at} />}
                </td>
                <td data-label="Ends">
                  {token.expires_at === null ? 'never' : <Time at={token.expires_at} />}
                </td>
                <td>
                  {token.name !== LOGIN_TOKEN && <Change token={token} />}
                  <Revoke token={token} />
                </td>
              </tr>
            ))}
          </ListTable>
        )}
      </Paged>
    </section>
  )
}
