/** Filters of text, by Liquid's rules. They count characters, not UTF-16 units. */
import { ValueError } from '../../values/value.ts'
import { count, type Filter, textOf } from './filter.ts'

/** Makes a filter of the value's text and the texts of its arguments. */
const ofText =
  (change: (text: string, first: string, second: string) => unknown): Filter =>
  (value, [first, second]) =>
    change(textOf(value), textOf(first), textOf(second))

function joining(name: string, join: (text: string, other: string) => string): Filter {
  return (value, [other]) => {
    if (other === undefined) throw new ValueError(`${name} needs a text.`, `Write ${name}: "...".`)
    return join(textOf(value), textOf(other))
  }
}

/** Removes the characters at the ends of the text, by default white space. */
function stripped(text: string, characters: string, side: 'left' | 'right' | 'both'): string {
  const isRemoved = (letter: string): boolean =>
    characters === '' ? letter.trim() === '' : characters.includes(letter)
  const letters = Array.from(text)
  const kept = (letter: string): boolean => !isRemoved(letter)
  const begin = side === 'right' ? 0 : letters.findIndex(kept)
  const end = side === 'left' ? letters.length : letters.findLastIndex(kept) + 1
  return begin < 0 ? '' : letters.slice(begin, end).join('')
}

const replace: Filter = (value, [from, to], { budget }) => {
  const [text, wanted, given] = [textOf(value), textOf(from), textOf(to)]
  const parts = text.split(wanted)
  budget.spend(parts.length * given.length)
  return parts.join(given)
}

function replacedLast(text: string, wanted: string, given: string): string {
  const at = text.lastIndexOf(wanted)
  return at < 0 ? text : text.slice(0, at) + given + text.slice(at + wanted.length)
}

const truncate: Filter = (value, [length, ellipsis]) => {
  const letters = Array.from(textOf(value))
  const most = count(length, 'truncate', 50)
  const end = ellipsis === undefined ? '...' : textOf(ellipsis)
  if (letters.length <= most) return value
  return letters.slice(0, Math.max(0, most - Array.from(end).length)).join('') + end
}

const truncateWords: Filter = (value, [length, ellipsis]) => {
  const words = textOf(value).trimStart().split(/\s+/)
  const most = Math.max(1, count(length, 'truncatewords', 15))
  const end = ellipsis === undefined ? '...' : textOf(ellipsis)
  return words.slice(0, most).join(' ') + (words.length >= most ? end : '')
}

/** Splits a text as Ruby does: empty texts at the end are left out. */
function split(text: string, mark: string): string[] {
  const parts = text.split(mark)
  while (parts.at(-1) === '') parts.pop()
  return parts
}

export const TEXT_FILTERS: Record<string, Filter> = {
  append: joining('append', (text, other) => text + other),
  prepend: joining('prepend', (text, other) => other + text),
  upcase: ofText((text) => text.toUpperCase()),
  downcase: ofText((text) => text.toLowerCase()),
  capitalize: ofText((text) => text.charAt(0).toUpperCase() + text.slice(1).toLowerCase()),
  strip: ofText((text, characters) => stripped(text, characters, 'both')),
  lstrip: ofText((text, characters) => stripped(text, characters, 'left')),
  rstrip: ofText((text, characters) => stripped(text, characters, 'right')),
  split: ofText(split),
  replace,
  replace_first: ofText((text, wanted, given) => text.replace(wanted, () => given)),
  replace_last: ofText(replacedLast),
  remove: ofText((text, wanted) => text.split(wanted).join('')),
  remove_first: ofText((text, wanted) => text.replace(wanted, '')),
  remove_last: ofText((text, wanted) => replacedLast(text, wanted, '')),
  truncate,
  truncatewords: truncateWords,
  url_encode: ofText((text) => encodeURIComponent(text.toWellFormed()).replace(/%20/g, '+')),
}
