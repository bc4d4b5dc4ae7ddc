/** Shows the fields of all variables of a template, each with its fault. */
import type { VariableView } from '@assay/model/template'
import type { Values } from '../../values.ts'
import { VariableField } from './variable-field.tsx'

/** Returns the faults by variable. A fault of a list's item ("arms.0") is shown at the list. */
export function byVariable(faults: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(faults).map(([path, message]) => [path.split('.')[0]!, message]))
}

interface VariableFieldsProps {
  template: { template_id: string; variables: readonly VariableView[] }
  values: Values
  /** The faults by variable. */
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
