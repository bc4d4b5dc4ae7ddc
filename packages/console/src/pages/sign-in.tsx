/**
 * The page to sign in by the sign-in provider, a token, or user and password. In each case the browser gets a cookie,
 * for all of its tabs.
 */
import { useMutation, useQuery } from '@tanstack/react-query'
import { useRouter, useSearch } from '@tanstack/react-router'
import { type FormEvent, useEffect, useState } from 'react'
import { api, queryClient } from '../api.ts'
import { Fault } from '../parts/fault.tsx'
import { TextField } from '../parts/field.tsx'
import { useTitle } from '../parts/page.tsx'
import { endedBy, startSession } from '../session.ts'
import { BASE, below } from './address.ts'

type Way = 'token' | 'password'

function credentials(way: Way, form: FormData) {
  const text = (name: string): string => {
    const value = form.get(name)
    return typeof value === 'string' ? value : ''
  }
  return way === 'token'
    ? { token: text('token').trim() }
    : { username: text('username'), password: text('password') }
}

/**
 * Returns the address within the service. It accepts only one of this console, so that a crafted link cannot redirect
 * to another host.
 */
function ownAddress(next: string | undefined): string {
  return next !== undefined && /^\/(?![/\\])/.test(next) ? next : '/insights'
}

function TokenFields() {
  return (
    <TextField
      label="Token"
      name="token"
      type="password"
      autoComplete="off"
      required
      hint="The first start of the service prints a token; an admin creates more."
    />
  )
}

function PasswordFields() {
  return (
    <>
      <TextField label="User" name="username" autoComplete="username" required />
      <TextField label="Password" name="password" type="password" autoComplete="current-password" required />
    </>
  )
}

function Switch({ way, setWay }: { way: Way; setWay: (way: Way) => void }) {
  return (
    <div className="switch" role="group" aria-label="How to sign in">
      {(['token', 'password'] as const).map((name) => (
        <button key={name} type="button" aria-pressed={way === name} onClick={() => setWay(name)}>
          {name === 'token' ? 'Token' : 'User and password'}
        </button>
      ))}
    </div>
  )
}

function NoPerson() {
  return (
    <p className="notice" role="status">
      A person lets programs in, signed in by a password or by a sign-in provider. This service has neither:
      ask its operator, or give the program a token.
    </p>
  )
}

/** Begins the session when the browser is back from the provider with a cookie. */
function useReturn(isBack: boolean, enter: (sign_in_id: string) => void) {
  const back = useQuery({ queryKey: ['back'], queryFn: () => api().me(), enabled: isBack, gcTime: 0 })
  const found = back.data?.token_id
  useEffect(() => {
    if (found !== undefined) enter(found)
  })
  return back
}

export function SignInPage() {
  useTitle('Sign in')
  const ways = useQuery({ queryKey: ['ways'], queryFn: () => api().signIns.ways() })
  const [chosen, setWay] = useState<Way>('token')
  const { next, by } = useSearch({ from: '/sign-in' })
  const router = useRouter()
  const enter = (sign_in_id: string): void => {
    queryClient.clear()
    startSession(sign_in_id)
    const to = ownAddress(next)
    // The page of a program that asks for consent reads its address as the program wrote it.
    if (to.startsWith('/oauth/')) location.assign(BASE + to)
    else router.history.replace(BASE + to)
  }
  const back = useReturn(by === 'provider', enter)
  // Only a person who has signed in herself authorizes a program. A token would be refused on the next page.
  const isPersonal = ownAddress(next).startsWith('/oauth/')
  const provider = ways.data?.provider
  const hasPassword = ways.data?.password !== false
  const way = hasPassword ? (isPersonal ? 'password' : chosen) : 'token'
  // No form is shown until the ways to sign in are known, so that nobody types a password into a field that
  // disappears.
  const isForm = isPersonal ? ways.data?.password === true : true
  const entry = useMutation({
    mutationFn: (form: FormData) => api().signIns.begin(credentials(way, form)),
    onSuccess: ({ sign_in_id }) => enter(sign_in_id),
  })
  const submit = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault()
    entry.mutate(new FormData(event.currentTarget))
  }
  return (
    <main className="sign-in" id="main">
      <h1>Assay</h1>
      <p className="lead">
        {isPersonal
          ? 'A program asks to use Assay in your name. Sign in to see which, and to say how much it may do.'
          : 'Run analysis templates, read their insights, and see what was sent.'}
      </p>
      {endedBy() === 'expired' && !entry.isError && (
        <p className="notice" role="status">
          Your session has ended. Sign in to continue on this page.
        </p>
      )}
      {back.isError && <Fault error={back.error} />}
      {provider && (
        <p>
          <a className="button primary" href={`${provider.url}?next=${encodeURIComponent(ownAddress(next))}`}>
            Sign in with {provider.name}
          </a>
        </p>
      )}
      {hasPassword && !isPersonal && <Switch way={way} setWay={setWay} />}
      {isPersonal && ways.data?.password === false && !provider && <NoPerson />}
      {isForm && (
        <form onSubmit={submit}>
          {way === 'token' ? <TokenFields /> : <PasswordFields />}
          {entry.isError && <Fault error={entry.error} />}
          <button type="submit" className={provider ? 'button' : 'button primary'} disabled={entry.isPending}>
            Sign in
          </button>
        </form>
      )}
      <p className="small">
        This browser stays signed in until you sign out. <a href={below('/docs')}>API reference</a>
      </p>
    </main>
  )
}
