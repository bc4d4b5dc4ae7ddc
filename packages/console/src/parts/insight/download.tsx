/** Downloads an insight in one of the service's formats. */
import { useMutation } from '@tanstack/react-query'
import { api } from '../../api.ts'
import { save } from '../../drafts/save.ts'
import type { Insight } from '../../insights.ts'
import { Fault } from '../fault.tsx'
import { Menu, MenuItem } from '../menu.tsx'

const XLSX = 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet'

const FORMS = {
  pdf: { label: 'PDF', type: 'application/pdf', read: (id: string) => api().jobs.pdf(id) },
  xlsx: { label: 'XLSX, all tables', type: XLSX, read: (id: string) => api().jobs.xlsx(id) },
  md: {
    label: 'Markdown',
    type: 'text/markdown;charset=utf-8',
    read: (id: string) => api().jobs.markdown(id),
  },
  html: {
    label: 'HTML, one file',
    type: 'text/html;charset=utf-8',
    read: (id: string) => api().jobs.html(id),
  },
  json: {
    label: 'JSON with all numbers',
    type: 'application/json;charset=utf-8',
    read: async (id: string) => JSON.stringify(await api().jobs.json(id), null, 2),
  },
} as const
type Form = keyof typeof FORMS

export function Download({ insight }: { insight: Insight }) {
  const { insight_id, template_id, created_at } = insight
  const load = useMutation({
    mutationFn: async (form: Form) => {
      const content = await FORMS[form].read(insight_id)
      save(
        new Blob([content], { type: FORMS[form].type }),
        `${template_id}-${created_at.slice(0, 10)}.${form}`,
      )
    },
  })
  return (
    <>
      <Menu label="Download">
        {(Object.keys(FORMS) as Form[]).map((form) => (
          <MenuItem key={form} onSelect={() => load.mutate(form)}>
            {FORMS[form].label}
          </MenuItem>
        ))}
      </Menu>
      {load.isError && <Fault error={load.error} />}
    </>
  )
}
