/** Limits of readers, also for browsers. */

/** How many readers one call puts. */
export const READERS_PUT_MOST = 1000

/** What a template knows of every reader without an attribute. */
export const RESERVED_ATTRIBUTES = ['id', 'name', 'email'] as const
