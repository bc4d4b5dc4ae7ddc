/** On a narrow page a line of links scrolls: the one of the present page is scrolled into view. */
import { useRouterState } from '@tanstack/react-router'
import { useEffect, useRef } from 'react'

/** `count`: how many links there are. They may come one after the other. */
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
