/** Finds the entries of the command palette for some words: pages, insights, templates, metrics and jobs. */
import { useQuery } from '@tanstack/react-query'
import type { LinkProps } from '@tanstack/react-router'
import { api, useIsLimited, useMay } from '../../api.ts'
import { FAILURES } from '../../names.ts'
import { useSettled } from '../../settled.ts'
import { usePages } from './sections.ts'

const TYPED_MS = 150
const MOST_FOUND = 6
/** The number of newest jobs that are searched. */
const JOBS = 50
const STALE_MS = 30_000

export interface Entry {
  kind: 'Page' | 'Insight' | 'Template' | 'Metric' | 'Job'
  id: string
  name: string
  /** The text beside the name. */
  more: string
  at: LinkProps
}

/** Tells whether each word stands in the text. */
function speaksOf(text: string, words: string): boolean {
  const lower = text.toLowerCase()
  return words
    .toLowerCase()
    .split(/\s+/)
    .every((word) => lower.includes(word))
}

/** Tells whether each word begins a word of the name: "late" does not name "Templates". */
function namedBy(name: string, words: string): boolean {
  const parts = name.toLowerCase().split(/\s+/)
  return words
    .toLowerCase()
    .split(/\s+/)
    .every((word) => parts.some((part) => part.startsWith(word)))
}

function useTemplates(words: string): Entry[] {
  const list = useQuery({
    queryKey: ['templates'],
    queryFn: () => api().templates.list(),
    staleTime: STALE_MS,
  }).data
  const found = (list ?? []).filter(({ template_id, title, description }) =>
    speaksOf(`${template_id} ${title} ${description ?? ''}`, words),
  )
  return found.slice(0, MOST_FOUND).map(({ template_id, title }) => ({
    kind: 'Template',
    id: template_id,
    name: title,
    more: template_id,
    at: { to: '/templates/$template_id', params: { template_id } },
  }))
}

function useInsights(words: string): Entry[] {
  const list = useQuery({
    queryKey: ['insights', 'palette', words],
    queryFn: () => api().insights.list({ q: words === '' ? undefined : words, limit: MOST_FOUND }),
    staleTime: STALE_MS,
  }).data
  return (list?.items ?? []).map(({ insight_id, title, created_at }) => ({
    kind: 'Insight',
    id: insight_id,
    name: title,
    more: created_at.slice(0, 10),
    at: { to: '/insights/$insight_id', params: { insight_id } },
  }))
}

function useMetrics(words: string): Entry[] {
  const limited = useIsLimited()
  const list = useQuery({
    queryKey: ['metrics', 'palette', words],
    queryFn: () => api().metrics.list({ q: words === '' ? undefined : words, limit: MOST_FOUND }),
    enabled: !limited && words !== '',
    staleTime: STALE_MS,
  }).data
  return (list?.items ?? []).map(({ metric_id, label }) => ({
    kind: 'Metric',
    id: metric_id,
    name: label,
    more: metric_id,
    at: { to: '/metric/$metric_id', params: { metric_id } },
  }))
}

function useJobs(words: string): Entry[] {
  const analyst = useMay('analyst')
  const list = useQuery({
    queryKey: ['jobs', 'palette'],
    queryFn: () => api().jobs.list({ limit: JOBS }),
    enabled: analyst,
    staleTime: STALE_MS,
  }).data
  const found = (list?.items ?? []).filter(({ assignment_id, template_id, title, error }) =>
    speaksOf(`${assignment_id} ${template_id} ${title ?? ''} ${error === null ? '' : 'failed'}`, words),
  )
  return found.slice(0, MOST_FOUND).map(({ assignment_id, template_id, title, job_status, error }) => ({
    kind: 'Job',
    id: assignment_id,
    name: title ?? template_id,
    more: error === null ? job_status : FAILURES[error.code],
    at: { to: '/jobs/$assignment_id', params: { assignment_id } },
  }))
}

/** Returns the entries: pages at once, the rest once typing has paused. */
export function useEntries(typed: string): Entry[] {
  const words = useSettled(typed.trim(), TYPED_MS)
  const pages = usePages()
    .filter(({ name }) => namedBy(name, typed.trim()))
    .slice(0, typed.trim() === '' ? undefined : MOST_FOUND)
    .map(({ to, name }): Entry => ({ kind: 'Page', id: String(to), name, more: '', at: { to } }))
  const insights = useInsights(words)
  const templates = useTemplates(words)
  const metrics = useMetrics(words)
  const jobs = useJobs(words)
  // Results for other words than the present ones are ignored.
  if (words !== typed.trim()) return pages
  if (words === '') return [...insights.slice(0, 3), ...pages]
  return [...pages, ...insights, ...templates, ...metrics, ...jobs]
}
