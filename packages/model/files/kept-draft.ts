/**
 * A kept draft: the text of a template or a metric that its author has not published. It may have faults, and it
 * causes no events.
 */
import type { Static } from 'typebox'
import { METRIC_ID } from '../metric.ts'
import { Type } from '../schema.ts'
import { TEMPLATE_ID } from '../template.ts'

export const DRAFT_KINDS = ['template', 'metric'] as const
export type DraftKind = (typeof DRAFT_KINDS)[number]

/** The pattern of the name of each kind of draft, which is that of the published object. */
export const DRAFT_NAMES: Readonly<Record<DraftKind, string>> = { template: TEMPLATE_ID, metric: METRIC_ID }

/** The most kept drafts of a workspace. */
export const DRAFTS_KEPT = 200
/** The most characters of all kept drafts of a workspace together. */
export const DRAFT_CHARACTERS = 5_000_000

export const KeptDraft = Type.Object(
  {
    draft_id: Type.String({ format: 'uuid' }),
    kind: Type.Enum([...DRAFT_KINDS]),
    name: Type.String({ description: 'The id that the template or the metric has once it is published' }),
    user_id: Type.String({ description: 'Its author' }),
    created_at: Type.String({ format: 'date-time' }),
    updated_at: Type.String({ format: 'date-time' }),
  },
  { title: 'KeptDraft' },
)
export type KeptDraft = Static<typeof KeptDraft>

export const KeptDraftWithSource = Type.Object(
  { ...KeptDraft.properties, source: Type.String() },
  { title: 'KeptDraftWithSource' },
)
export type KeptDraftWithSource = Static<typeof KeptDraftWithSource>
