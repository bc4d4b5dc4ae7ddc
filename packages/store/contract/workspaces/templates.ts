/** The templates of workspaces in the store. */
import type { TemplateSource } from '@assay/model/template'

export interface StoredTemplate {
  workspace_id: string
  template_id: string
  source: string
  user_id: string
  updated_at: string
}

/** Templates that are put into a workspace, and their characters together: a list reads all of them at once. */
export const TEMPLATES_MOST = 2000
export const TEMPLATE_CHARACTERS = 5_000_000

export interface TemplateStore {
  /** Creates or replaces. Refuses what would go beyond TEMPLATES_MOST or TEMPLATE_CHARACTERS: `conflict`. */
  putTemplate(input: Omit<StoredTemplate, 'updated_at'>): Promise<'new' | 'replaced'>
  getTemplate(input: { workspace_id: string; template_id: string }): Promise<StoredTemplate | null>
  /** All of a workspace, by id. */
  listTemplates(workspace_id: string): Promise<StoredTemplate[]>
  deleteTemplate(input: { workspace_id: string; template_id: string }): Promise<boolean>
  /** The source that jobs were created with. */
  getTemplateVersion(input: { template_id: string; version: string }): Promise<TemplateSource | null>
}
