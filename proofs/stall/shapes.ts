/** Texts that cost readers the most for their length: repetition, nesting, and parts that are opened and never closed. */

export type Shape = (length: number) => string

function repeated(piece: string): Shape {
  return (length) => piece.repeat(Math.ceil(length / piece.length)).slice(0, length)
}

/** Returns a text that is opened over half of the length and closed over the other half. */
function nested(open: string, close: string): Shape {
  return (length) => {
    const times = Math.floor(length / (open.length + close.length))
    return `${open.repeat(times)}${close.repeat(times)}`
  }
}

/** Returns a long run of one character, then one that makes every match of it fail. */
function failing(piece: string, last: string): Shape {
  return (length) => `${piece.repeat(Math.max(0, Math.floor((length - last.length) / piece.length)))}${last}`
}

export const SHAPES: Record<string, Shape> = {
  letters: repeated('a'),
  spaces: failing(' ', 'x'),
  tabs: failing('\t', 'x'),
  newlines: repeated('\n'),
  lines: repeated('a\n'),
  digits: repeated('9'),
  decimals: repeated('1.'),
  exponents: repeated('1e9,'),
  dashes: failing('-', '!'),
  dots: failing('.', '/'),
  parents: repeated('../'),
  slashes: repeated('/'),
  backslashes: repeated('\\'),
  quotes: repeated('"'),
  apostrophes: repeated("'"),
  backticks: repeated('`'),
  commas: repeated(','),
  semicolons: repeated(';q=0.1,'),
  colons: repeated(': '),
  equals: repeated('a=b&'),
  percents: repeated('%2525'),
  brackets: repeated('['),
  images: repeated('![[]('),
  parentheses: nested('(', ')'),
  braces: nested('{', '}'),
  lists: nested('[', ']'),
  angles: repeated('<a '),
  tags: repeated('<!--'),
  stars: repeated('*_'),
  quoted: repeated('> '),
  bullets: repeated('- '),
  pipes: repeated('|'),
  hashes: repeated('# '),
  autolinks: repeated('http://a.'),
  mails: repeated('a@a.'),
  liquid: repeated('{{'),
  branches: repeated('{% if %}'),
  loops: repeated('{% for a in b %}'),
  dollars: repeated('$$'),
  comments: repeated('/*'),
  line_comments: repeated('--a\n'),
  entities: repeated('&#'),
  escapes: repeated('\\u0041'),
  combining: repeated('e\u0301'),
  joined: repeated('👩‍👩‍👧‍👦'),
  backwards: repeated('\u202e\u2066'),
  separators: repeated('\u2028\u2029'),
  astral: repeated('\u{1f600}'),
  wide: repeated('\ufdfa'),
  anchors: repeated('&a [*a,'),
  catastrophe: failing('a', '!'),
  selects: repeated('select '),
  withs: repeated('with a as ('),
}

export const SHAPE_NAMES = Object.keys(SHAPES)

/** Returns at most `length` characters of the shape as UTF-16 counts them, without half a pair at the end. */
export function shaped(name: string, length: number): string {
  return SHAPES[name]!(length).toWellFormed()
}
