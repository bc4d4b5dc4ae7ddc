/** Limits of readers, which browsers use too. */

/** The most readers that one call puts. */
export const READERS_PUT_MOST = 1000

/** Names of values that a template knows of every reader. No attribute may have them. */
export const RESERVED_ATTRIBUTES = ['id', 'name', 'email'] as const
