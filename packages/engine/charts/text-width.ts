/**
 * Measures the width of text without a canvas. The widths are those of DejaVu Sans, in which pictures are drawn. The
 * fonts of browsers are narrower, so that a text that fits by these widths fits anywhere.
 */

/** The letters by their width, in hundredths of the size. */
const WIDTHS: Record<string, number> = {
  "'ijlIJ": 0.29,
  ' ,./:;\\|’': 0.34,
  'f-': 0.36,
  '()[]tr!': 0.41,
  '"*_`szLc?–': 0.56,
  Fkvxy: 0.59,
  'PTYaoeESbdghnpqu$0123456789{}': 0.64,
  KAVBRXZC: 0.7,
  'UHNDG&OQ': 0.79,
  'w#+<=>^~': 0.84,
  M: 0.86,
  'm%W@…—': 1,
}
const WIDTH_OF = new Map(
  Object.entries(WIDTHS).flatMap(([all, width]) => Array.from(all).map((one) => [one, width])),
)

function widthOfLetter(letter: string): number {
  const known = WIDTH_OF.get(letter) ?? WIDTH_OF.get(letter.normalize('NFD')[0]!)
  if (known !== undefined) return known
  if (/[\u2e80-\uffff\u{10000}-\u{1ffff}]/u.test(letter)) return 1
  return /\p{Lu}/u.test(letter) ? 0.8 : 0.68
}

/** Returns the width of a text in pixels. */
export function textWidthOf(text: string, size: number): number {
  let width = 0
  for (const letter of text) width += widthOfLetter(letter)
  return Math.ceil(width * size)
}

/**
 * Returns the text in lines of at most this width, broken between words if possible. The text beyond the last line is
 * cut.
 */
export function linesOf(text: string, width: number, size: number, most: number): string[] {
  const lines = ['']
  for (const word of text.split(' ')) {
    const longer = lines.at(-1) === '' ? word : `${lines.at(-1)} ${word}`
    if (textWidthOf(longer, size) <= width) lines[lines.length - 1] = longer
    else if (lines.at(-1) === '') lines[0] = word
    else lines.push(word)
  }
  const broken = lines.flatMap((line) => piecesOf(line, width, size))
  if (broken.length <= most) return broken
  return [...broken.slice(0, most - 1), cut(broken.slice(most - 1).join(' '), width, size)]
}

/** Returns a word that is wider than a line, in pieces with hyphens. */
function piecesOf(line: string, width: number, size: number): string[] {
  if (textWidthOf(line, size) <= width) return [line]
  const pieces = ['']
  for (const letter of line) {
    if (textWidthOf(`${pieces.at(-1)}${letter}-`, size) > width && pieces.at(-1) !== '') {
      pieces[pieces.length - 1] += '-'
      pieces.push('')
    }
    pieces[pieces.length - 1] += letter
  }
  return pieces
}

function cut(text: string, width: number, size: number): string {
  const letters = Array.from(text)
  while (letters.length > 0 && textWidthOf(`${letters.join('')}…`, size) > width) letters.pop()
  return `${letters.join('').trimEnd()}…`
}
