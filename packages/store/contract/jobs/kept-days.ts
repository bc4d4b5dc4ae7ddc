/** The statistics of days of metrics, so that a run reads new days only. They belong to a workspace and count in its disk. */
export interface KeptSeriesKey {
  workspace_id: string
  /** The SHA-256 of the question, of the database that was asked, and of the rules of the answer. */
  series_key: string
}

export interface KeptDay {
  day: string
  statistics: string
}

export interface KeptDaysOf {
  first_day: string | null
  /** Rows that were marked before this time are marked in the kept days. */
  looked_at: string
  /** The finding of an audit; null if there is none. */
  doubt: string | null
  days: KeptDay[]
}

/** What is kept of all series of a metric. */
export interface KeptOfMetric {
  metric: string
  series: number
  days: number
  bytes: number
  /** What an audit found of one of them. */
  doubt: string | null
}

/** A day that is read again, to compare it. */
export interface DayToAudit extends KeptSeriesKey, KeptDay {
  metric: string
  /** The recipe as the engine wrote it, by which the day is read again. */
  recipe: string
  looked_at: string
  read_at: string
}

export interface KeptDayStore {
  /** Returns null if nothing of the series is kept. */
  findKeptDays(query: KeptSeriesKey & { from: string; until: string }): Promise<KeptDaysOf | null>
  /**
   * Keeps days. Of a day that is already kept the later reading stays. `looked_at` is at most the earliest `read_at`.
   * A run that has looked for rows that were marked since `looked_since` moves it to its `read_at`, unless another
   * run has moved it. Returns false, and writes nothing, if the days would exceed `most` bytes of the workspace.
   */
  keepDays(
    input: KeptSeriesKey & {
      metric: string
      recipe: string
      first_day: string | null
      read_at: string
      looked_since: string | null
      days: KeptDay[]
      most: number
    },
  ): Promise<boolean>
  /** Drops the series of these metrics. Returns their number. */
  dropKeptDays(input: { workspace_id: string; metrics: string[] }): Promise<number>
  keptBytes(query: { workspace_id: string }): Promise<number>
  /** Of those metrics of which something is kept, by name. */
  keptOfMetrics(query: { workspace_id: string; metrics: string[] }): Promise<KeptOfMetric[]>
  /**
   * Returns a random day of a series that was not audited since `before`. The series counts as audited from now on.
   * Null if there is none.
   */
  claimDayToAudit(input: { before: string }): Promise<DayToAudit | null>
  /**
   * Drops a day that differs from what the database gives now. The series has a doubt until it is dropped as a whole.
   * Returns false if the day was read again since.
   */
  doubtKeptDay(input: KeptSeriesKey & { day: string; read_at: string; doubt: string }): Promise<boolean>
}
