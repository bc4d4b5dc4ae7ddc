/** All variables of a template as fields, each with what the service found wrong with its value. */
import type { VariableView } from '@assay/model/template'
import type { Values } from '../values.ts'
import { VariableField } from './variable-field.tsx'

/** A fault of an item of a list ("arms.0") stands at the list. */
export function byVariable(faults: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(faults).map(([path, message]) => [path.split('.')[0]!, message]))
}

/** The first field with a fault gets the focus once the refusal is shown. */
export function focusFault(form: HTMLFormElement | null): void {
  setTimeout(() => form?.querySelector<HTMLElement>('[aria-invalid=true]')?.focus())
}

interface VariableFieldsProps {
  template: { template_id: string; variables: readonly VariableView[] }
  values: Values
  /** By variable. */
  faults: Record<string, string>
  onChange(name: string, value: string): void
}

export function VariableFields({ template, values, faults, onChange }: VariableFieldsProps) {
  return template.variables.map((variable) => (
    <VariableField
      key={variable.name}
      template_id={template.template_id}
      variable={variable}
      value={values[variable.name] ?? ''}
      fault={faults[variable.name]}
      onChange={(value) => onChange(variable.name, value)}
    />
  ))
}
