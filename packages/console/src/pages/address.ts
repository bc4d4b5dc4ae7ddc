/** The address of the console: below which path of the host it is shown, and how it was opened. */

/** False where a program without a page loads the console's rules, as tests do. */
const inPage = typeof document !== 'undefined'

/** The path below which a proxy shows the service, such as "/assay"; "" where it has a host of its own. The service writes it into the page. */
export const BASE = inPage ? (document.querySelector<HTMLElement>('#root')?.dataset.base ?? '') : ''

/** The address of the service, for programs. */
export const SERVICE = inPage ? location.origin + BASE : ''

/** What this browser sees of a path of the service. Links of the router need none of this. */
export const below = (path: `/${string}`): string => BASE + path

/** The query of the address at which the page was opened, before the router writes it anew. */
export const OPENED = inPage ? location.search : ''
