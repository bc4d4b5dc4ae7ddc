/** Links to the pages of insights. */

import { iso } from '@assay/model/clock'
import { AppError, notFound } from '@assay/model/errors'
import { LINKS_MOST, type Link } from '@assay/model/link'
import type { Input, Page } from '../store.ts'
import type { Connection } from './connection.ts'
import { newestFirst } from './page.ts'

interface LinkRow extends Link {
  workspace_id: string
}

function toLink(row: LinkRow): Link {
  const { link_id, insight_id, user_id, label, expires_at, opened_count, last_opened_at, created_at } = row
  return { link_id, insight_id, user_id, label, expires_at, opened_count, last_opened_at, created_at }
}

function requireRoom(connection: Connection, { insight_id, link_id }: Input<'createLink'>): void {
  const { count } = connection.one<{ count: number }>(
    'SELECT count(*) AS count FROM links WHERE insight_id = ? AND link_id <> ? AND expires_at > ?',
    insight_id,
    link_id,
    connection.now(),
  )!
  if (count >= LINKS_MOST)
    throw new AppError(
      'conflict',
      `The insight has ${LINKS_MOST} links: revoke some, or wait until they end.`,
    )
}

export function createLink(connection: Connection, input: Input<'createLink'>): Link {
  const { lifetime_ms, workspace_id, insight_id, ...link } = input
  const insight = connection.one(
    'SELECT 1 FROM insights WHERE insight_id = ? AND workspace_id = ?',
    insight_id,
    workspace_id,
  )
  if (!insight) throw notFound('insight', insight_id)
  requireRoom(connection, input)
  const row = connection.one<LinkRow>(
    `INSERT INTO links (link_id, link_hash, workspace_id, insight_id, user_id, label, expires_at, created_at)
     VALUES (:link_id, :link_hash, :workspace_id, :insight_id, :user_id, :label, :expires_at, :created_at)
     ON CONFLICT (link_id) DO UPDATE SET link_hash = excluded.link_hash, expires_at = excluded.expires_at
       WHERE links.insight_id = excluded.insight_id
     RETURNING *`,
    {
      ...link,
      workspace_id,
      insight_id,
      expires_at: iso(connection.clock.now() + lifetime_ms),
      created_at: connection.now(),
    },
  )
  if (!row) throw new AppError('name_taken', `There is already a link ${link.link_id}.`)
  return toLink(row)
}

export function findLink(
  connection: Connection,
  link_hash: string,
): (Link & { workspace_id: string }) | null {
  const row = connection.one<LinkRow>(
    `SELECT links.* FROM links JOIN workspaces USING (workspace_id)
     WHERE link_hash = ? AND expires_at > ? AND deleted_at IS NULL`,
    link_hash,
    connection.now(),
  )
  return row ? { ...toLink(row), workspace_id: row.workspace_id } : null
}

export function listLinks(connection: Connection, query: Input<'listLinks'>): Page<Link> {
  return newestFirst<LinkRow, Link>(
    connection,
    { name: 'links', table: 'links', id: 'link_id', indexed: [['workspace_id = ?', 'insight_id = ?']] },
    query,
    { 'workspace_id = ?': query.workspace_id, 'insight_id = ?': query.insight_id },
    toLink,
  )
}

export function deleteLink(connection: Connection, input: Input<'deleteLink'>): boolean {
  const { workspace_id, insight_id, link_id } = input
  return (
    connection.run(
      'DELETE FROM links WHERE link_id = ? AND insight_id = ? AND workspace_id = ?',
      link_id,
      insight_id,
      workspace_id,
    ) > 0
  )
}

export function countOpenings(connection: Connection, openings: Input<'countOpenings'>): void {
  for (const { link_id, count, at } of openings)
    connection.run(
      `UPDATE links SET opened_count = opened_count + ?, last_opened_at = max(coalesce(last_opened_at, ''), ?)
       WHERE link_id = ?`,
      count,
      at,
      link_id,
    )
}
