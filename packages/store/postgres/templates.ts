/** Templates that were put into a workspace, and the versions that jobs were created with. */
import type { TemplateSource } from '@assay/model/template'
import type { Input, StoredTemplate } from '../store.ts'
import type { Session, Transaction } from './connection.ts'

interface TemplateKey {
  workspace_id: string
  template_id: string
}

export async function putTemplate(tx: Transaction, input: Input<'putTemplate'>): Promise<boolean> {
  // A row that was just inserted has no transaction that replaced it: xmax is 0.
  const row = await tx.one<{ is_new: boolean }>(
    `INSERT INTO templates (workspace_id, template_id, source, user_id, updated_at) VALUES ($1, $2, $3, $4, $5)
     ON CONFLICT (workspace_id, template_id)
       DO UPDATE SET source = excluded.source, user_id = excluded.user_id, updated_at = excluded.updated_at
     RETURNING xmax = 0 AS is_new`,
    input.workspace_id,
    input.template_id,
    input.source,
    input.user_id,
    tx.now,
  )
  return row!.is_new
}

export async function getTemplate(from: Session, key: TemplateKey): Promise<StoredTemplate | null> {
  const row = await from.one<StoredTemplate>(
    'SELECT * FROM templates WHERE workspace_id = $1 AND template_id = $2',
    key.workspace_id,
    key.template_id,
  )
  return row ?? null
}

export function listTemplates(from: Session, workspace_id: string): Promise<StoredTemplate[]> {
  return from.all<StoredTemplate>(
    'SELECT * FROM templates WHERE workspace_id = $1 ORDER BY template_id',
    workspace_id,
  )
}

export async function deleteTemplate(tx: Transaction, key: TemplateKey): Promise<boolean> {
  const deleted = await tx.run(
    'DELETE FROM templates WHERE workspace_id = $1 AND template_id = $2',
    key.workspace_id,
    key.template_id,
  )
  return deleted > 0
}

/** A version is a hash of its content, so one that is there need not be written again. */
export async function keepTemplateVersion(tx: Transaction, template: TemplateSource): Promise<void> {
  // The lock keeps it until the job that is being made refers to it: another node may be pruning.
  const kept = await tx.one(
    'SELECT 1 FROM template_versions WHERE template_id = $1 AND version = $2 FOR KEY SHARE',
    template.template_id,
    template.version,
  )
  if (kept) return
  await tx.run(
    `INSERT INTO template_versions (template_id, version, source, partials) VALUES ($1, $2, $3, $4)
     ON CONFLICT DO NOTHING`,
    template.template_id,
    template.version,
    template.source,
    JSON.stringify(template.partials),
  )
}

export async function getTemplateVersion(
  from: Session,
  input: Input<'getTemplateVersion'>,
): Promise<TemplateSource | null> {
  const row = await from.one<TemplateSource>(
    'SELECT template_id, version, source, partials FROM template_versions WHERE template_id = $1 AND version = $2',
    input.template_id,
    input.version,
  )
  return row ?? null
}
