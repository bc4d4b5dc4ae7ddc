/**
 * Tells the address of the console: the path of the host below which it is shown, and the address at which it was
 * opened.
 */

/** False if a program without a page loads the console's rules, as tests do. */
const inPage = typeof document !== 'undefined'

/**
 * The path below which a proxy shows the service, such as "/assay"; "" if the service has a host of its own. The
 * service writes it into the page.
 */
export const BASE = inPage ? (document.querySelector<HTMLElement>('#root')?.dataset.base ?? '') : ''

/** The address of the service, for programs. */
export const SERVICE = inPage ? location.origin + BASE : ''

/** Returns the path that this browser uses for a path of the service. Links of the router do not need it. */
export const below = (path: `/${string}`): string => BASE + path

/** The query of the address at which the page was opened, before the router rewrites it. */
export const OPENED = inPage ? location.search : ''
