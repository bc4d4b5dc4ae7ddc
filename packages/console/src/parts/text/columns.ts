/**
 * Finds the columns of the files that a template names, looked up once for each file, for the completion of its
 * editor.
 */
import { api, queryClient } from '../../api.ts'
import { sourcesOf } from './completion.ts'

async function columnsIn(file: string): Promise<readonly string[]> {
  try {
    return await queryClient.fetchQuery({
      queryKey: ['columns', file],
      queryFn: async () => (await api().drafts.create({ file })).columns.map(({ name }) => name),
      staleTime: Number.POSITIVE_INFINITY,
      retry: false,
    })
  } catch {
    // A file that does not exist yet has no columns to offer.
    return []
  }
}

export async function columnsOf(source: string): Promise<readonly string[]> {
  const files = sourcesOf(source).map(([, file]) => file)
  const known = files.filter((file) => !file.includes('{'))
  return (await Promise.all([...new Set(known)].map(columnsIn))).flat()
}
