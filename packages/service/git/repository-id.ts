/** The one row of the store. */
export const REPOSITORY_ID = 'templates'
