/** Converts metadata of jobs and schedules between the rows of a form and the service. Pure. */
export interface MetadataRow {
  name: string
  value: string
}

export function metadataRows(metadata: Readonly<Record<string, string>> = {}): MetadataRow[] {
  return Object.entries(metadata).map(([name, value]) => ({ name, value }))
}

/** Returns the metadata. Empty rows are left out, and the last of two rows with one name counts. */
export function metadataOf(rows: readonly MetadataRow[]): Record<string, string> {
  return Object.fromEntries(
    rows
      .map(({ name, value }) => [name.trim(), value] as const)
      .filter(([name, value]) => name !== '' || value !== ''),
  )
}

/** Returns the fault of a row that is found before the row is sent. */
export function metadataFault(rows: readonly MetadataRow[], index: number): string | undefined {
  const { name, value } = rows[index]!
  if (name.trim() === '') return value === '' ? undefined : 'has no name'
  const again = rows.findLastIndex((row) => row.name.trim() === name.trim())
  return again > index ? `stands again in row ${again + 1}, whose value is used` : undefined
}
