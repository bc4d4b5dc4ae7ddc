/** Texts and names within SQL. It loads nothing, so that what only writes SQL does not load the engine. */

/** A string literal for trusted statements in which DuckDB takes no parameters. */
export function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}

export function identifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}
