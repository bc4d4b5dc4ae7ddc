/**
 * Runs a service within 1 GB of memory that the kernel enforces (a memory cgroup, as a container has it), and gives it
 * templates at their default limits: one that sorts more than fits, and one whose single value does not fit at all. No
 * job may end as worker_lost, the service itself may not be killed, and what fails must name the real cause.
 */
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { createClient } from '@assay/client'
import { eventually, isAlive, type Service, startService, temporaryFolder } from '../test/servers/service.ts'
import type { Proof } from './main.ts'

const TOKEN = 'assay-box-proof-token'
const ROOT = '/sys/fs/cgroup'

/** A memory cgroup of our own. */
interface Box {
  version: 1 | 2
  /** The file that takes the number of a process. */
  members: string
  /** The most bytes that were used, and the processes that the kernel ended. */
  peak(): number
  kills(): number
  remove(): void
}

const read = (file: string): string => readFileSync(file, 'utf8')

/** Returns the folder of this process in a hierarchy, by the lines of /proc/self/cgroup. */
function ownFolder(line: RegExp, mount: string): string | null {
  const found = line.exec(read('/proc/self/cgroup'))?.[1]
  const folder = found === undefined ? null : path.join(mount, found)
  return folder !== null && existsSync(folder) ? folder : null
}

/** Makes a cgroup below that of this process. Returns null where this machine does not allow it. */
function makeBox(bytes: number): Box | null {
  const second = ownFolder(/^0::(\S+)$/m, ROOT)
  const first = ownFolder(/^\d+:memory:(\S+)$/m, path.join(ROOT, 'memory'))
  const hasSecond = second !== null && existsSync(path.join(second, 'cgroup.controllers'))
  const parent = hasSecond ? second : first
  if (parent === null) return null
  const folder = path.join(parent, `assay-box-${process.pid}`)
  const file = (name: string): string => path.join(folder, name)
  try {
    mkdirSync(folder)
    if (hasSecond) {
      writeFileSync(file('memory.max'), String(bytes))
      if (existsSync(file('memory.swap.max'))) writeFileSync(file('memory.swap.max'), '0')
    } else writeFileSync(file('memory.limit_in_bytes'), String(bytes))
  } catch {
    if (existsSync(folder)) rmdirSync(folder)
    return null
  }
  const [peak, events] = hasSecond
    ? ['memory.peak', 'memory.events']
    : ['memory.max_usage_in_bytes', 'memory.oom_control']
  return {
    version: hasSecond ? 2 : 1,
    members: file('cgroup.procs'),
    peak: () => Number(read(file(peak))),
    kills: () => Number(/^oom_kill (\d+)$/m.exec(read(file(events)))?.[1] ?? Number.NaN),
    remove: () => rmdirSync(folder),
  }
}

/** Sorts about 1.5 GB of texts. */
const SORTS = `---
title: A long sort
limits: { timeout: 10m }
---
\`\`\`sql sorted
select count(*) as n, max(t) as last from (
  select md5(range::varchar) || md5((range + 1)::varchar) as t, row_number() over (order by md5(range::varchar)) as place
  from range(9000000)) where place % 7 = 0
\`\`\`
# {{ sorted | first: "n" }}
`

/** Builds one value of about 6 GB. */
const HUGE = `---
title: One value
limits: { timeout: 10m }
---
\`\`\`sql huge
select len(list(range)) as n from range(800000000)
\`\`\`
# {{ huge | first: "n" }}
`

interface Ended {
  status: string
  code: string | null
  detail: string
}

async function judgeIn(box: Box, service: Service, log: (line: string) => void): Promise<string[]> {
  const broken: string[] = []
  const client = createClient({ url: service.url, token: TOKEN })
  const metrics = async (): Promise<string> =>
    (await fetch(`${service.url}/metrics`, { headers: { authorization: `Bearer ${TOKEN}` } })).text()
  const workers = Number(/^assay_workers (\d+)$/m.exec(await metrics())?.[1])
  log(`the node runs ${workers} analysis at a time`)
  if (workers !== 1) broken.push(`The node runs ${workers} analyses at a time in 1 GB.`)
  await client.templates.put('sorts', SORTS)
  await client.templates.put('huge', HUGE)
  const run = async (template_id: string): Promise<Ended> => {
    const begun = performance.now()
    const id = await client.jobs.create({ template_id })
    await client.jobs.run(id)
    const view = await client.jobs.wait(id)
    const ended = {
      status: view.job_status,
      code: view.error?.code ?? null,
      detail: view.error?.detail ?? '',
    }
    const seconds = ((performance.now() - begun) / 1000).toFixed(1)
    log(
      `${template_id}: ${ended.status}${ended.code ? `, ${ended.code}: ${ended.detail}` : ''}, in ${seconds} s`,
    )
    return ended
  }
  // Two at once: the second waits for the first, because both do not fit.
  const sorted = await Promise.all([run('sorts'), run('sorts')])
  for (const { status, detail } of sorted)
    if (status !== 'completed') broken.push(`A template at its default limits ended ${status}: ${detail}`)
  const huge = await run('huge')
  if (huge.code !== 'memory_exceeded' || !/may use 1 GB of memory/.test(huge.detail))
    broken.push(`What cannot fit ended with ${huge.code}: ${huge.detail}`)
  // The node serves on.
  const after = await run('sorts')
  if (after.status !== 'completed')
    broken.push(`After that a template ended ${after.status}: ${after.detail}`)
  if (!isAlive(service.server)) broken.push('The service was ended.')
  log(
    `the box has held ${Math.round(box.peak() / 1e6)} MB at most, and the kernel has ended ${box.kills()} processes in it`,
  )
  return broken
}

/** npm run proof -- box */
export const proof: Proof = {
  summary: 'a service in 1 GB of memory that the kernel enforces (as root on Linux)',
  async run({ log }) {
    const box = makeBox(1e9)
    if (box === null)
      throw new Error(
        'this needs a memory cgroup that this user may make (as root, with /sys/fs/cgroup writable)',
      )
    const { folder, remove } = temporaryFolder()
    log(`a cgroup of version ${box.version} bounds the service at 1 GB`)
    const service = await startService({
      home: path.join(folder, 'home'),
      wrapped: false,
      within: box.members,
      // The node itself counts its analyses at a time.
      env: { ASSAY_TOKEN: TOKEN, ASSAY_WORKERS: '', ASSAY_SPILL: path.join(folder, 'spill') },
    })
    try {
      return await judgeIn(box, service, log)
    } finally {
      service.signal('SIGTERM')
      await service.exited
      await eventually(() => read(box.members) === '', 'the box is empty')
      box.remove()
      remove()
    }
  },
}
