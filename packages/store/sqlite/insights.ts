/**
 * Reads parts of an insight from its stored bytes. SQLite's JSON functions read a whole text in one call, and 10 MB would hold up the
 * thread for a tenth of a second.
 */
import type { InsightData, InsightHead } from '@assay/model/insight'
import type { Database } from '../methods.ts'
import { DATA, HEAD } from '../nouns/jobs/insights.ts'
import { statement } from '../statement.ts'
import type { Store } from '../store.ts'
import { jsonMembers } from './json-members.ts'

const FIND = statement<{ assignment_id: string; created_at: string; body: Uint8Array }>(
  'SELECT assignment_id, created_at, CAST(body AS blob) AS body FROM insights WHERE insight_id = :insight_id AND workspace_id = :workspace_id',
)

export function insightsOf({
  read,
}: Pick<Database, 'read'>): Pick<Store, 'getInsightHead' | 'getInsightData'> {
  async function find(input: { workspace_id: string; insight_id: string }) {
    const row = await read((from) => from.find(FIND, input))
    if (!row) return null
    const { body, ...ids } = row
    const members = await jsonMembers(Buffer.from(body.buffer, body.byteOffset, body.length))
    return { ids, members }
  }
  return {
    async getInsightHead(input) {
      const found = await find(input)
      if (!found) return null
      const { ids, members } = found
      const head = HEAD.map((name) => {
        const bytes = members.get(name)
        return [name, bytes === undefined ? null : (JSON.parse(bytes.toString()) as unknown)]
      })
      return { insight_id: input.insight_id, ...ids, ...Object.fromEntries(head) } as InsightHead
    },
    async getInsightData(input) {
      const found = await find(input)
      if (!found) return null
      const data = DATA.map((name) => {
        const bytes = found.members.get(name) ?? null
        // Insights from before marks were recorded lack them. Later ones without marks have null.
        return [name, name === 'provenance' && bytes?.toString() === 'null' ? null : bytes]
      })
      return Object.fromEntries(data) as InsightData
    },
  }
}
