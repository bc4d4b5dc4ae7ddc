/** Templates: read, put, checked and previewed. */
import type { InsightView, ReadChartForm } from '@assay/model/insight'
import type { Fault, TemplateView, VariableView } from '@assay/model/template'
import { type Json, type Send, segment } from './http.ts'

export function templateCalls(send: Send, json: Json) {
  const markdown = (body: string) => ({ text: { body, type: 'text/markdown' } })
  return {
    list: (query: { q?: string; tag?: string } = {}) =>
      json<TemplateView[]>('GET', '/jobs/templates', { query }),
    get: (template_id: string) =>
      json<TemplateView & { source: string }>('GET', `/jobs/templates/${segment(template_id)}`),
    put: (template_id: string, source: string) =>
      json<TemplateView>('PUT', `/jobs/templates/${segment(template_id)}`, markdown(source)),
    delete: async (template_id: string): Promise<void> => {
      await send('DELETE', `/jobs/templates/${segment(template_id)}`)
    },
    check: (source: string) =>
      json<{ faults: Fault[]; variables: VariableView[] }>('POST', '/jobs/templates/check', {
        ...markdown(source),
        repeatable: true,
      }),
    preview: (source: string, template_vars: Record<string, unknown> = {}, charts?: ReadChartForm) =>
      json<InsightView>('POST', '/jobs/templates/preview', {
        json: { source, template_vars },
        query: { charts },
      }),
    choices: (template_id: string, variable: string) =>
      json<{ choices: unknown[] }>('GET', `/jobs/templates/${segment(template_id)}/choices`, {
        query: { variable },
      }),
  }
}
