/** assay status: the nodes and what waits. */
import type { Client, NodeView } from '../client.ts'
import { JOB_STATUSES, type JobStatus } from '../job.ts'
import { type Command, JSON_OPTION } from './command.ts'
import { withClient } from './connect.ts'
import { EXIT } from './exit.ts'
import { out, printJson, table } from './print.ts'

const UNFINISHED: readonly JobStatus[] = JOB_STATUSES.filter(
  (state) => state !== 'completed' && state !== 'canceled',
)
const MOST = 200

/** How many jobs of the workspace are in each unfinished state, counted up to 200. */
async function backlog(client: Client): Promise<Record<string, number>> {
  const pages = await Promise.all(
    UNFINISHED.map((job_status) => client.jobs.list({ job_status, limit: MOST })),
  )
  return Object.fromEntries(UNFINISHED.map((state, index) => [state, pages[index]!.items.length]))
}

function nodeRow(node: NodeView): string[] {
  const left = Math.round((Date.parse(node.lease_until) - Date.now()) / 1000)
  return [node.name, node.roles.join(','), node.version, node.started_at, left > 0 ? `${left} s` : 'run out']
}

export const STATUS: Command = {
  name: 'status',
  operands: '',
  summary: 'Show the nodes, their leases and the backlog',
  options: { json: JSON_OPTION },
  run: (call) =>
    withClient(call, async (client, { served }) => {
      const nodes = served ? (await client.nodes()).items : []
      const jobs = await backlog(client)
      if (call.on('json')) printJson({ url: served ? client.url : null, nodes, jobs })
      else {
        out(served ? `${client.url}\n\n` : 'No service runs on this home.\n\n')
        if (nodes.length > 0)
          out(`${table(['NODE', 'ROLES', 'VERSION', 'STARTED', 'LEASE'], nodes.map(nodeRow))}\n`)
        const counts = Object.entries(jobs).map(([state, count]) => [
          state,
          count === MOST ? `${MOST}+` : count,
        ])
        out(table(['JOBS', 'COUNT'], counts))
      }
      return served ? EXIT.ok : EXIT.unavailable
    }),
}
