/** The tool about methods: the question that each answers, its options, and the fields of its outcome. */
import { Type } from '@assay/model/schema'
import { type AgentTool, refuse, tool } from './tool.ts'

/** An example of how the parts of a template are written. */
const EXAMPLE = `---
title: Orders by week
sources:
  orders: { file: uploads/orders.csv, dates: dmy, decimal: "," }
columns:
  value: { label: Revenue, unit: EUR, fmt: num0, good: up }
---

\`\`\`sql weekly
select date_trunc('week', paid_at) as time, sum(amount) as value
from orders group by all order by all
\`\`\`

\`\`\`analysis direction
method: trend
of: weekly
time: time
value: value
\`\`\`

# Orders by week

**{{ direction.summary }}**

{% chart weekly, type: "line", x: "time", y: "value", title: "Revenue by week" %}

{% table weekly, limit: 10 %}
`

const methods = tool({
  name: 'assay_methods',
  title: 'List methods',
  description:
    'What an analysis block of a template can ask of a table: each method with its question; of one method its options and the fields of its outcome.',
  scope: 'viewer',
  effect: 'reads',
  input: Type.Object({
    method: Type.Optional(Type.String({ maxLength: 60, description: 'The name of one method' })),
  }),
  data: Type.Object({
    methods: Type.Array(
      Type.Object({
        method: Type.String(),
        question: Type.String(),
        required: Type.Array(Type.String()),
        options: Type.Optional(Type.Unknown({ description: 'The JSON Schema of each option' })),
        fields: Type.Optional(
          Type.String({ description: 'What {{ BLOCK.field }} may print of its outcome' }),
        ),
      }),
    ),
    common: Type.Array(Type.String(), { description: 'The fields that every outcome has' }),
    template: Type.Optional(Type.String({ description: 'How the parts of a template are written' })),
  }),
  async run({ given }) {
    const { methodList } = await import('@assay/engine/methods/shared/schema')
    const { common, methods: all } = methodList()
    if (given.method === undefined)
      return {
        next: 'Call assay_methods with one method for its options and fields. Then write a template and call assay_check.',
        data: {
          methods: all.map(({ name, question, required }) => ({ method: name, question, required })),
          common,
          template: EXAMPLE,
        },
      }
    const found = all.find(({ name }) => name === given.method)
    if (!found) throw refuse('method', `must be one of ${all.map(({ name }) => name).join(', ')}`)
    const { name, ...entry } = found
    return {
      next: 'Write an analysis block with these options, and call assay_check with the template.',
      data: { methods: [{ method: name, ...entry }], common },
    }
  },
})

export const METHOD_TOOLS: readonly AgentTool[] = [methods]
