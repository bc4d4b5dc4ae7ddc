/** How wide text is without a canvas to measure it on. */
const THIN = /[iljtfrI.,:;'|!()[\]\s-]/
const BROAD = /[mwMW@%]/

/** The width of a text in pixels: the mean widths of letters in common fonts without serifs, and a little more. */
export function textWidthOf(text: string, size: number): number {
  let width = 0
  for (const letter of text) {
    if (THIN.test(letter)) width += 0.34
    else if (BROAD.test(letter)) width += 0.9
    else if (/[\u2e80-\uffff\u{10000}-\u{1ffff}]/u.test(letter)) width += 1
    else width += /\p{Lu}/u.test(letter) ? 0.7 : 0.58
  }
  return Math.ceil(width * size)
}
