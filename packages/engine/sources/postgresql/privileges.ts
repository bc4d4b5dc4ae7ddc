/**
 * What a role of PostgreSQL can do in a read-only transaction beyond reading tables. The server itself refuses changes of tables
 * and grants there. Roles and functions: "Predefined Roles" and "System Administration Functions" of its manual.
 */
import type { Client } from 'pg'

/** A condition in SQL, and its meaning. `has_role` includes roles that SET ROLE can take. */
const CHECKS: readonly (readonly [condition: string, meaning: string])[] = [
  ['role.rolsuper', 'is a superuser'],
  [
    "exists (select from pg_roles other where other.rolsuper and pg_has_role(role.oid, other.oid, 'member'))",
    'can become a superuser',
  ],
  ['role.rolreplication', 'can replicate'],
  ['role.rolcreaterole', 'can create and grant roles'],
  ["pg_has_role(role.oid, 'pg_read_server_files', 'member')", "can read the server's files"],
  ["pg_has_role(role.oid, 'pg_write_server_files', 'member')", "can write the server's files"],
  ["pg_has_role(role.oid, 'pg_execute_server_program', 'member')", 'can run programs on the server'],
  ["pg_has_role(role.oid, 'pg_signal_backend', 'member')", 'can end the sessions of others'],
  [
    mayCall('pg_read_file(text)', 'pg_read_binary_file(text)', 'pg_ls_dir(text)', 'lo_export(oid,text)'),
    'can call functions that use files',
  ],
  [
    mayCall('pg_reload_conf()', 'pg_rotate_logfile()', 'pg_switch_wal()'),
    'can call functions that control the server',
  ],
]

function mayCall(...functions: string[]): string {
  const each = functions.map(
    (name) => `coalesce(has_function_privilege(role.oid, to_regprocedure('${name}'), 'execute'), false)`,
  )
  return `(not role.rolsuper and (${each.join(' or ')}))`
}

/** One query. Each entry is a part of a sentence. */
export async function privilegesOf(client: Client): Promise<string[]> {
  const columns = CHECKS.map(([condition], index) => `${condition} as "${index}"`)
  const { rows } = await client.query<Record<string, boolean>>(
    `select ${columns.join(', ')} from pg_roles role where role.rolname = current_user`,
  )
  const found = CHECKS.filter((_, index) => rows[0]?.[index] === true).map(([, meaning]) => meaning)
  // A superuser is a member of every role.
  return found[0] === CHECKS[0]![1] ? found.slice(0, 1) : found
}
