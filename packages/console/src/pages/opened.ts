/** The query of the address at which the page was opened, before the router writes it anew. */
export const OPENED = location.search
