/** A text field that filters a list by one word. */
import { TextField } from '../field.tsx'

interface WordFilterProps {
  label: string
  placeholder: string
  value: string | undefined
  onChange(value: string): void
}

/** A filter that applies when the field is left or confirmed, not at every key. */
export function WordFilter({ label, placeholder, value, onChange }: WordFilterProps) {
  return (
    <TextField
      label={label}
      defaultValue={value ?? ''}
      key={value}
      placeholder={placeholder}
      onBlur={({ target }) => {
        if (target.value.trim() !== (value ?? '')) onChange(target.value.trim())
      }}
      onKeyDown={(event) => {
        if (event.key === 'Enter') onChange(event.currentTarget.value.trim())
      }}
    />
  )
}
