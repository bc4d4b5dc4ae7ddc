/** Chooses and shows the readers for whom a schedule runs a personal template. */

import type { ScheduleView } from '@assay/model/schedule'
import type { TemplateView } from '@assay/model/template'
import { useMay } from '../../api.ts'
import { faultBelow, shown } from '../../drafts/readers.ts'
import type { ScheduleDraft } from '../../drafts/schedule-draft.ts'
import { LinesField, SelectField } from '../field.tsx'

interface Props {
  template: TemplateView
  draft: ScheduleDraft
  faults: Record<string, string>
  onChange(changed: Partial<ScheduleDraft>): void
}

const CHOICES = [
  { value: 'nobody', label: 'Nobody in particular: for yourself, if your user is a reader' },
  { value: 'all', label: 'All readers' },
  { value: 'chosen', label: 'Chosen readers' },
  { value: 'where', label: 'Readers with an attribute' },
] as const

/** Shows the choice if the template is personal, or readers are chosen. Only admins can choose. */
export function ScheduleReaders({ template, draft, faults, onChange }: Props) {
  const admin = useMay('admin')
  if (!template.personal && draft.readers_for === 'nobody') return null
  if (!admin)
    return (
      <p className="small">
        Each reader of this template sees rows of their own. Only an admin chooses readers: without them the
        schedule runs for you.
      </p>
    )
  const fault = faultBelow(faults, 'readers')
  const needs = template.reader_attributes
  return (
    <>
      <SelectField
        label="For"
        hint={`Each reader gets an own job at each due time, and its insight by mail. ${
          needs.length === 0 ? '' : `She needs the attribute ${needs.join(', ')}.`
        }`}
        fault={draft.readers_for === 'chosen' || draft.readers_for === 'where' ? undefined : fault}
        value={draft.readers_for}
        options={CHOICES}
        onChange={({ target }) => onChange({ readers_for: target.value as ScheduleDraft['readers_for'] })}
      />
      {draft.readers_for === 'chosen' && (
        <LinesField
          label="Readers"
          hint="Their ids, one a line."
          placeholder="ada"
          fault={fault}
          value={draft.readers_ids}
          required
          onChange={({ target }) => onChange({ readers_ids: target.value })}
        />
      )}
      {draft.readers_for === 'where' && (
        <LinesField
          label="Attributes"
          hint='One a line, as in region: north; each must fit. Of a list such as region: ["north", "west"] one must.'
          placeholder="region: north"
          fault={fault}
          value={draft.readers_where}
          required
          onChange={({ target }) => onChange({ readers_where: target.value })}
        />
      )}
    </>
  )
}

const ids = (all: readonly string[]): string =>
  all.length === 1
    ? all[0]!
    : `${all.slice(0, 5).join(', ')}${all.length > 5 ? `, … (${all.length} in all)` : ''}`

function namesOf(readers: NonNullable<ScheduleView['readers']>): string {
  if (readers === 'all') return 'all readers'
  if (Array.isArray(readers)) return ids(readers)
  if ('count' in readers) return readers.count === 1 ? 'one reader' : `${readers.count} readers`
  const wanted = Object.entries(readers.where).map(
    ([name, value]) => `${name} ${Array.isArray(value) ? value.map(String).join(' or ') : shown(value)}`,
  )
  return `those with ${wanted.join(', ')}`
}

/** Shows the readers for whom a schedule runs, and how many jobs of its due time are made. */
export function ReadersOf({ schedule: { readers, firing } }: { schedule: ScheduleView }) {
  if (readers === null) return null
  return (
    <>
      <dt>For</dt>
      <dd>
        {namesOf(readers)}
        {firing !== null && ` (${firing.made.toLocaleString('en')} jobs of this due time are made so far)`}
      </dd>
    </>
  )
}
