/** Keeps the days of metrics of one workspace in the store. They share the disk budget of its uploads. */
import { type KeptDays, NOTHING_KEPT, type PartitionKeeper } from '@assay/engine/partitions/keeper'
import type { Store } from '@assay/store/store'
import type { Files } from '../files/files.ts'

export interface KeeperOptions {
  store: Pick<Store, 'findKeptDays' | 'keptOfMetrics' | 'keepDays' | 'getWorkspace'>
  files: Pick<Files, 'list' | 'limits'>
}

/** Only finds, for runs that store nothing. */
export function createFinder(options: KeeperOptions, workspace_id: string): PartitionKeeper {
  const { find } = createKeeper(options, workspace_id)
  return { find, keep: () => Promise.resolve('Nothing is kept by a preview.') }
}

export function createKeeper({ store, files }: KeeperOptions, workspace_id: string): PartitionKeeper {
  return {
    async find({ key, metric, from, until }) {
      const found = await store.findKeptDays({ workspace_id, series_key: key, from, until })
      if (!found) {
        const [others] = await store.keptOfMetrics({ workspace_id, metrics: [metric] })
        return { ...NOTHING_KEPT, others: others?.series ?? 0 }
      }
      const days = Object.fromEntries(found.days.map(({ day, statistics }) => [day, statistics]))
      return { first: found.first_day, looked_at: found.looked_at, doubt: found.doubt, days }
    },
    async keep({ key, metric, recipe, first, read_at, looked_since, days }: KeptDays) {
      const own = await store.getWorkspace(workspace_id)
      const uploads = await files.list(workspace_id)
      const used = uploads.reduce((sum, { bytes }) => sum + bytes, 0)
      const most = (own?.max_files_bytes ?? files.limits.quota) - used
      const isKept = await store.keepDays({
        workspace_id,
        series_key: key,
        metric,
        recipe: JSON.stringify(recipe),
        first_day: first,
        read_at,
        looked_since,
        days: Object.entries(days).map(([day, statistics]) => ({ day, statistics })),
        most,
      })
      return isKept ? null : 'Not all days are kept: the workspace has no room left (max_files_bytes).'
    },
  }
}
