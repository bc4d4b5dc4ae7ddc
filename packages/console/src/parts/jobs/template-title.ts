/** What a template is called, for headings and sentences; its id until that is known. */
import { useQuery } from '@tanstack/react-query'
import { api } from '../../api.ts'

const STALE_MS = 30_000

export function useTemplateTitle(template_id: string | undefined): string | undefined {
  const templates = useQuery({
    queryKey: ['templates'],
    queryFn: () => api().templates.list(),
    enabled: template_id !== undefined,
    staleTime: STALE_MS,
  }).data
  return templates?.find((one) => one.template_id === template_id)?.title ?? template_id
}
