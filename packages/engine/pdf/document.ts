/** Makes the content of an insight's printed document as data, in order. Only insight.typ decides how it looks. */
import { dayNumber } from '@assay/model/dates'
import type { Chart, PageInsight } from '@assay/model/insight'
import type { Proof, Reading, Tile } from '@assay/model/reading'
import { guardSvg } from '../charts/drawing/svg-guard.ts'
import { chartNumbers } from '../charts/forms/numbers.ts'
import { textChart } from '../charts/forms/text.ts'
import { chartName } from '../charts/labels.ts'
import { COLORS } from '../charts/marks/colors.generated.ts'
import { WIDE } from '../charts/marks/look.ts'
import { MOST_BLOCKERS } from '../pages/around.ts'
import type { Drawing } from '../pages/chart-figure.ts'
import { cutLongPages } from '../pages/page-cuts.ts'
import { createParser, type Parser, type Token } from '../pages/parser.ts'
import { placesIn, proofsIn } from '../pages/place-around.ts'
import { sparkline } from '../pages/sparkline.ts'
import { escapeMarkdown } from '../printing/escape.ts'
import { LINEAGE_HEADING } from '../printing/lineage-section.ts'
import { opening } from '../verdicts/measure.ts'
import { dayInWords } from '../verdicts/times.ts'
import { CERTAINTY } from '../verdicts/words.ts'
import { type Block, blocksOf, type Mark } from './blocks.ts'
import { breakable, lineOf } from './runs.ts'

/** A chart as a drawing, or as text if it could not be drawn. */
interface Figure {
  svg: string | null
  /** The width in percent of the text's width. All charts have letters of one size. */
  width: number
  text: string
  alt: string
  caption: string
}

interface TileData {
  label: string
  text: string
  doubtful: boolean
  /** A drawing, and the text for it; null for none. */
  spark: { svg: string; alt: string } | null
  lines: { kind: string; text: string }[]
}

interface Evidence {
  word: string
  kind: string
  says: string
  evidence: string
  notes: string[]
  how: string
}

/** The colours on paper. */
const LIGHT = Object.fromEntries(Object.entries(COLORS).map(([name, [light]]) => [name, light])) as Record<
  keyof typeof COLORS,
  string
>

export interface PrintedDocument {
  title: string
  colors: Record<string, string>
  /** A day in words, and as year, month and day. */
  made: string
  day: [year: number, month: number, day: number]
  by: string
  /** True if the text has no heading of its own. */
  untitled: boolean
  /** The blocks up to the headline. */
  start: Block[]
  blockers: string[]
  lead: Block[]
  grade: Omit<Mark, 'to'> | null
  tiles: TileData[]
  body: Block[]
  evidence: Evidence[]
  computed: Block[]
  lineage_heading: string
  charts: Record<string, Figure>
  /** True if the document has letters that no font here has. */
  lacks: boolean
}

/** Letters of scripts that neither Inter nor DejaVu Sans has, and emoji. */
const LACKING =
  /[^\p{scx=Latin}\p{scx=Greek}\p{scx=Cyrillic}\p{scx=Armenian}\p{scx=Georgian}\p{scx=Hebrew}\p{scx=Arabic}\p{sc=Common}\p{sc=Inherited}]|\p{Emoji_Presentation}/u
/** The longest document: about 60 pages. */
const LONGEST = { rows: 300, characters: 200_000 }

let parser: Parser | undefined

/** Returns the document. `drawings`: one for each chart of the insight; a chart without one is set as text. */
export function printedDocument(insight: PageInsight, drawings: readonly Drawing[]): PrintedDocument {
  if (!parser) cutLongPages((parser = createParser()), LONGEST)
  const { reading } = insight
  const all: Token[] = parser.parse(insight.markdown, {})
  const [tokens, computed] = withoutComputed(all)
  const proofs = evidenceIn(tokens, reading)
  const { above, below, lead } = placesIn(tokens)
  lead?.attrSet('class', 'lead')
  const marksOf = (inline: Token): Mark[] => proofs.marks.get(inline) ?? []
  const part = (from: number, to?: number): Block[] => blocksOf(tokens.slice(from, to), marksOf)
  const day = insight.created_at.slice(0, 10)
  return {
    title: line(insight.title),
    colors: LIGHT,
    made: dayInWords(dayNumber(day)),
    day: day.split('-').map(Number) as [number, number, number],
    by: line(`${insight.template_id}, version ${insight.template_version.slice(0, 12)}`),
    untitled: !tokens.some(({ type, tag }) => type === 'heading_open' && tag === 'h1'),
    start: part(0, above),
    blockers: blockersIn(reading),
    lead: part(above, below),
    grade: lead && reading?.grade && proofs.list.length === 0 ? gradeOf(reading.grade) : null,
    tiles: (reading?.tiles ?? []).map(tileData),
    body: part(below),
    evidence: proofs.list.map(evidenceOf),
    computed: blocksOf(computed),
    lineage_heading: LINEAGE_HEADING,
    charts: Object.fromEntries(
      insight.charts.map((chart, index) => [chart.id, figureOf(chart, drawings[index])]),
    ),
    lacks: LACKING.test(insight.title + insight.markdown),
  }
}

function blockersIn(reading: Reading | null): string[] {
  const all = reading?.blockers ?? []
  const more = all.length - MOST_BLOCKERS
  return [...all.slice(0, MOST_BLOCKERS).map(line), ...(more > 0 ? [`${more} more below.`] : [])]
}

const line = (text: string): string => breakable(lineOf(text))

const gradeOf = (grade: keyof typeof CERTAINTY) => ({ word: opening(CERTAINTY[grade]), kind: grade })

/** Returns the text, and the part below the last heading "How this was computed". */
function withoutComputed(tokens: Token[]): [text: Token[], computed: Token[]] {
  const start = tokens.findLastIndex(
    ({ type, tag }, index) =>
      type === 'heading_open' && tag === 'h2' && tokens[index + 1]!.content === LINEAGE_HEADING,
  )
  return start < 0 ? [tokens, []] : [tokens.slice(0, start), tokens.slice(start + 3)]
}

/** Returns the sentences of the text that have evidence, in the order of the text. */
function evidenceIn(tokens: readonly Token[], reading: Reading | null) {
  const list: Proof[] = []
  const marks = new Map<Token, Mark[]>()
  const left = new Map((reading?.proofs ?? []).map((proof) => [escapeMarkdown(proof.says), proof]))
  for (const [index, token] of tokens.entries()) {
    for (const proof of proofsIn(token, tokens[index - 1], left)) {
      list.push(proof)
      const mark = { ...gradeOf(proof.grade), to: list.length }
      marks.set(token, [...(marks.get(token) ?? []), mark])
    }
  }
  return { list, marks }
}

function evidenceOf({ says, grade, evidence, notes, method, of, n }: Proof): Evidence {
  return {
    ...gradeOf(grade),
    says: line(says),
    evidence: line(evidence),
    notes: notes.map(line),
    how: line(`Method ${method}, computed from ${of}, n = ${n.toLocaleString('en')}.`),
  }
}

const ARROWS = { up: '↑', down: '↓', level: '→' } as const

function tileData({ label, text, when, changes, target, note, doubt, course }: Tile): TileData {
  const given = (kind: string, words: string | null) =>
    words === null ? [] : [{ kind, text: line(opening(words)) }]
  return {
    label: line(label),
    text: line(text),
    doubtful: doubt !== null,
    spark: course && drawnCourse(sparkline(course)),
    lines: [
      ...given('note', when),
      ...changes.flatMap((change) =>
        given(
          change.good === null ? 'change' : change.good ? 'good' : 'bad',
          `${ARROWS[change.direction]} ${opening(change.text)}`,
        ),
      ),
      ...given('note', target),
      ...given('note', note),
      ...given('doubt', doubt === null ? null : `Doubtful: ${doubt}`),
    ],
  }
}

/** Returns the drawing with the colours that a page gives it by its style sheet. */
function drawnCourse(svg: string): { svg: string; alt: string } {
  const drawn = svg
    .replace('<svg ', '<svg xmlns="http://www.w3.org/2000/svg" ')
    .replace('class="usual"', `fill="${LIGHT.line}"`)
    .replace(
      '<path ',
      `<path fill="none" stroke="${LIGHT.quiet}" stroke-width="1.5" stroke-linejoin="round" `,
    )
    .replace('<circle ', `<circle fill="${LIGHT['chart-1']}" `)
  return { svg: drawn, alt: /<title>([^<]*)/.exec(svg)?.[1] ?? '' }
}

function figureOf(chart: Chart, drawing: Drawing | undefined): Figure {
  const drawn = drawing !== undefined && drawing.wide !== ''
  return {
    width: drawn ? widthOf(drawing.wide) : 100,
    svg: drawn ? printable(guardSvg(drawing.wide, chart.id, { recolor: false })) : null,
    text: drawn ? '' : textChart(chart).split('\n').slice(1, -1).map(lineOf).join('\n'),
    alt: line(chartName(chart)),
    caption: drawn ? line(chartNumbers(chart)) : '',
  }
}

function widthOf(svg: string): number {
  const width = Number(/viewBox="0 0 ([\d.]+)/.exec(svg)?.[1] ?? WIDE)
  return Math.round(Math.min(100, Math.max(20, (100 * width) / WIDE)))
}

/** Returns the drawing with the letters of the document, and without places of values, which only a page uses. */
function printable(svg: string): string {
  return svg
    .replace(/ data-(?:places|panels)="[\d., -]*"/g, '')
    .replace(/font-family="[^"]*"/g, 'font-family="Inter"')
}
