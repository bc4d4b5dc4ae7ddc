/**
 * Shows the form of a connection, built from the table of kinds. Secrets are write-only: they are held while they are
 * entered, never in the tab's storage. A stored secret stays unless another is entered or it is removed.
 */
import type { ConnectionView } from '@assay/model/connection'
import { CONNECTION_LIMITS, KINDS, type OptionField } from '@assay/model/connection-kinds'
import { type ConnectionDraft, LIMITS, optionWords, textOf } from '../../connections.ts'
import { CheckField, LinesField, SelectField, TextField } from '../field.tsx'

/** The entered secrets by name; null removes one. */
export type SecretsDraft = Record<string, string | null>

interface FieldsProps {
  draft: ConnectionDraft
  change(draft: ConnectionDraft): void
  secrets: SecretsDraft
  setSecrets(secrets: SecretsDraft): void
  faults: Record<string, string>
  /** The connection to change. */
  present?: ConnectionView
}

interface OptionProps {
  name: string
  field: OptionField
  value: string
  fault: string | undefined
  onChange(value: string): void
}

/** The most characters of an option with a field of one line. Longer ones, such as certificates, have several lines. */
const LONG = 1000

function OptionInput({ name, field, value, fault, onChange }: OptionProps) {
  const { label, hint = field.doc, choices: named = {} } = optionWords(name)
  const { required = false, fallback } = field
  const set = ({ target }: { target: { value: string } }): void => onChange(target.value)
  if (field.enum || field.type === 'boolean') {
    const choices = field.enum?.map((one) => ({ value: one, label: named[one] ?? one })) ?? [
      { value: '', label: 'as usual' },
      { value: 'true', label: 'yes' },
      { value: 'false', label: 'no' },
    ]
    return (
      <SelectField label={label} hint={hint} fault={fault} options={choices} value={value} onChange={set} />
    )
  }
  if ((field.max_length ?? 0) > LONG)
    return <LinesField label={label} hint={hint} fault={fault} value={value} onChange={set} />
  return (
    <TextField
      label={label}
      hint={hint}
      required={required}
      inputMode={field.type === 'port' ? 'numeric' : undefined}
      autoComplete="off"
      spellCheck={false}
      placeholder={textOf(fallback)}
      fault={fault}
      value={value}
      onChange={set}
    />
  )
}

function SecretInput({ name, props }: { name: string; props: FieldsProps }) {
  const { draft, secrets, setSecrets, faults, present } = props
  const { label } = optionWords(name)
  const hidden = present?.secrets[name]
  const removed = secrets[name] === null
  const set = (value: string | null): void => {
    const { [name]: _old, ...rest } = secrets
    setSecrets(value === '' ? rest : { ...rest, [name]: value })
  }
  return (
    <>
      <TextField
        label={label}
        hint={
          <>
            {KINDS[draft.kind].secrets[name]}.{' '}
            {hidden ? `Set: ${hidden}. Enter another to replace it.` : 'Stored encrypted, never shown again.'}
          </>
        }
        type="password"
        autoComplete="off"
        disabled={removed}
        fault={faults[`secrets.${name}`]}
        value={secrets[name] ?? ''}
        onChange={({ target }) => set(target.value)}
      />
      {hidden && (
        <CheckField
          label={`Remove ${label}`}
          checked={removed}
          onChange={({ target }) => set(target.checked ? null : '')}
        />
      )}
    </>
  )
}

/** The fields of the form that may have faults. */
export const CONNECTION_FIELDS = ['name', 'description', 'options', 'secrets', 'limits']

function LimitFields({ draft, change, faults }: FieldsProps) {
  const faulty = Object.keys(faults).some((path) => path.startsWith('limits.'))
  return (
    <details open={faulty || undefined}>
      <summary>Limits that no template can raise</summary>
      {Object.entries(LIMITS).map(([name, doc]) => (
        <TextField
          key={name}
          label={doc}
          inputMode="numeric"
          placeholder={String(CONNECTION_LIMITS[name as keyof typeof LIMITS])}
          fault={faults[`limits.${name}`]}
          value={draft.limits[name] ?? ''}
          onChange={({ target }) =>
            change({ ...draft, limits: { ...draft.limits, [name]: target.value.trim() } })
          }
        />
      ))}
    </details>
  )
}

export function ConnectionFields(props: FieldsProps) {
  const { draft, change, faults } = props
  const { options, secrets } = KINDS[draft.kind]
  return (
    <>
      {Object.entries(options).map(([name, field]) => (
        <OptionInput
          key={name}
          name={name}
          field={field}
          value={draft.options[name] ?? ''}
          fault={faults[`options.${name}`]}
          onChange={(value) => change({ ...draft, options: { ...draft.options, [name]: value } })}
        />
      ))}
      {Object.keys(secrets).map((name) => (
        <SecretInput key={name} name={name} props={props} />
      ))}
      <TextField
        label="Description"
        hint="A note for people."
        fault={faults.description}
        value={draft.description}
        onChange={({ target }) => change({ ...draft, description: target.value })}
      />
      <LimitFields {...props} />
    </>
  )
}
