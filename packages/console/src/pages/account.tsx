/** The page of the user's own account: sign-ins, authorized programs, and the password. */

import type { SignIn } from '@assay/client'
import type { LetIn } from '@assay/model/token'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, faultsOf, signOut, useMe } from '../api.ts'
import { AskFirst } from '../parts/ask-first.tsx'
import { NewForm } from '../parts/editing.tsx'
import { Fault } from '../parts/fault.tsx'
import { TextField } from '../parts/field.tsx'
import { ListTable } from '../parts/lists/list-table.tsx'
import { Paged, usePaged } from '../parts/lists/paged.tsx'
import { Page } from '../parts/page.tsx'
import { Time } from '../parts/show.tsx'

function End({ signIn: { sign_in_id, device } }: { signIn: SignIn }) {
  const cache = useQueryClient()
  const ending = useMutation({
    mutationFn: () => api().signIns.end(sign_in_id),
    onSettled: () => cache.invalidateQueries({ queryKey: ['sign-ins'] }),
  })
  return (
    <button
      type="button"
      className="button quiet small"
      aria-label={`Sign out ${device}`}
      disabled={ending.isPending}
      onClick={() => ending.mutate()}
    >
      Sign out
    </button>
  )
}

function SignIns() {
  const present = useMe().data?.token_id
  const query = usePaged(['sign-ins'], (cursor) => api().signIns.list(cursor ? { cursor } : {}))
  return (
    <section>
      <h2>Where you are signed in</h2>
      <Paged query={query} empty={<p>Nowhere but here.</p>}>
        {(signIns) => (
          <ListTable columns={['Device', 'Address', 'Last used', 'Since', 'Ends', 'Action']}>
            {signIns.map((signIn) => (
              <tr key={signIn.sign_in_id}>
                <td>{signIn.device}</td>
                <td>{signIn.address}</td>
                <td data-label="Last used">
                  <Time at={signIn.last_used_at} />
                </td>
                <td data-label="Since">
                  <Time at={signIn.created_at} />
                </td>
                <td data-label="Ends">
                  <Time at={signIn.idle_ends_at} />
                </td>
                <td>{signIn.sign_in_id === present ? 'this browser' : <End signIn={signIn} />}</td>
              </tr>
            ))}
          </ListTable>
        )}
      </Paged>
      <AskFirst
        label="Sign out everywhere"
        title="Sign out everywhere?"
        description="Every browser of yours is signed out, this one too, and the tokens of logins end. Other tokens stay."
        action="Sign out everywhere"
        act={() => signOut((client) => client.signIns.endAll())}
        onDone={() => undefined}
      />
    </section>
  )
}

function Program({ grant: { token_id, name, scopes, redirect_host, ...times } }: { grant: LetIn }) {
  const cache = useQueryClient()
  const shown = name.replace(/^agent: /, '')
  return (
    <tr>
      <td>{shown}</td>
      <td>{scopes.join(', ')}</td>
      <td>{redirect_host}</td>
      <td>{times.last_used_at === null ? 'never' : <Time at={times.last_used_at} />}</td>
      <td>
        <Time at={times.created_at} />
      </td>
      <td>
        <Time at={times.ends_at} />
      </td>
      <td>
        <AskFirst
          look="small"
          label="Revoke"
          of={shown}
          title={`Revoke what “${shown}” may do?`}
          description="It can do nothing more in your name. To come back it must ask you again."
          action="Revoke"
          act={() => api().grants.end(token_id)}
          onDone={() => cache.invalidateQueries({ queryKey: ['grants'] })}
        />
      </td>
    </tr>
  )
}

function Programs() {
  const { data, error } = useQuery({ queryKey: ['grants'], queryFn: () => api().grants.list() })
  return (
    <section>
      <h2>Programs that you have let in</h2>
      {error && <Fault error={error} />}
      {data?.items.length === 0 && <p>None.</p>}
      {data && data.items.length > 0 && (
        <ListTable columns={['Program', 'Scope', 'Where', 'Last used', 'Since', 'Ends', 'Action']}>
          {data.items.map((grant) => (
            <Program key={grant.token_id} grant={grant} />
          ))}
        </ListTable>
      )}
    </section>
  )
}

function Password() {
  const [present, setPresent] = useState('')
  const [password, setPassword] = useState('')
  const cache = useQueryClient()
  const change = useMutation({
    mutationFn: () => api().changePassword({ present, password }),
    onSuccess: async () => {
      setPresent('')
      setPassword('')
      await cache.invalidateQueries({ queryKey: ['sign-ins'] })
    },
  })
  const faults = faultsOf(change.error)
  return (
    <section>
      <h2>Password</h2>
      <NewForm
        create={change}
        shown={Object.keys(faults).length > 0}
        action="Change the password"
        onSubmit={() => change.mutate()}
      >
        <TextField
          label="Present password"
          type="password"
          autoComplete="current-password"
          required
          value={present}
          fault={faults.present}
          onChange={({ target }) => setPresent(target.value)}
        />
        <TextField
          label="New password"
          type="password"
          autoComplete="new-password"
          required
          value={password}
          fault={faults.password}
          onChange={({ target }) => setPassword(target.value)}
        />
      </NewForm>
      {change.isSuccess && <p role="status">It is changed. Every other browser is signed out.</p>}
    </section>
  )
}

export function AccountPage() {
  const me = useMe().data
  return (
    <Page title="Your account">
      {me && (
        <p>
          {me.username ?? me.user_id}, signed in to the workspace {me.workspace_id} as {me.scopes.join(', ')}
        </p>
      )}
      {me &&
        (me.templates === null ? (
          <>
            <SignIns />
            <Programs />
            {me.by_password && <Password />}
          </>
        ) : (
          <p>
            You are signed in by a token that is limited to these templates: {me.templates.join(', ')}. It
            runs them and reads their insights. It cannot list where else you are signed in. “Sign out” in the
            menu signs you out here.
          </p>
        ))}
    </Page>
  )
}
