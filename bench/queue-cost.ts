/**
 * Measures the cost of a job in units that depend little on other load: processor time of both sides, and bytes of the
 * write-ahead log. PostgreSQL runs on this machine.
 */
import { Client } from 'pg'
import { median } from './figure.ts'
import { parentOf, processorMs } from './process-tree.ts'
import { type Meter, perSecond } from './queues.ts'

export interface Cost {
  /** Milliseconds for a job: of this process, and of PostgreSQL. */
  client_ms: number
  server_ms: number
  /** The bytes of the write-ahead log for a job. */
  log_bytes: number
}

/** Returns a meter that adds the cost of each stretch of work to `costs`. */
export function costMeter(url: string, costs: Cost[]): Meter {
  return async (count, work) => {
    const client = new Client({ connectionString: url })
    await client.connect()
    const look = async () => {
      const { rows } = await client.query<{ lsn: number; pid: number }>(
        `SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8 AS lsn, pg_backend_pid() AS pid`,
      )
      const { user, system } = process.cpuUsage()
      return {
        log: rows[0]!.lsn,
        server: processorMs(parentOf(rows[0]!.pid)),
        own: (user + system) / 1000,
      }
    }
    const before = await look()
    const rate = await perSecond(count, work)
    const after = await look()
    costs.push({
      client_ms: (after.own - before.own) / count,
      server_ms: (after.server - before.server) / count,
      log_bytes: (after.log - before.log) / count,
    })
    await client.end()
    return rate
  }
}

/** Describes the medians of ours beside theirs, if theirs are known. */
export function costText(ours: readonly Cost[], theirs: readonly Cost[]): string {
  const beside = (unit: string, of: (cost: Cost) => number, digits: number): string =>
    [ours, theirs]
      .filter((costs) => costs.length > 0)
      .map((costs) => median(costs.map(of)).toFixed(digits))
      .join(' : ') + ` ${unit}`
  const processor = beside('ms', ({ client_ms, server_ms }) => client_ms + server_ms, 2)
  return `A job takes ${processor} of processor time, both sides, and ${beside('kB', ({ log_bytes }) => log_bytes / 1000, 1)} of the log`
}
