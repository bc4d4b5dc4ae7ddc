/** The columns of templates and their versions. */
import type { TemplateSource } from '@assay/model/template'
import type { StoredTemplate } from '../../contract/workspaces/templates.ts'
import { Table } from '../table.ts'

export const TEMPLATES = new Table<StoredTemplate>('templates', ['workspace_id', 'template_id'], {
  workspace_id: 'text',
  template_id: 'text',
  source: 'text',
  user_id: 'text',
  updated_at: 'time',
})

/** The versions with which jobs were created. */
export const TEMPLATE_VERSIONS = new Table<TemplateSource>('template_versions', ['template_id', 'version'], {
  template_id: 'text',
  version: 'text',
  source: 'text',
  partials: 'json',
  commit_id: 'text?',
})
