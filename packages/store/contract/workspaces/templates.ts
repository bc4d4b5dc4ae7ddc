/** The templates of workspaces in the store. */
import type { TemplateSource } from '@assay/model/template'

export interface StoredTemplate {
  workspace_id: string
  template_id: string
  source: string
  user_id: string
  updated_at: string
}

/** The most templates of a workspace, and the most characters of all of them together. A list reads all of them at once. */
export const TEMPLATES_MOST = 2000
export const TEMPLATE_CHARACTERS = 5_000_000

export interface TemplateStore {
  /** Creates or replaces a template. Throws `conflict` beyond TEMPLATES_MOST or TEMPLATE_CHARACTERS. */
  putTemplate(input: Omit<StoredTemplate, 'updated_at'>): Promise<'new' | 'replaced'>
  getTemplate(input: { workspace_id: string; template_id: string }): Promise<StoredTemplate | null>
  /** Returns all templates of a workspace, by id. */
  listTemplates(workspace_id: string): Promise<StoredTemplate[]>
  deleteTemplate(input: { workspace_id: string; template_id: string }): Promise<boolean>
  /** Returns the source with which jobs were created. */
  getTemplateVersion(input: { template_id: string; version: string }): Promise<TemplateSource | null>
}
