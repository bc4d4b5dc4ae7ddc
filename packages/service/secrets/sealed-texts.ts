/** Lists every text that a store holds sealed, with its purpose. */
import { connectionContext, type SealedField } from '@assay/model/connection'
import { targetContext } from '@assay/model/subscription'
import { headerContext, type SealedHeader, type SealedSecret, secretContext } from '@assay/model/webhook'
import { COPIED, type CopySource } from '@assay/store/copy'
import type { SealedTable } from '@assay/store/store'
import { answerContext } from '../api/http/idempotency.ts'

export interface SealedText {
  sealed: string
  context: string
  /** The name for people, such as "the header x-key". */
  what: string
}

export interface SealedRow {
  table: SealedTable
  key: Record<string, string>
  kind: 'webhook' | 'subscription' | 'connection' | 'answer'
  workspace_id: string
  /** The id of the webhook or subscription, or the name of the connection. */
  id: string
  texts: SealedText[]
}

type Values = Record<string, string>

function webhookRow({
  webhook_id = '',
  workspace_id = '',
  kind,
  ...row
}: Values): Pick<SealedRow, 'kind' | 'id' | 'texts' | 'workspace_id' | 'key'> {
  const headers = JSON.parse(row.headers ?? '[]') as SealedHeader[]
  const secrets = JSON.parse(row.secrets ?? '[]') as SealedSecret[]
  const texts = [
    ...headers.map(({ name, sealed }) => ({
      sealed,
      context: headerContext(webhook_id, name),
      what: `the header ${name}`,
    })),
    ...secrets.map(({ sealed }) => ({
      sealed,
      context: secretContext(webhook_id),
      what: 'the signing secret',
    })),
    ...(row.target ? [{ sealed: row.target, context: targetContext(webhook_id), what: 'its readers' }] : []),
  ]
  return {
    kind: kind === 'webhook' ? 'webhook' : 'subscription',
    key: { webhook_id },
    workspace_id,
    id: webhook_id,
    texts,
  }
}

function connectionRow({ workspace_id = '', name = '', secrets = '[]' }: Values) {
  return {
    kind: 'connection' as const,
    key: { workspace_id, name },
    workspace_id,
    id: name,
    texts: (JSON.parse(secrets) as SealedField[]).map(({ name: field, sealed }) => ({
      sealed,
      context: connectionContext(workspace_id, name, field),
      what: `the secret ${field}`,
    })),
  }
}

function answerRow({ workspace_id = '', method = '', path = '', key = '', answer }: Values) {
  const of = { workspace_id, method, path, key }
  const texts = answer ? [{ sealed: answer, context: answerContext(of), what: 'an answer' }] : []
  return { kind: 'answer' as const, key: of, workspace_id, id: key, texts }
}

const ROWS: Record<SealedTable, (row: Values) => Omit<SealedRow, 'table'>> = {
  webhooks: webhookRow,
  connections: connectionRow,
  idempotency_keys: answerRow,
}

/**
 * Yields the rows that hold sealed texts, in batches. `answers` false leaves out the answers to idempotency keys,
 * which are kept for a day.
 */
export async function* sealedRows(source: CopySource, { answers = true } = {}): AsyncGenerator<SealedRow[]> {
  for (const [table, rowOf] of Object.entries(ROWS) as [
    SealedTable,
    (row: Values) => Omit<SealedRow, 'table'>,
  ][]) {
    if (table === 'idempotency_keys' && !answers) continue
    const copied = COPIED.find(({ name }) => name === table)!
    for await (const batch of source.batches(copied)) {
      const rows = batch.map((values) =>
        rowOf(
          Object.fromEntries(
            copied.columns.flatMap((name, index) => {
              const value = values[index] ?? null
              return value === null ? [] : [[name, value]]
            }),
          ),
        ),
      )
      yield rows.filter(({ texts }) => texts.length > 0).map((row) => ({ table, ...row }))
    }
  }
}
