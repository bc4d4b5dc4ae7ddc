/** Menus by Radix, with arrow keys, letters, Escape and screen reader roles. */
import { DropdownMenu } from 'radix-ui'
import type { ReactNode } from 'react'

export function Menu({
  label,
  children,
  quiet = false,
}: {
  label: string
  children: ReactNode
  quiet?: boolean
}) {
  return (
    <DropdownMenu.Root modal={false}>
      <DropdownMenu.Trigger className={quiet ? 'button quiet' : 'button'}>
        {label} <span aria-hidden="true">▾</span>
      </DropdownMenu.Trigger>
      <DropdownMenu.Portal>
        <DropdownMenu.Content className="menu" align="end" sideOffset={6} collisionPadding={8}>
          {children}
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  )
}

/** An item of a menu. `more`: a second line. */
export function MenuItem(props: { onSelect(): void; more?: string; children: ReactNode }) {
  const { onSelect, more, children } = props
  return (
    <DropdownMenu.Item className={more === undefined ? 'menu-item' : 'menu-item tall'} onSelect={onSelect}>
      {children}
      {more !== undefined && <span className="menu-more">{more}</span>}
    </DropdownMenu.Item>
  )
}

export function MenuNote({ children }: { children: ReactNode }) {
  return <DropdownMenu.Label className="menu-note">{children}</DropdownMenu.Label>
}

export function MenuChoice<Value extends string>(props: {
  label: string
  value: Value
  options: { value: Value; label: string }[]
  onChoose(value: Value): void
}) {
  return (
    <DropdownMenu.RadioGroup
      value={props.value}
      onValueChange={(value) => props.onChoose(value as Value)}
      aria-label={props.label}
      className="menu-group"
    >
      <DropdownMenu.Label className="menu-note">{props.label}</DropdownMenu.Label>
      {props.options.map(({ value, label }) => (
        <DropdownMenu.RadioItem className="menu-item" key={value} value={value}>
          <DropdownMenu.ItemIndicator className="menu-mark">✓</DropdownMenu.ItemIndicator>
          {label}
        </DropdownMenu.RadioItem>
      ))}
    </DropdownMenu.RadioGroup>
  )
}
