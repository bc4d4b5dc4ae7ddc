/** The statistics of days of metrics, so that a run reads new days only. They belong to a workspace and count in its disk. */
export interface KeptSeriesKey {
  workspace_id: string
  /** SHA-256 of what was asked, of whom, and by which rules. */
  series_key: string
}

export interface KeptDay {
  day: string
  statistics: string
}

export interface KeptDaysOf {
  first_day: string | null
  /** Rows that were marked before it are marked in what is kept. */
  looked_at: string
  /** What an audit found. */
  doubt: string | null
  days: KeptDay[]
}

/** A day that is read again, to compare it. */
export interface DayToAudit extends KeptSeriesKey, KeptDay {
  metric: string
  /** As the engine wrote it. */
  recipe: string
  looked_at: string
  read_at: string
}

export interface KeptDayStore {
  /** Returns null if nothing of the series is kept. */
  findKeptDays(query: KeptSeriesKey & { from: string; until: string }): Promise<KeptDaysOf | null>
  /**
   * Of a day that is kept the later reading stays, and `looked_at` is at most the earliest `read_at`. A run that has
   * looked for rows that were marked since `looked_since` moves it to its `read_at`, unless another has moved it.
   * Returns false if the days would go beyond `most` bytes of the workspace, and nothing was written.
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
  /** Drops the series of these metrics. Answers how many there were. */
  dropKeptDays(input: { workspace_id: string; metrics: string[] }): Promise<number>
  keptBytes(query: { workspace_id: string }): Promise<number>
  /**
   * A random day of a series that was not audited since `before`; it counts as audited from now on. Returns null if
   * there is none.
   */
  claimDayToAudit(input: { before: string }): Promise<DayToAudit | null>
  /**
   * Drops a day that is not as it was kept. The series has a doubt until it is dropped as a whole. Returns false if the
   * day was read again since.
   */
  doubtKeptDay(input: KeptSeriesKey & { day: string; read_at: string; doubt: string }): Promise<boolean>
}
