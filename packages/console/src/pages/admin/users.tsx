/** The page of users, who sign in with a password or by the sign-in provider. */

import { hasLapsed, SCOPES, type Scope, type User } from '@assay/model/token'
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
import { Time } from '../../parts/show.tsx'
import { SCOPE_OPTIONS } from './tokens.tsx'

function NewUser() {
  const cache = useQueryClient()
  const [username, setUsername] = useState('')
  const [password, setPassword] = useState('')
  const [scope, setScope] = useState('analyst')
  const create = useMutation({
    mutationFn: () => api().users.create({ username: username.trim(), password, scopes: [scope as Scope] }),
    onSuccess: async () => {
      setUsername('')
      setPassword('')
      await cache.invalidateQueries({ queryKey: ['users'] })
    },
  })
  const faults = faultsOf(create.error)
  return (
    <>
      <NewForm
        create={create}
        shown={Object.keys(faults).length > 0}
        action="Create a user"
        onSubmit={() => create.mutate()}
      >
        <TextField
          label="User"
          required
          autoComplete="off"
          value={username}
          fault={faults.username}
          onChange={({ target }) => setUsername(target.value)}
        />
        <TextField
          label="Password"
          placeholder="8 characters or more"
          type="password"
          autoComplete="new-password"
          required
          value={password}
          fault={faults.password}
          onChange={({ target }) => setPassword(target.value)}
        />
        <SelectField
          label="Scope"
          options={SCOPE_OPTIONS}
          value={scope}
          onChange={({ target }) => setScope(target.value)}
        />
      </NewForm>
      {create.data && (
        <p className="secret" role="status">
          {create.data.username} can sign in now.
        </p>
      )}
    </>
  )
}

/** Returns the condition that the user is as the list shows. */
const asListed = (user: User) =>
  asShown(user, () => api().users.get(user.user_id), ['scopes', 'disabled', 'display_name'])

function ChangeScope({ user }: { user: User }) {
  const { user_id, username, scopes } = user
  const cache = useQueryClient()
  const highest = SCOPES.findLast((one) => scopes.includes(one)) ?? 'viewer'
  const [scope, setScope] = useState<string>(highest)
  return (
    <AskFirst
      look="small"
      label="Change scope"
      of={username}
      title={`Change what “${username}” may do?`}
      description="The user is signed out everywhere, and signs in with the new scope. The user’s tokens keep theirs: revoke them under Tokens."
      note={
        <SelectField
          label="Scope"
          options={SCOPE_OPTIONS}
          value={scope}
          onChange={({ target }) => setScope(target.value)}
        />
      }
      action="Change the scope"
      act={async () => api().users.update(user_id, { scopes: [scope as Scope] }, await asListed(user))}
      onDone={() => cache.invalidateQueries({ queryKey: ['users'] })}
    />
  )
}

function SignOut({ user: { user_id, username } }: { user: User }) {
  const [ended, setEnded] = useState<number>()
  return (
    <>
      <AskFirst
        look="small"
        label="Sign out"
        of={username}
        title={`Sign “${username}” out everywhere?`}
        description="Every browser is signed out, and the tokens that logins made end. Other tokens stay, and the user can sign in again."
        action="Sign out everywhere"
        act={async () => setEnded((await api().users.signOut(user_id)).ended)}
        onDone={() => undefined}
      />
      {ended !== undefined && (
        <span className="small" role="status">
          {ended === 1 ? '1 browser was signed out' : `${ended} browsers were signed out`}
        </span>
      )}
    </>
  )
}

function SetPassword({ user: { user_id, username } }: { user: User }) {
  const [password, setPassword] = useState('')
  return (
    <AskFirst
      look="small"
      label="Set password"
      of={username}
      title={`Set the password of “${username}”?`}
      description="The user is signed out everywhere."
      note={
        <TextField
          label="New password"
          type="password"
          autoComplete="new-password"
          required
          value={password}
          onChange={({ target }) => setPassword(target.value)}
        />
      }
      action="Set the password"
      act={() => api().users.update(user_id, { password })}
      onDone={() => setPassword('')}
    />
  )
}

function Disable({ user }: { user: User }) {
  const { user_id, username, disabled } = user
  const cache = useQueryClient()
  const onDone = () => cache.invalidateQueries({ queryKey: ['users'] })
  const [label, description] = disabled
    ? ['Enable', 'The user can sign in again, and the user’s tokens work again.']
    : ['Disable', 'The user is signed out everywhere, and the user’s tokens are refused. Schedules go on.']
  return (
    <AskFirst
      look="small"
      label={label}
      of={username}
      title={`${label} the user “${username}”?`}
      description={description}
      action={`${label} the user`}
      act={async () => api().users.update(user_id, { disabled: !disabled }, await asListed(user))}
      onDone={onDone}
    />
  )
}

function Remove({ user: { user_id, username } }: { user: User }) {
  const cache = useQueryClient()
  return (
    <AskFirst
      look="small"
      label="Delete"
      of={username}
      title={`Delete the user “${username}”?`}
      description="The user’s tokens are revoked and the sign-ins end. Jobs and webhooks stay."
      action="Delete the user"
      act={() => api().users.delete(user_id)}
      onDone={() => cache.invalidateQueries({ queryKey: ['users'] })}
    />
  )
}

function heldOf(user: User): string {
  if (user.scopes.length === 0) return 'no longer let in'
  const scopes = user.scopes.join(', ')
  return hasLapsed(user, Date.now()) ? `${scopes} (lapsed until the next sign-in by the provider)` : scopes
}

export function UsersPage() {
  const query = usePaged(['users'], (cursor) => api().users.list(cursor ? { cursor } : {}))
  return (
    <section>
      <h2>Users</h2>
      <NewUser />
      <Paged query={query} empty={<Empty title="No user">Create one above.</Empty>}>
        {(users) => (
          <ListTable columns={['User', 'Scopes', 'Made', 'Action']}>
            {users.map((user) => (
              <tr key={user.user_id}>
                <td>
                  {user.display_name === null ? user.username : `${user.display_name}, ${user.username}`}
                  {user.disabled && ' (disabled)'}
                  {user.issuer !== null && <div className="small">by {new URL(user.issuer).host}</div>}
                </td>
                <td>{heldOf(user)}</td>
                <td>
                  <Time at={user.created_at} />
                </td>
                <td>
                  {user.issuer === null && <ChangeScope user={user} />}
                  {user.issuer === null && <SetPassword user={user} />}
                  <SignOut user={user} />
                  <Disable user={user} />
                  <Remove user={user} />
                </td>
              </tr>
            ))}
          </ListTable>
        )}
      </Paged>
    </section>
  )
}
