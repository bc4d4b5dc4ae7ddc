/** Enters a period: relative to the end of the data or to today, as two dates, or as text. */
import { useState } from 'react'
import type { FieldParts } from '../field.tsx'

const RELATIVE = [
  ['last_7_days', 'Last 7 days'],
  ['last_30_days', 'Last 30 days'],
  ['last_90_days', 'Last 90 days'],
  ['last_week', 'Last week'],
  ['last_month', 'Last month'],
  ['last_3_months', 'Last 3 months'],
  ['last_12_months', 'Last 12 months'],
  ['last_quarter', 'Last quarter'],
  ['last_year', 'Last year'],
  ['this_month', 'This month'],
  ['this_quarter', 'This quarter'],
  ['this_year', 'This year'],
  ['month_to_date', 'Month to date'],
  ['year_to_date', 'Year to date'],
  ['yesterday', 'Yesterday'],
] as const
const DAYS = /^(\d{4}-\d\d-\d\d)?\.\.(\d{4}-\d\d-\d\d)?$/

type Mode = 'none' | 'days' | 'text' | (typeof RELATIVE)[number][0]

function modeOf(value: string): Mode {
  if (value === '') return 'none'
  if (DAYS.test(value)) return 'days'
  return RELATIVE.find(([name]) => name === value)?.[0] ?? 'text'
}

interface PeriodProps {
  parts: FieldParts
  label: string
  value: string
  onChange(value: string): void
}

export function PeriodInput({ parts, label, value, onChange }: PeriodProps) {
  const [mode, setMode] = useState<Mode>(() => modeOf(value))
  const [, first = '', last = ''] = DAYS.exec(value) ?? []
  const choose = (next: Mode): void => {
    setMode(next)
    if (next === 'none') onChange('')
    else if (next === 'days') onChange(DAYS.test(value) ? value : '..')
    else if (next !== 'text') onChange(next)
  }
  return (
    <div className="period">
      <select
        className="input"
        {...parts}
        value={mode}
        onChange={({ target }) => choose(target.value as Mode)}
      >
        <option value="none">Not given</option>
        <option value="days">From one day to another</option>
        {RELATIVE.map(([name, words]) => (
          <option key={name} value={name}>
            {words}
          </option>
        ))}
        <option value="text">Another, as text</option>
      </select>
      {mode === 'days' && (
        <div className="days">
          <input
            className="input"
            type="date"
            aria-label={`${label}: first day`}
            value={first}
            onChange={({ target }) => onChange(`${target.value}..${last}`)}
          />
          <span>to</span>
          <input
            className="input"
            type="date"
            aria-label={`${label}: last day`}
            value={last}
            onChange={({ target }) => onChange(`${first}..${target.value}`)}
          />
        </div>
      )}
      {mode === 'text' && (
        <input
          className="input"
          aria-label={`${label}: as text`}
          placeholder="2024-Q1, 2024-03, last_6_weeks"
          value={value}
          onChange={({ target }) => onChange(target.value)}
        />
      )}
    </div>
  )
}
