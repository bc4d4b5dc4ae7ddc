/** The templates of a workspace, and the versions with which jobs were created. */
import { AppError } from '@assay/model/errors'
import type { TemplateSource } from '@assay/model/template'
import {
  type StoredTemplate,
  TEMPLATE_CHARACTERS,
  TEMPLATES_MOST,
} from '../../contract/workspaces/templates.ts'
import type { Reader, Routine, Writer } from '../../rows.ts'
import type { Input } from '../../store.ts'
import { by } from '../../tables/table.ts'
import { TEMPLATE_VERSIONS, TEMPLATES } from '../../tables/workspaces/templates.ts'
import { endDrafts } from '../accounts/kept-drafts.ts'
import { LOCK_WORKSPACE } from '../workspace-lock.ts'

const OF_ID = by('workspace_id', 'template_id')
const FIND = TEMPLATES.select(OF_ID)
const LOCK = TEMPLATES.select(`${OF_ID} FOR UPDATE`)
const LIST = TEMPLATES.select('WHERE workspace_id = :workspace_id ORDER BY template_id')
const INSERT = TEMPLATES.insert(TEMPLATES.columns, 'ON CONFLICT DO NOTHING')
const REPLACE = TEMPLATES.update(['source', 'user_id', 'updated_at'], OF_ID)
const DELETE = TEMPLATES.delete(OF_ID)
const OTHERS = TEMPLATES.sql<{ count: number; length: number }>(
  `SELECT CAST(count(*) AS integer) AS count, CAST(coalesce(sum(length(source)), 0) AS integer) AS length
   FROM templates WHERE workspace_id = :workspace_id AND template_id <> :template_id`,
)

const OF_VERSION = by('template_id', 'version')
const FIND_VERSION = TEMPLATE_VERSIONS.select(OF_VERSION)
// The lock protects the version from pruning by another node until the new job refers to it.
const LOCK_VERSION = TEMPLATE_VERSIONS.select(`${OF_VERSION} FOR KEY SHARE`, ['version'])
const INSERT_VERSION = TEMPLATE_VERSIONS.insert(TEMPLATE_VERSIONS.columns, 'ON CONFLICT DO NOTHING')

interface Key {
  workspace_id: string
  template_id: string
}

/** Throws if the workspace would have more templates or characters than it may. */
function* admitTemplate(tx: Writer, template: StoredTemplate): Routine<void> {
  yield* tx.find(LOCK_WORKSPACE, template)
  const { count, length } = (yield* tx.find(OTHERS, template))!
  if (count >= TEMPLATES_MOST)
    throw new AppError('conflict', `The workspace has ${TEMPLATES_MOST} templates: delete some first.`)
  if (length + template.source.length > TEMPLATE_CHARACTERS)
    throw new AppError(
      'conflict',
      `The templates of the workspace would have ${length + template.source.length} characters together; at most ${TEMPLATE_CHARACTERS} are kept: delete what is not used, or keep templates in a folder or a git repository.`,
    )
}

export function* putTemplate(tx: Writer, input: Input<'putTemplate'>): Routine<'new' | 'replaced'> {
  const template: StoredTemplate = { ...input, updated_at: tx.now }
  yield* admitTemplate(tx, template)
  yield* endDrafts(tx, { ...input, kind: 'template', name: input.template_id })
  // Another node may delete the version between the two statements.
  for (;;) {
    if ((yield* tx.run(INSERT, template)) > 0) return 'new'
    if ((yield* tx.run(REPLACE, template)) > 0) return 'replaced'
  }
}

export function* getTemplate(from: Reader, key: Key): Routine<StoredTemplate | null> {
  return (yield* from.find(FIND, key)) ?? null
}

/** Locks the template until the transaction ends. */
export function* lockTemplate(tx: Writer, key: Key): Routine<StoredTemplate | null> {
  return (yield* tx.find(LOCK, key)) ?? null
}

export function listTemplates(from: Reader, workspace_id: string): Routine<StoredTemplate[]> {
  return from.all(LIST, { workspace_id })
}

export function* deleteTemplate(tx: Writer, key: Key): Routine<boolean> {
  return (yield* tx.run(DELETE, key)) > 0
}

/**
 * Keeps a version. Its id is a hash of its content, so an existing one is not written again. Another node may delete
 * it meanwhile, so this repeats.
 */
export function* keepTemplateVersion(tx: Writer, template: TemplateSource): Routine<void> {
  for (;;) {
    if (yield* tx.find(LOCK_VERSION, template)) return
    if ((yield* tx.run(INSERT_VERSION, template)) > 0) return
  }
}

/**
 * Keeps several versions before the first of their jobs is made, in one order, so that two calls do not wait for each
 * other.
 */
export function* keepTemplateVersions(tx: Writer, templates: readonly TemplateSource[]): Routine<void> {
  const each = new Map(templates.map((template) => [`${template.template_id} ${template.version}`, template]))
  for (const [, template] of [...each].toSorted(([a], [b]) => (a < b ? -1 : 1)))
    yield* keepTemplateVersion(tx, template)
}

export function* getTemplateVersion(
  from: Reader,
  input: Input<'getTemplateVersion'>,
): Routine<TemplateSource | null> {
  const found = yield* from.find(FIND_VERSION, input)
  if (!found) return null
  const { commit_id, ...rest } = found
  return commit_id ? found : rest
}
