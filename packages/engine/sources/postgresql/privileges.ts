/**
 * Tells what a role of PostgreSQL can do in a read-only transaction beyond reading tables. The server itself refuses
 * changes of tables and grants there. The roles and functions are those of "Predefined Roles" and "System
 * Administration Functions" of its manual.
 */
import type { Client } from 'pg'

/**
 * SQL for functions that even a role that monitors the server may not call. They use files, settings, sessions or
 * replication.
 */
const KEPT_FUNCTION = `pronamespace = 'pg_catalog'::regnamespace and proacl is not null
  and not has_function_privilege('pg_monitor', made.oid, 'execute')`

/**
 * SQL for functions that run with the rights of a superuser. Their author chose what they do, and a read-only
 * transaction does not keep them from files. Triggers are left out, because a query cannot call them.
 */
const BORROWED_FUNCTION = `prosecdef and prorettype not in ('trigger'::regtype, 'event_trigger'::regtype)
  and has_schema_privilege(role.oid, pronamespace, 'usage')
  and exists (select from pg_roles owner where owner.oid = proowner and owner.rolsuper)`

function reaches(condition: string): string {
  return `(not role.rolsuper and exists (select from pg_proc made
    where ${condition} and has_function_privilege(role.oid, made.oid, 'execute')))`
}

/** The conditions in SQL, each with its meaning. `has_role` includes roles that SET ROLE can take. */
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
  [reaches(KEPT_FUNCTION), 'can call functions of the server that are kept from others'],
  [reaches(BORROWED_FUNCTION), 'can call functions that run as a superuser'],
]

/** Returns the privileges by one query, each as a part of a sentence. */
export async function privilegesOf(client: Client): Promise<string[]> {
  const columns = CHECKS.map(([condition], index) => `${condition} as "${index}"`)
  const { rows } = await client.query<Record<string, boolean>>(
    `select ${columns.join(', ')} from pg_roles role where role.rolname = current_user`,
  )
  const found = CHECKS.filter((_, index) => rows[0]?.[index] === true).map(([, meaning]) => meaning)
  // A superuser is a member of every role.
  return found[0] === CHECKS[0]![1] ? found.slice(0, 1) : found
}
