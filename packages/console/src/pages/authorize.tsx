/** The page on which a person authorizes a program: it shows the request, and the person limits or refuses it. */
import { SCOPES, type Scope } from '@assay/model/token'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { api, signOut, useMe } from '../api.ts'
import { Fault } from '../parts/fault.tsx'
import { SelectField } from '../parts/field.tsx'
import { useTitle } from '../parts/page.tsx'
import { OPENED } from './address.ts'

const MAY: Record<Scope, string> = {
  viewer: 'It may read insights and templates.',
  analyst: 'It may read insights and templates, run jobs, read files and send what they find.',
  publisher: 'It may do all that, and publish templates and metrics, which may read over connections.',
  admin: 'It may do all that, and change templates, users, tokens and settings.',
}

/** Tells whether a program is on the machine of the person. Any program there can wait for the answer. */
const isOwnMachine = (host: string): boolean => /^(?:127\.0\.0\.1|\[::1\]|localhost)(?::\d+)?$/.test(host)

/** Returns the query as the program wrote it. The router would read numbers and JSON into it. */
function asked() {
  const query = new URLSearchParams(OPENED)
  const of = (name: string) => query.get(name) ?? undefined
  return {
    client_id: of('client_id') ?? '',
    redirect_uri: of('redirect_uri') ?? '',
    response_type: of('response_type') as 'code',
    code_challenge: of('code_challenge') ?? '',
    code_challenge_method: of('code_challenge_method') as 'S256',
    scope: of('scope'),
    state: of('state'),
    resource: of('resource'),
  }
}

function Refused({ error }: { error: unknown }) {
  // After the sign-out the address leads to the sign-in page.
  const leave = useMutation({ mutationFn: () => signOut(), onSuccess: () => location.reload() })
  return (
    <>
      <Fault error={error} />
      <button type="button" className="button" disabled={leave.isPending} onClick={() => leave.mutate()}>
        Sign in as another
      </button>
    </>
  )
}

type Told = Awaited<ReturnType<ReturnType<typeof api>['grants']['read']>>

function Vouched({ told }: { told: Told }) {
  return (
    <p>
      {told.client_host === null
        ? 'Nobody vouches for this name: the program gave it itself. '
        : `${told.client_host} vouches for this name. `}
      Your answer goes to {told.redirect_host}
      {isOwnMachine(told.redirect_host) && ', which is whatever program listens there on your own machine'}.
      Go on only if you have just begun this in that program.
    </p>
  )
}

export function AuthorizePage() {
  useTitle('Let a program in')
  const me = useMe().data
  const request = useQuery({
    queryKey: ['grant', OPENED],
    queryFn: () => api().grants.read(asked()),
    staleTime: Number.POSITIVE_INFINITY,
  })
  const [chosen, setScope] = useState<Scope>()
  const answer = useMutation({
    mutationFn: (granted: Scope | null) => api().grants.create({ ...asked(), granted }),
    onSuccess: ({ redirect_to }) => location.assign(redirect_to),
  })
  const told = request.data
  const scope = chosen ?? told?.asked ?? 'viewer'
  return (
    <main className="sign-in" id="main">
      <h1>Let a program in?</h1>
      {request.isError && <Refused error={request.error} />}
      {told && (
        <>
          <p className="lead">
            “{told.client_name}” wants to use Assay in your name
            {me && `, ${me.display_name ?? me.username ?? me.user_id} of ${me.workspace_id}`}.
          </p>
          <Vouched told={told} />
          <SelectField
            label="Scope"
            hint={MAY[scope]}
            options={SCOPES.filter((one) => told.scopes.includes(one)).map((one) => ({
              value: one,
              label: one,
            }))}
            value={scope}
            onChange={({ target }) => setScope(SCOPES.find((one) => one === target.value))}
          />
          {answer.isError && <Fault error={answer.error} />}
          <p>
            <button
              type="button"
              className="button primary"
              disabled={answer.isPending}
              onClick={() => answer.mutate(scope)}
            >
              Let it in
            </button>{' '}
            <button
              type="button"
              className="button"
              disabled={answer.isPending}
              onClick={() => answer.mutate(null)}
            >
              Refuse
            </button>
          </p>
          <p className="small">You can revoke it under Your account, and an admin under Tokens.</p>
        </>
      )}
    </main>
  )
}
