/** Links to the pages of insights. */
import { AppError, notFound } from '@assay/model/errors'
import { LINKS_MOST, type Link } from '@assay/model/link'
import type { Input, Page } from '../store.ts'
import type { Session, Transaction } from './connection.ts'
import { newestFirst } from './page.ts'

interface LinkRow extends Link {
  workspace_id: string
}

function toLink(row: LinkRow): Link {
  const { link_id, insight_id, user_id, label, expires_at, opened_count, last_opened_at, created_at } = row
  return { link_id, insight_id, user_id, label, expires_at, opened_count, last_opened_at, created_at }
}

async function requireRoom(tx: Transaction, { insight_id, link_id }: Input<'createLink'>): Promise<void> {
  const found = await tx.one<{ count: number }>(
    'SELECT count(*) AS count FROM links WHERE insight_id = $1 AND link_id <> $2 AND expires_at > $3',
    insight_id,
    link_id,
    tx.now,
  )
  if (found!.count >= LINKS_MOST)
    throw new AppError(
      'conflict',
      `The insight has ${LINKS_MOST} links: revoke some, or wait until they end.`,
    )
}

export async function createLink(tx: Transaction, input: Input<'createLink'>): Promise<Link> {
  const { insight_id, workspace_id } = input
  // The lock holds up other links of the insight, so that they are counted, and its deletion (SQLite has one writer).
  const insight = await tx.one(
    'SELECT 1 FROM insights WHERE insight_id = $1 AND workspace_id = $2 FOR UPDATE',
    insight_id,
    workspace_id,
  )
  if (!insight) throw notFound('insight', insight_id)
  await requireRoom(tx, input)
  const row = await tx.one<LinkRow>(
    `INSERT INTO links (link_id, link_hash, workspace_id, insight_id, user_id, label, expires_at, created_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
     ON CONFLICT (link_id) DO UPDATE SET link_hash = excluded.link_hash, expires_at = excluded.expires_at
       WHERE links.insight_id = excluded.insight_id
     RETURNING *`,
    input.link_id,
    input.link_hash,
    workspace_id,
    insight_id,
    input.user_id,
    input.label,
    new Date(Date.parse(tx.now) + input.lifetime_ms).toISOString(),
    tx.now,
  )
  if (!row) throw new AppError('name_taken', `There is already a link ${input.link_id}.`)
  return toLink(row)
}

export async function findLink(
  from: Session,
  link_hash: string,
): Promise<(Link & { workspace_id: string }) | null> {
  const row = await from.one<LinkRow>(
    `SELECT links.* FROM links JOIN workspaces USING (workspace_id)
     WHERE link_hash = $1 AND expires_at > clock_timestamp() AND deleted_at IS NULL`,
    link_hash,
  )
  return row ? { ...toLink(row), workspace_id: row.workspace_id } : null
}

export function listLinks(from: Session, query: Input<'listLinks'>): Promise<Page<Link>> {
  return newestFirst<LinkRow, Link>(
    from,
    { name: 'links', table: 'links', id: 'link_id', indexed: [['workspace_id = ?', 'insight_id = ?']] },
    query,
    { 'workspace_id = ?': query.workspace_id, 'insight_id = ?': query.insight_id },
    toLink,
  )
}

export async function deleteLink(tx: Transaction, input: Input<'deleteLink'>): Promise<boolean> {
  const deleted = await tx.run(
    'DELETE FROM links WHERE link_id = $1 AND insight_id = $2 AND workspace_id = $3',
    input.link_id,
    input.insight_id,
    input.workspace_id,
  )
  return deleted > 0
}

/** In the order of the ids, so that nodes that count at once do not wait for each other in a circle. */
export async function countOpenings(tx: Transaction, openings: Input<'countOpenings'>): Promise<void> {
  for (const { link_id, count, at } of openings.toSorted((a, b) => (a.link_id < b.link_id ? -1 : 1)))
    await tx.run(
      `UPDATE links SET opened_count = opened_count + $1, last_opened_at = greatest(last_opened_at, $2::timestamptz)
       WHERE link_id = $3`,
      count,
      at,
      link_id,
    )
}
