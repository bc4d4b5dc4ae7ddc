/**
 * Tells what a user of ClickHouse can do in a read-only session beyond reading tables: reach other systems through
 * table functions such as url() and file(). The server itself refuses changes there. The names are those of "GRANT",
 * section "SOURCES", of its manual.
 */

const SOURCES = new Set(
  'SOURCES AZURE FILE HDFS HIVE JDBC KAFKA MONGO MYSQL NATS ODBC POSTGRES RABBITMQ REDIS REMOTE S3 SQLITE URL'.split(
    ' ',
  ),
)

/** Returns the roles that lines of SHOW GRANTS give, with their quotes. */
export function rolesOf(grants: readonly string[]): string[] {
  return grants.flatMap((grant) => {
    const [, names] =
      /^GRANT ((?:\w+|`(?:[^`\\]|\\.)+`)(?:, (?:\w+|`(?:[^`\\]|\\.)+`))*) TO /.exec(grant) ?? []
    return names?.match(/\w+|`(?:[^`\\]|\\.)+`/g) ?? []
  })
}

/** Returns the privileges, each as a part of a sentence. `grants`: the lines of SHOW GRANTS. */
export function privilegesOf(grants: readonly string[]): string[] {
  const found = new Set<string>()
  for (const grant of grants) {
    const [, names, on] = /^GRANT (.+) ON ([^\s(]+)\S* TO /s.exec(grant) ?? []
    if (names === undefined) continue
    // The names of columns stand in brackets. Newer servers grant "READ ON URL", older ones "URL ON *.*".
    for (const name of [...names.replaceAll(/\([^)]*\)/g, '').split(', '), on!]) {
      if (name === 'ALL') found.add('has all rights')
      else if (SOURCES.has(name)) found.add(`can reach other systems (${name})`)
    }
  }
  return [...found]
}
