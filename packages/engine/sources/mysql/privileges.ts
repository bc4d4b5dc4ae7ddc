/**
 * Tells what a user of MySQL or MariaDB can do in a read-only transaction beyond reading tables. The server itself
 * refuses changes of tables there. The names are those of "Privileges Provided by MySQL" and MariaDB's "GRANT".
 */

const MEANINGS: Record<string, string> = {
  'ALL PRIVILEGES': 'has all privileges on every database',
  SUPER: 'can change the server (SUPER)',
  FILE: "can read and write the server's files (FILE)",
  'CREATE USER': 'can create users (CREATE USER)',
  RELOAD: 'can flush the server (RELOAD)',
  SHUTDOWN: 'can stop the server (SHUTDOWN)',
  'REPLICATION SLAVE': 'can replicate (REPLICATION SLAVE)',
  'REPLICATION SLAVE ADMIN': 'can control replication (REPLICATION SLAVE ADMIN)',
  REPLICATION_SLAVE_ADMIN: 'can control replication (REPLICATION_SLAVE_ADMIN)',
  'CONNECTION ADMIN': 'can end the sessions of others (CONNECTION ADMIN)',
  CONNECTION_ADMIN: 'can end the sessions of others (CONNECTION_ADMIN)',
  SYSTEM_VARIABLES_ADMIN: 'can change the settings of the server (SYSTEM_VARIABLES_ADMIN)',
  'SET USER': 'can act as other users (SET USER)',
  SET_USER_ID: 'can act as other users (SET_USER_ID)',
  SET_ANY_DEFINER: 'can act as other users (SET_ANY_DEFINER)',
  'REPLICATION MASTER ADMIN': 'can control replication (REPLICATION MASTER ADMIN)',
  GROUP_REPLICATION_ADMIN: 'can control replication (GROUP_REPLICATION_ADMIN)',
  'BINLOG ADMIN': 'can remove the log of changes (BINLOG ADMIN)',
  BINLOG_ADMIN: 'can remove the log of changes (BINLOG_ADMIN)',
  'BINLOG REPLAY': 'can replay the log of changes (BINLOG REPLAY)',
  'READ_ONLY ADMIN': 'can write to a server that only reads (READ_ONLY ADMIN)',
  'FEDERATED ADMIN': 'can define other servers (FEDERATED ADMIN)',
  CLONE_ADMIN: 'can replace the data of the server (CLONE_ADMIN)',
  BACKUP_ADMIN: 'can lock the server for a backup (BACKUP_ADMIN)',
  ROLE_ADMIN: 'can grant roles (ROLE_ADMIN)',
  'CREATE ROLE': 'can create roles (CREATE ROLE)',
}

/** The database that holds the users and their rights. */
const OWN_DATABASE = '`mysql`.*'
const CHANGES = ['ALL PRIVILEGES', 'INSERT', 'UPDATE', 'DELETE']

/** Returns the privileges, each as a part of a sentence. `grants`: the lines of SHOW GRANTS. */
export function privilegesOf(grants: readonly string[]): string[] {
  const found = new Set<string>()
  for (const grant of grants) {
    const [, names, on, rest] = /^GRANT (.+?) ON (\S+) TO (.*)$/s.exec(grant) ?? []
    if (names === undefined) continue
    if (on === '*.*') for (const name of names.split(', ')) if (MEANINGS[name]) found.add(MEANINGS[name])
    if (on === OWN_DATABASE && names.split(', ').some((name) => CHANGES.includes(name)))
      found.add('can change users and their rights (mysql.*)')
    if (/\bWITH GRANT OPTION\b/.test(rest!)) found.add('can grant its rights to others (GRANT OPTION)')
  }
  return [...found]
}
