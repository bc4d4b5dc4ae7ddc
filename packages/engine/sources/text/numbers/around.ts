/**
 * Counts the signs around the numbers of one column, and decides what they mean: one currency, the meaning of %, and
 * where a minus stands. A column whose signs can mean two things is in doubt.
 */
import type { ColumnDialect, ColumnDoubt, FoundColumn, Sureness } from '@assay/model/dialect'
import { shownNumber } from '../readings-in-words.ts'
import { isAmount, type Minus, type WrittenNumber } from './written-number.ts'

export interface FoundAround {
  /** The spellings of the one currency. */
  currencies: string[]
  percent: { is: 'share' | 'number'; sure: Sureness } | null
  minus: { is: Exclude<Minus, 'front'>; sure: Sureness } | null
}

export type Judged =
  | { kind: 'read'; around: FoundAround | null }
  | { kind: 'text'; doubt: ColumnDoubt | null }

export class Around {
  #written = 0
  /** The count of numbers with nothing around them, except zeros. */
  #plain = 0
  #zeros = 0
  #percents = 0
  #pluses = 0
  #amounts = false
  #named = true
  readonly #currencies = new Set<string>()
  readonly #minus: Record<Minus, number> = { front: 0, brackets: 0, behind: 0 }
  readonly #samples = new Map<Minus, WrittenNumber & { text: string }>()

  notePlain(text: string, times: number): void {
    if (/^-?0(?:[.,]0*)?$/.test(text)) this.#zeros += times
    else this.#plain += times
    if (text.startsWith('-')) this.#minus.front += times
  }

  note(text: string, found: WrittenNumber, times: number): void {
    this.#written += times
    if (found.currency !== '') this.#currencies.add(found.currency)
    if (found.percent) this.#percents += times
    if (found.plus) this.#pluses += times
    if (!found.named) this.#named = false
    if (found.minus === null) return
    this.#minus[found.minus] += times
    if (found.minus === 'behind' && isAmount(found.bare)) this.#amounts = true
    if (!this.#samples.has(found.minus)) this.#samples.set(found.minus, { ...found, text })
  }

  /** Tells whether a sign stands around a number. */
  get some(): boolean {
    return this.#written > 0
  }

  judge(declared: ColumnDialect): Judged {
    if (this.#written === 0) return { kind: 'read', around: null }
    const currencies = [...this.#currencies]
    const [one = '', other] = currencies
    const { front, brackets, behind } = this.#minus
    if (other !== undefined)
      return mixed(other, `Its numbers are in several currencies (${one} and ${other}), so they stay text.`)
    if (this.#percents > 0 && one !== '') return { kind: 'text', doubt: null }
    if (this.#percents > 0 && this.#percents < this.#written + this.#plain)
      return mixed(
        '%',
        'Some of its numbers have a % and others have none, so they stay text. Write it behind all of them, or behind none.',
      )
    // Numbers that all have a plus may be telephone numbers, and "RON 95" names a fuel.
    const names = one !== '' && this.#plain === 0 && this.#named
    const signs = this.#pluses > 0 && front + brackets + behind + this.#zeros === 0 && one === ''
    if (names || (signs && this.#percents === 0)) return { kind: 'text', doubt: null }
    if (brackets > 0 && behind > 0)
      return mixed('', 'Its numbers mark what is negative in several ways, so they stay text.')
    const minus = this.#minusOf(declared.minus)
    if (minus !== null && 'kind' in minus) return minus
    const percent =
      this.#percents === 0
        ? null
        : declared.percent === undefined
          ? { is: 'share' as const, sure: 'likely' as const }
          : { is: declared.percent, sure: 'declared' as const }
    return { kind: 'read', around: { currencies, percent, minus } }
  }

  #minusOf(declared: Minus | undefined): FoundAround['minus'] | Extract<Judged, { kind: 'text' }> {
    const is = this.#minus.brackets > 0 ? 'brackets' : this.#minus.behind > 0 ? 'behind' : null
    if (is === null) return null
    if (declared === 'front') return { kind: 'text', doubt: null }
    if (declared === is) return { is, sure: 'declared' }
    const others = this.#written + this.#plain + this.#zeros > this.#minus[is]
    const usual = this.#minus.front === 0 && others && (is === 'brackets' || this.#amounts)
    if (usual && declared === undefined) return { is, sure: 'likely' }
    return { kind: 'text', doubt: this.#twoReadings(is) }
  }

  #twoReadings(is: Exclude<Minus, 'front'>): ColumnDoubt {
    const { text, bare } = this.#samples.get(is)!
    const digits = bare.replaceAll(/[^0-9.,]/g, '')
    const as = /[.,]/.test(digits) ? `-${digits}` : shownNumber(-Number(digits))
    const readings = [
      { as, write: `minus: ${is}` },
      { as: 'a text', write: 'minus: front' },
    ]
    const what = is === 'brackets' ? 'Brackets stand around its numbers' : 'A minus stands behind its numbers'
    return {
      kind: 'two_readings',
      sample: text,
      readings,
      says: `${what}, which may mean that they are negative: ${JSON.stringify(text)} is ${as} (write minus: ${is}), or a text (write minus: front).`,
    }
  }
}

const mixed = (sample: string, says: string): Judged => ({
  kind: 'text',
  doubt: { kind: 'mixed', sample, readings: [], says },
})

/** Returns what a reader of the column must know, in whole sentences. */
export function aroundInWords({ percent, minus }: Pick<FoundColumn, 'percent' | 'minus'>): string[] {
  return [
    ...(percent?.sure === 'likely'
      ? ['Its numbers with a % are read as shares: "12.5 %" is 0.125. Write percent: number for 12.5.']
      : []),
    ...(minus?.sure === 'likely'
      ? [
          minus.is === 'brackets'
            ? 'Its numbers in brackets are read as negative: "(5)" is -5. Write minus: front if they are not.'
            : 'Its numbers with a minus behind are read as negative: "500-" is -500. Write minus: front if they are not.',
        ]
      : []),
  ]
}
