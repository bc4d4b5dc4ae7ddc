/** Templates that were put into a workspace, and the versions that jobs were created with. */
import type { TemplateSource } from '@assay/model/template'
import type { Input, StoredTemplate } from '../store.ts'
import type { Connection } from './connection.ts'

interface TemplateKey {
  workspace_id: string
  template_id: string
}

export function putTemplate(connection: Connection, input: Input<'putTemplate'>): boolean {
  const isNew = getTemplate(connection, input) === null
  connection.run(
    `INSERT INTO templates (workspace_id, template_id, source, user_id, updated_at) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET source = excluded.source, user_id = excluded.user_id, updated_at = excluded.updated_at`,
    input.workspace_id,
    input.template_id,
    input.source,
    input.user_id,
    connection.now(),
  )
  return isNew
}

export function getTemplate(connection: Connection, key: TemplateKey): StoredTemplate | null {
  const row = connection.one<StoredTemplate>(
    'SELECT * FROM templates WHERE workspace_id = ? AND template_id = ?',
    key.workspace_id,
    key.template_id,
  )
  return row ? { ...row } : null
}

export function listTemplates(connection: Connection, workspace_id: string): StoredTemplate[] {
  return connection
    .all<StoredTemplate>('SELECT * FROM templates WHERE workspace_id = ? ORDER BY template_id', workspace_id)
    .map((row) => ({ ...row }))
}

export function deleteTemplate(connection: Connection, key: TemplateKey): boolean {
  return (
    connection.run(
      'DELETE FROM templates WHERE workspace_id = ? AND template_id = ?',
      key.workspace_id,
      key.template_id,
    ) > 0
  )
}

const IS_KEPT = 'SELECT 1 FROM template_versions WHERE template_id = ? AND version = ?'

/** A version is a hash of its content, so one that is there need not be written again. */
export function keepTemplateVersion(connection: Connection, template: TemplateSource): void {
  if (connection.one(IS_KEPT, template.template_id, template.version)) return
  connection.run(
    'INSERT INTO template_versions (template_id, version, source, partials) VALUES (?, ?, ?, ?)',
    template.template_id,
    template.version,
    template.source,
    JSON.stringify(template.partials),
  )
}

export function getTemplateVersion(
  connection: Connection,
  input: Input<'getTemplateVersion'>,
): TemplateSource | null {
  const row = connection.one<{ source: string; partials: string }>(
    'SELECT source, partials FROM template_versions WHERE template_id = ? AND version = ?',
    input.template_id,
    input.version,
  )
  if (!row) return null
  const { template_id, version } = input
  return {
    template_id,
    version,
    source: row.source,
    partials: JSON.parse(row.partials) as TemplateSource['partials'],
  }
}
