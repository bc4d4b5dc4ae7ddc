/** Compares the words of two texts, whatever the spaces between them. Charts in them may stand in several forms. */
import { CHART_PLACEHOLDER } from '@assay/model/insight'
import { lineCounter } from './printed.ts'

export type Range = readonly [start: number, end: number]

export interface WordChange {
  /** The line in the Markdown of the insight, from 1. */
  line: number
  was: string
  is: string
}

/** The number of words that are shown before and after the first difference. */
const [SHOWN_BEFORE, SHOWN_AFTER] = [4, 8]

type Piece = readonly [markdown: string, ranges: readonly Range[]]

/**
 * Returns the first difference, or null. If only words of charts differ, it returns the ids of the charts. `filled`
 * returns a piece with its charts, in each form that they may have.
 */
export function wordChange(
  before: Piece,
  now: Piece,
  filled: (piece: string) => string[],
): WordChange | { charts: string[] } | null {
  const was = placedWords(before)
  const is = textOf(now)
  const printed = was.map(({ word }) => word).join(' ')
  const charts = [...is.matchAll(CHART_PLACEHOLDER)].map(([, id]) => id!)
  const forms = charts.length === 0 ? [is] : filled(is)
  if (forms.some((form) => wordsOf(form).join(' ') === printed)) return null
  if (charts.length > 0 && isAround(printed, is)) return { charts }
  const [line, first] = firstChange(before[0], was, wordsOf(is))
  const shown = (words: string[]): string =>
    words.slice(Math.max(0, first - SHOWN_BEFORE), first + SHOWN_AFTER).join(' ')
  return { line, was: shown(was.map(({ word }) => word)), is: shown(wordsOf(is)) }
}

/** Tells whether the words between charts are all there, in order, the first at the start and the last at the end. */
function isAround(printed: string, text: string): boolean {
  const parts = text
    .replace(CHART_PLACEHOLDER, '\u2063')
    .split('\u2063')
    .map((part) => wordsOf(part).join(' '))
  let at = 0
  return (
    printed.startsWith(parts[0]!) &&
    printed.endsWith(parts.at(-1)!) &&
    parts.every((part) => {
      const found = printed.indexOf(part, at)
      at = found + part.length
      return found >= 0
    })
  )
}

/** Returns the line in the text and the index of the word of the first difference. */
function firstChange(markdown: string, was: readonly PlacedWord[], is: readonly string[]): [number, number] {
  const first = was.findIndex(({ word }, index) => word !== is[index])
  const index = first < 0 ? was.length : first
  const placed = was[index] ?? was.at(-1)
  return [lineCounter(markdown)(placed?.at ?? 0), index]
}

interface PlacedWord {
  word: string
  at: number
}

const placedWords = ([markdown, ranges]: Piece): PlacedWord[] =>
  ranges.flatMap(([start, end]) =>
    [...markdown.slice(start, end).matchAll(/\S+/g)].map(({ 0: word, index }) => ({
      word,
      at: start + index,
    })),
  )

const textOf = ([markdown, ranges]: Piece): string =>
  ranges.map(([start, end]) => markdown.slice(start, end)).join(' ')

const wordsOf = (text: string): string[] => text.match(/\S+/g) ?? []
