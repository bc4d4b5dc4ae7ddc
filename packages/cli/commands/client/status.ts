/**
 * assay status: shows the nodes and their leases, the walls of this machine, the backlog and its age, and failing
 * webhooks.
 */
import type { NodeView, QueueView, RepositoryView as Repository } from '@assay/client'
import { wallsHere } from '@assay/engine/run/jail'
import { JOB_STATUSES, type JobStatus } from '@assay/model/job'
import { clientCommand } from '../../client-command.ts'
import { EXIT } from '../../exit.ts'
import { JSON_OPTION } from '../../options.ts'
import { out, printJson, table } from '../../print.ts'

const UNFINISHED: readonly JobStatus[] = JOB_STATUSES.filter(
  (state) => state !== 'completed' && state !== 'canceled',
)

const UNITS: [string, number][] = [
  ['d', 86_400],
  ['h', 3600],
  ['min', 60],
  ['s', 1],
]

/** Returns the time that has passed since `at`, in the largest unit that fits: "3 min". */
function age(at: string | null): string {
  if (at === null) return ''
  const seconds = Math.max(0, Math.round((Date.now() - Date.parse(at)) / 1000))
  const [unit, size] = UNITS.find(([, least]) => seconds >= least) ?? ['s', 1]
  return `${Math.floor(seconds / size)} ${unit}`
}

const size = (bytes: number): string =>
  bytes >= 1e9 ? `${(bytes / 1e9).toFixed(1)} GB` : `${(bytes / 1e6).toFixed(1)} MB`

function nodeRow(node: NodeView): string[] {
  const left = Math.round((Date.parse(node.lease_until) - Date.now()) / 1000)
  return [node.name, node.roles.join(','), node.version, node.started_at, left > 0 ? `${left} s` : 'run out']
}

/** Returns the backlog of all workspaces together. */
function backlog({ jobs }: QueueView): { state: JobStatus; count: number; oldest_at: string | null }[] {
  return UNFINISHED.map((state) => {
    const rows = jobs.filter(({ job_status }) => job_status === state)
    const times = rows.flatMap(({ oldest_at }) => oldest_at ?? []).toSorted()
    return { state, count: rows.reduce((sum, { count }) => sum + count, 0), oldest_at: times[0] ?? null }
  })
}

function repositoryLine({ address, taken, latest, unreached }: Repository): string {
  const served = taken ? `serves ${taken.commit_id.slice(0, 12)}` : 'serves nothing yet'
  const refused =
    latest?.status === 'refused'
      ? `; ${latest.commit_id.slice(0, 12)} was refused: see "assay repository show"`
      : ''
  const away = unreached ? `; not reached: ${unreached.detail}` : ''
  return `\nTemplates of ${address}: ${served}${refused}${away}\n`
}

function printSecrets({ missing_key, lost }: QueueView['secrets']): void {
  if (missing_key !== null) out(`\nJobs and deliveries wait. ${missing_key}\n`)
  if (lost.length === 0) return
  const rows = lost.map(({ kind, workspace_id, id, what }) => [kind, workspace_id, id, what.join(', ')])
  out(`\n${table(['TO ENTER AGAIN', 'WORKSPACE', 'ID', 'WHAT'], rows)}`)
}

function print(url: string | null, nodes: NodeView[], queue: QueueView, repository: Repository | null): void {
  out(url === null ? 'No service runs on this home.\n\n' : `${url}\n\n`)
  if (nodes.length > 0)
    out(`${table(['NODE', 'ROLES', 'VERSION', 'STARTED', 'LEASE'], nodes.map(nodeRow))}\n`)
  const { deliveries, webhooks, disk } = queue
  const jobs = backlog(queue).map(({ state, count, oldest_at }) => [state, count, age(oldest_at)])
  out(`${table(['JOBS', 'COUNT', 'OLDEST'], jobs)}\n`)
  const { due, waiting } = deliveries
  out(table(['DELIVERIES', 'COUNT'], Object.entries({ due, waiting })))
  out(`\n${table(['WEBHOOKS', 'COUNT'], Object.entries(webhooks))}`)
  if (repository) out(repositoryLine(repository))
  printSecrets(queue.secrets)
  const { walls, by, missing } = wallsHere('auto')
  out(
    `\nWalls around analysis processes on this machine: ${walls.length > 0 ? `${walls.join(', ')} (by ${by})` : `none (${missing})`}.\n`,
  )
  if (disk) out(`\n${size(disk.free_bytes)} of ${size(disk.total_bytes)} are free.\n`)
}

export const STATUS = clientCommand(
  {
    name: 'status',
    summary: 'Show the nodes, their leases and the backlog',
    options: { json: JSON_OPTION },
  },
  async (client, call, { served }) => {
    const nodes = served ? (await client.nodes()).items : []
    const queue = await client.queue()
    const repository = served ? (await client.repository.get()).repository : null
    const url = served ? client.url : null
    const counts = Object.fromEntries(backlog(queue).map(({ state, count }) => [state, count]))
    if (call.on('json')) printJson({ url, nodes, jobs: counts, queue, repository, jail: wallsHere('auto') })
    else print(url, nodes, queue, repository)
    return served ? EXIT.ok : EXIT.unavailable
  },
)
