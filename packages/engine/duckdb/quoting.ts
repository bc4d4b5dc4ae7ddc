/**
 * Quotes texts and names within SQL. It loads nothing, so that a module that only writes SQL does not load the engine.
 */

/** Returns a string literal for trusted statements in which DuckDB takes no parameters. */
export function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}

export function identifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}
