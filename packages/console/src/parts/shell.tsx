/** The frame of every page: a skip link, the sections, the signed-in user. */

import { useMutation } from '@tanstack/react-query'
import { Link, Outlet, useNavigate, useRouterState } from '@tanstack/react-router'
import { useEffect, useRef, useState } from 'react'
import { queryClient, signOut, useMe } from '../api.ts'
import { pageUploads } from '../files/uploads.ts'
import { BASE, below } from '../pages/address.ts'
import { useSignInId } from '../session.ts'
import { chooseTheme, chosenTheme, THEMES } from '../theme.ts'
import { HealthMark } from './health-mark.tsx'
import { Menu, MenuChoice, MenuItem } from './menu.tsx'
import { GoTo } from './palette/keys.tsx'
import { useSections } from './palette/sections.ts'
import { useShownPart } from './shown-part.ts'

const THEME_WORDS = { system: 'As the system', light: 'Light', dark: 'Dark' } as const

function UserMenu() {
  const me = useMe().data
  const [theme, setTheme] = useState(chosenTheme)
  const navigate = useNavigate()
  const leaving = useMutation({ mutationFn: () => signOut() })
  return (
    <>
      {leaving.isError && <p role="alert">The service was not reached: you are still signed in.</p>}
      <Menu label={me?.username ?? me?.user_id ?? 'Session'}>
        {me && (
          <p className="menu-note">
            {me.scopes.join(', ')} of {me.workspace_id}
          </p>
        )}
        <MenuChoice
          label="Colours"
          value={theme}
          options={THEMES.map((name) => ({ value: name, label: THEME_WORDS[name] }))}
          onChoose={(name) => {
            setTheme(name)
            chooseTheme(name)
          }}
        />
        <MenuItem onSelect={() => void navigate({ to: '/account' })}>Your account</MenuItem>
        <MenuItem onSelect={() => leaving.mutate()}>Sign out</MenuItem>
      </Menu>
    </>
  )
}

function Sections() {
  const shown = useSections()
  const nav = useShownPart(shown.length)
  return (
    <nav className="sections" aria-label="Sections" ref={nav}>
      {shown.map(({ to, name }) => (
        <Link key={name} to={to}>
          {name}
        </Link>
      ))}
      <a href={below('/docs')}>API</a>
    </nav>
  )
}

/** Moves the focus to the heading of the new page after a navigation, so that a screen reader announces it. */
function useFocusAfterMove() {
  const path = useRouterState({ select: (state) => state.location.pathname })
  const first = useRef(true)
  const main = useRef<HTMLElement>(null)
  useEffect(() => {
    if (first.current) {
      first.current = false
      return
    }
    main.current?.focus({ preventScroll: true })
  }, [path])
  return main
}

export function Shell() {
  const signedIn = useSignInId()
  const navigate = useNavigate()
  const main = useFocusAfterMove()
  useEffect(() => {
    if (signedIn !== null) return
    queryClient.clear()
    pageUploads.clear()
    void navigate({
      to: '/sign-in',
      search: { next: location.pathname.slice(BASE.length) + location.search },
    })
  }, [signedIn, navigate])
  // Mounted queries would otherwise fetch again without a cookie.
  if (signedIn === null) return null
  return (
    <>
      <a className="skip" href="#main">
        Skip to the content
      </a>
      <header className="bar">
        <Link className="wordmark" to="/insights">
          Assay
        </Link>
        <Sections />
        <GoTo />
        <HealthMark />
        <UserMenu />
      </header>
      <main id="main" tabIndex={-1} ref={main}>
        <Outlet />
      </main>
    </>
  )
}
