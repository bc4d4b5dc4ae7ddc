/** Scrolls a line of links on a narrow page, so that the link of the present page is in view. */
import { useRouterState } from '@tanstack/react-router'
import { useEffect, useRef } from 'react'

/** Keeps the present link in view. `count`: the number of links, which may appear one after the other. */
export function useShownPart(count: number) {
  const path = useRouterState({ select: (state) => state.resolvedLocation?.pathname })
  const nav = useRef<HTMLElement>(null)
  useEffect(() => {
    const active = nav.current?.querySelector<HTMLElement>('.active')
    if (path === undefined || !nav.current || !active) return
    // scrollIntoView would move the starting point of the Tab key.
    const [whole, own] = [nav.current.getBoundingClientRect(), active.getBoundingClientRect()]
    nav.current.scrollLeft += Math.min(own.left - whole.left, 0) + Math.max(own.right - whole.right, 0)
  }, [path, count])
  return nav
}
