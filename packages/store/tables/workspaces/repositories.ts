/** The columns of the git repository of templates. */
import type { Repository, RepositoryTree } from '@assay/model/repository'
import { Table } from '../table.ts'

export const REPOSITORIES = new Table<Repository & { tree: RepositoryTree | null }>(
  'repositories',
  ['repository_id'],
  {
    repository_id: 'text',
    address: 'text',
    branch: 'text?',
    folder: 'text',
    taken: 'json?',
    tree: 'json?',
    latest: 'json?',
    pulled_at: 'time?',
    unreached: 'json?',
    owned: 'json',
    asked: 'boolean',
    due_at: 'time',
    held_until: 'time',
    revision: 'integer',
  },
)
