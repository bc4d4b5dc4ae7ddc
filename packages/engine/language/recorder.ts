/**
 * Records the origin of each number that prose prints, as marks beside the text
 * (packages/model/insights/provenance.ts).
 */
import type { Mark } from '@assay/model/provenance'
import { Markdown } from '../values/value.ts'
import { type From, merged, printedFrom, Trail } from './origins.ts'

/** The printed text of a tag, with its marks. */
export interface Printed {
  text: string
  marks: Mark[]
}

/** The most marks of one text. Captured text counts each time it is printed. */
export const MOST_MARKS = 1000
const DIGIT = /\d/

export class Recorder {
  readonly trail = new Trail()
  #marks: Mark[] = []
  #left = MOST_MARKS
  readonly #captured = new WeakMap<Markdown, readonly Mark[]>()

  /** Records a value that was printed at `start` as `text`. */
  value(start: number, text: string, value: unknown, from: From | null): void {
    const inner = value instanceof Markdown ? this.#captured.get(value) : undefined
    if (inner) return this.add(start, inner)
    if (from === null && this.trail.on) return
    if (DIGIT.test(text)) this.#put({ start, end: start + text.length, from: [] }, from)
  }

  /** Adds the marks of a text that was printed at `start`. */
  add(start: number, marks: readonly Mark[]): void {
    for (const mark of marks) this.#put({ ...mark, start: start + mark.start, end: start + mark.end }, null)
  }

  #put(mark: Mark, from: From | null): void {
    if (this.#left > 0) {
      this.#left -= 1
      this.#marks.push(from ? { ...mark, ...printedFrom(from) } : mark)
      return
    }
    this.trail.on = false
    const last = this.#marks.at(-1)
    if (last?.by === 'unrecorded') this.#marks[this.#marks.length - 1] = { ...last, end: mark.end }
    else this.#marks.push({ start: mark.start, end: mark.end, from: [], by: 'unrecorded' })
  }

  /** Runs a function that prints into a separate text, and returns the marks in that text. */
  apart(run: () => void): Mark[] {
    const around = this.#marks
    this.#marks = []
    run()
    const inner = this.#marks
    this.#marks = around
    return inner
  }

  /** Returns the origins of captured text: those of the values that were printed in it. */
  capture(text: Markdown, marks: readonly Mark[]): From | null {
    this.#captured.set(text, marks)
    return merged(
      marks.flatMap(({ from }) =>
        from.map((origin): From => ({ exact: false, sources: [origin], more: 0, through: [] })),
      ),
    )
  }

  /** Returns the marks of the text. After the first value that is not recorded no further one is. */
  finish(end: number): Mark[] {
    const marks = this.#marks
    this.#marks = []
    const first = marks.findIndex(({ by }) => by === 'unrecorded')
    return first < 0 ? marks : [...marks.slice(0, first), { ...marks[first]!, end }]
  }
}
