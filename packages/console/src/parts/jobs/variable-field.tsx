/** Shows the field of one variable, by its type: a date picker, a period, a list of choices, a number, or text. */

import type { VariableView } from '@assay/model/template'
import { useQuery } from '@tanstack/react-query'
import { api } from '../../api.ts'
import { inWords, splitList, textOf } from '../../values.ts'
import { patternInWords } from '../../words/pattern.ts'
import { ChecksField, Field, type FieldParts } from '../field.tsx'
import { FileInput } from '../files/file-input.tsx'
import { PeriodInput } from './period-input.tsx'

/** The kinds of values that the field itself does not show. */
const KINDS: Partial<Record<VariableView['type'], string>> = {
  integer: 'whole number',
  number: 'number',
  list: 'a list, divided by commas',
}

/** Returns the accepted values in words. */
function hintOf({ type, min, max, pattern, description }: VariableView): string {
  const range =
    min !== null && max !== null
      ? `from ${textOf(min)} to ${textOf(max)}`
      : min !== null
        ? `at least ${textOf(min)}`
        : max !== null
          ? `at most ${textOf(max)}`
          : ''
  const rules = [KINDS[type], range, pattern === null ? '' : (patternInWords(pattern) ?? `like ${pattern}`)]
    .filter(Boolean)
    .join(', ')
  if (description === null || rules === '') return description ?? rules
  return `${description.replace(/\.$/, '')} (${rules})`
}

const HAVE_CHOICES: readonly VariableView['type'][] = ['column', 'file', 'list']

/** The most files among the choices of a template that is being edited. Only its own sources are known. */
const MOST_FILES = 200

function useChoices(template_id: string | null, { name, type, enum: listed }: VariableView): string[] {
  const asked = listed === null && (template_id === null ? type === 'file' : HAVE_CHOICES.includes(type))
  const { data } = useQuery({
    queryKey: ['choices', template_id, name],
    queryFn: async () => {
      if (template_id !== null) return api().templates.choices(template_id, { variable: name })
      return { choices: (await api().files.list({ limit: MOST_FILES })).items.map(({ file }) => file) }
    },
    enabled: asked,
    staleTime: 60_000,
  })
  return (listed ?? data?.choices ?? []).map(String)
}

interface InputProps {
  parts: FieldParts
  variable: VariableView
  value: string
  choices: string[]
  onChange(value: string): void
}

const INPUT_TYPES: Partial<Record<VariableView['type'], string>> = {
  date: 'date',
  timestamp: 'datetime-local',
}

function VariableInput({ parts, variable, value, choices, onChange }: InputProps) {
  const { type, name, required } = variable
  const listed = type === 'boolean' ? ['true', 'false'] : choices
  if (type === 'period') return <PeriodInput parts={parts} label={name} value={value} onChange={onChange} />
  if (type === 'file' && variable.enum === null) {
    const file = { name, required, value, choices, onChange }
    return <FileInput parts={parts} {...file} />
  }
  if (listed.length > 0)
    return (
      <select className="input" {...parts} value={value} onChange={({ target }) => onChange(target.value)}>
        {(!required || value === '') && <option value="">Not given</option>}
        {[...new Set([...listed, ...(value === '' ? [] : [value])])].map((choice) => (
          <option key={choice} value={choice}>
            {type === 'boolean' ? (choice === 'true' ? 'Yes' : 'No') : choice}
          </option>
        ))}
      </select>
    )
  return (
    <input
      className="input"
      {...parts}
      type={INPUT_TYPES[type] ?? 'text'}
      inputMode={type === 'integer' ? 'numeric' : type === 'number' ? 'decimal' : undefined}
      step={type === 'timestamp' ? 1 : undefined}
      aria-required={required}
      value={value}
      onChange={({ target }) => onChange(target.value)}
    />
  )
}

interface FieldProps {
  /** The id of the template; null for one that is being edited, which has no choices to request. */
  template_id: string | null
  variable: VariableView
  value: string
  fault: string | undefined
  onChange(value: string): void
}

export function VariableField({ template_id, variable, value, fault, onChange }: FieldProps) {
  const choices = useChoices(template_id, variable)
  const label = <span title={variable.name}>{inWords(variable.name)}</span>
  if (variable.type === 'list' && choices.length > 0)
    return (
      <ChecksField
        legend={inWords(variable.name)}
        hint={hintOf(variable)}
        fault={fault}
        options={choices.map((choice) => ({ value: choice, label: choice }))}
        chosen={splitList(value)}
        onChange={(chosen) => onChange(chosen.join(', '))}
      />
    )
  const hint = variable.type === 'list' ? `${hintOf(variable)}, divided by commas` : hintOf(variable)
  return (
    <Field label={label} hint={hint} fault={fault} required={variable.required}>
      {(parts) => (
        <VariableInput
          parts={parts}
          variable={variable}
          value={value}
          choices={choices}
          onChange={onChange}
        />
      )}
    </Field>
  )
}
