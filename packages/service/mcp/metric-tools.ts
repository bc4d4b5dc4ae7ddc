/** Tools over metrics: list them, read one, read its values, save one. */
import { ClientError } from '@assay/client'
import { GRAINS, METRIC_ID } from '@assay/model/metric'
import { Type } from '@assay/model/schema'
import { Cells, tableOf } from './cells.ts'
import { type AgentTool, refuse, tool } from './tool.ts'

const LISTED = 100
const MOST_COLUMNS = 30
const Id = Type.String({ pattern: METRIC_ID })

const list = tool({
  name: 'assay_metrics',
  title: 'List metrics',
  description:
    'The numbers that templates such as brief read by name: what each counts, its unit, target, dimensions and tests.',
  scope: 'viewer',
  effect: 'reads',
  input: Type.Object({
    q: Type.Optional(Type.String({ maxLength: 200, description: 'Only those that hold these words' })),
    cursor: Type.Optional(Type.String({ maxLength: 200, description: 'next_cursor of the call before' })),
  }),
  data: Type.Object({
    metrics: Type.Array(
      Type.Object({
        metric_id: Type.String(),
        label: Type.String(),
        description: Type.Union([Type.String(), Type.Null()]),
        unit: Type.Union([Type.String(), Type.Null()]),
        grain: Type.String(),
        target: Type.Unknown(),
        dimensions: Type.Array(Type.String()),
        tests: Type.Array(Type.String()),
      }),
    ),
    next_cursor: Type.Union([Type.String(), Type.Null()]),
  }),
  async run({ client, given }) {
    const { items, next_cursor } = await client.metrics.list({ ...given, limit: LISTED })
    const metrics = items.map(
      ({ metric_id, label, description, unit, grain, target, dimensions, tests }) => ({
        metric_id,
        label,
        description,
        unit,
        grain,
        target,
        dimensions,
        tests,
      }),
    )
    return {
      next:
        metrics.length === 0
          ? 'There is no such metric: assay_draft writes some for a table.'
          : 'Call assay_metric_values with a metric_id for its series, or assay_metric for its definition. To review several, call assay_run with the template brief and their ids as metrics.',
      data: { metrics, next_cursor },
    }
  },
})

const read = tool({
  name: 'assay_metric',
  title: 'Read a metric',
  description: 'The definition of a metric as YAML.',
  scope: 'viewer',
  effect: 'reads',
  input: Type.Object({ metric_id: Id }),
  data: Type.Object({
    metric_id: Type.String(),
    version: Type.String(),
    origin: Type.String({ description: 'workspace: it may be replaced; others are read-only' }),
    source: Type.String(),
  }),
  async run({ client, given: { metric_id } }) {
    const { version, origin, source } = await client.metrics.get(metric_id)
    return {
      next: 'Call assay_metric_values with the metric_id for its series.',
      data: { metric_id, version, origin, source },
    }
  },
})

const values = tool({
  name: 'assay_metric_values',
  title: 'Read the values of a metric',
  description: 'The latest values of a metric over time, whole or by dimensions, and the state of its tests.',
  scope: 'analyst',
  effect: 'reads',
  outside: true,
  input: Type.Object({
    metric_id: Id,
    by: Type.Optional(
      Type.Array(Type.String({ minLength: 1, maxLength: 200 }), { maxItems: 5, description: 'Dimensions' }),
    ),
    grain: Type.Optional(Type.Enum([...GRAINS], { description: "Coarser than the metric's own" })),
    period: Type.Optional(
      Type.String({
        pattern: '^\\d{4}-\\d\\d-\\d\\d\\.\\.\\d{4}-\\d\\d-\\d\\d$',
        description: '2026-01-01..2026-03-31: both days belong',
      }),
    ),
    where: Type.Optional(
      Type.String({ minLength: 1, maxLength: 1000, description: "A condition on rows: country = 'DE'" }),
    ),
    rows: Type.Optional(Type.Integer({ minimum: 1, maximum: 200, default: 60 })),
  }),
  data: Type.Object({
    metric_id: Type.String(),
    tests: Type.Array(Type.Object({ test: Type.String(), ok: Type.Boolean(), found: Type.String() }), {
      description: 'What must hold of its rows',
    }),
    ...Cells.properties,
  }),
  async run({ client, given: { metric_id, rows = 60, ...options } }) {
    const fence = Object.entries({ metric: metric_id, ...options })
      .map(([key, value]) => `${key}: ${JSON.stringify(value)}\n`)
      .join('')
    const source = `---\nlineage: none\n---\n\n\`\`\`metric series\n${fence}\`\`\`\n\n\`\`\`sql latest\nselect * from series order by "time" desc\n\`\`\`\n\n# Values\n`
    const { tables, lineage } = await client.templates.preview({ source })
    const [metric] = (lineage as { metrics?: { tests: { test: string; ok: boolean; found: string }[] }[] })
      .metrics ?? [{ tests: [] }]
    const failed = metric!.tests.some(({ ok }) => !ok)
    return {
      next: failed
        ? 'A test of the metric fails: say so wherever you quote its values. Call assay_metric to see its definition.'
        : 'Quote the values as they stand, the latest first. To judge changes, call assay_run with the template brief and the metric_id in metrics.',
      data: { metric_id, tests: metric!.tests, ...tableOf(tables.latest, { rows, columns: MOST_COLUMNS }) },
    }
  },
})

const save = tool({
  name: 'assay_save_metric',
  title: 'Save a metric',
  description: 'Puts the definition of a metric into the workspace. Faults are named with line and column.',
  scope: 'publisher',
  effect: 'replaces',
  input: Type.Object({
    metric_id: Id,
    source: Type.String({ minLength: 1, maxLength: 100_000, description: 'YAML, as assay_metric shows it' }),
    replace: Type.Optional(
      Type.Boolean({ default: false, description: 'Whether a metric of this id may be replaced' }),
    ),
  }),
  data: Type.Object({ metric_id: Type.String(), version: Type.String() }),
  async run({ client, given: { metric_id, source, replace = false } }) {
    const found = replace
      ? null
      : await client.metrics.get(metric_id).catch((error: unknown) => {
          if (error instanceof ClientError && error.status === 404) return null
          throw error
        })
    if (found !== null)
      throw refuse('metric_id', 'is there already: choose another id, or send replace: true')
    const { version } = await client.metrics.put(metric_id, source)
    return { next: 'It is saved: call assay_metric_values with its metric_id.', data: { metric_id, version } }
  },
})

export const METRIC_TOOLS: readonly AgentTool[] = [list, read, values, save]
