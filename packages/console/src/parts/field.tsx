/** A field of a form with its label, hint and fault, connected for screen readers. */
import { type ComponentProps, type ReactNode, useEffect, useId, useRef } from 'react'

export interface FieldParts {
  id: string
  'aria-describedby': string | undefined
  'aria-invalid': boolean | undefined
}

interface FieldProps {
  label: ReactNode
  hint?: ReactNode
  fault?: string | undefined
  required?: boolean
  children(parts: FieldParts): ReactNode
}

export function Field({ label, hint, fault, required = false, children }: FieldProps) {
  const id = useId()
  const described = [hint ? `${id}h` : '', fault ? `${id}f` : ''].filter(Boolean).join(' ')
  return (
    <div className="field">
      <label htmlFor={id}>
        {label} {required && <span className="required">required</span>}
      </label>
      {hint && (
        <div className="hint" id={`${id}h`}>
          {hint}
        </div>
      )}
      {children({ id, 'aria-describedby': described || undefined, 'aria-invalid': fault ? true : undefined })}
      {fault && (
        <div className="field-fault" id={`${id}f`} role="alert">
          {fault}
        </div>
      )}
    </div>
  )
}

/**
 * Returns the `ref` of a form. After a refusal the first field with a fault gets the focus and is scrolled into view.
 */
export function useFaultFocus(error: unknown) {
  const form = useRef<HTMLFormElement>(null)
  useEffect(() => {
    if (error) form.current?.querySelector<HTMLElement>('[aria-invalid=true]')?.focus()
  }, [error])
  return form
}

type TextProps = Omit<FieldProps, 'children'> & Omit<ComponentProps<'input'>, 'children' | 'required'>

export function TextField({ label, hint, fault, required, ...input }: TextProps) {
  return (
    <Field label={label} hint={hint} fault={fault} required={required}>
      {(parts) => <input className="input" {...input} {...parts} aria-required={required} />}
    </Field>
  )
}

type LinesProps = Omit<FieldProps, 'children'> & Omit<ComponentProps<'textarea'>, 'children' | 'required'>

/** A field of several lines of plain text. */
export function LinesField({ label, hint, fault, required, ...text }: LinesProps) {
  return (
    <Field label={label} hint={hint} fault={fault} required={required}>
      {(parts) => (
        <textarea
          className="input"
          rows={3}
          spellCheck={false}
          {...text}
          {...parts}
          aria-required={required}
        />
      )}
    </Field>
  )
}

export interface Option<Value extends string = string> {
  value: Value
  label: string
}

type SelectProps = Omit<FieldProps, 'children'> &
  Omit<ComponentProps<'select'>, 'children' | 'required'> & { options: readonly Option[] }

export function SelectField({ label, hint, fault, required, options, ...select }: SelectProps) {
  return (
    <Field label={label} hint={hint} fault={fault} required={required}>
      {(parts) => (
        <select className="input" {...select} {...parts}>
          {options.map(({ value, label }) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
        </select>
      )}
    </Field>
  )
}

export function CheckField({
  label,
  hint,
  ...input
}: { label: ReactNode; hint?: ReactNode } & ComponentProps<'input'>) {
  const id = useId()
  return (
    <div className="field check">
      <input type="checkbox" id={id} {...input} aria-describedby={hint ? `${id}h` : undefined} />
      <label htmlFor={id}>{label}</label>
      {hint && (
        <div className="hint" id={`${id}h`}>
          {hint}
        </div>
      )}
    </div>
  )
}

/** A choice of several items, as check boxes under one legend. */
export function ChecksField<Value extends string>(props: {
  legend: string
  hint?: ReactNode
  fault?: string | undefined
  options: readonly Option<Value>[]
  chosen: readonly Value[]
  onChange(chosen: Value[]): void
}) {
  const { legend, hint, fault, options, chosen, onChange } = props
  return (
    <fieldset className="field">
      <legend>{legend}</legend>
      {hint && <div className="hint">{hint}</div>}
      <div className="boxes">
        {options.map(({ value, label }) => (
          <label key={value} className="box">
            <input
              type="checkbox"
              checked={chosen.includes(value)}
              onChange={({ target }) =>
                onChange(target.checked ? [...chosen, value] : chosen.filter((other) => other !== value))
              }
            />
            {label}
          </label>
        ))}
      </div>
      {fault && (
        <div className="field-fault" role="alert">
          {fault}
        </div>
      )}
    </fieldset>
  )
}
