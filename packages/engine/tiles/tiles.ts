/**
 * Makes the tiles of an insight. They are those that the front matter chooses. Without a choice they are the figures of
 * the analyses, one for each block and the likeliest method first. Without these they are the facts whose names the
 * template describes.
 */
import type { Fact, Outcome, Table } from '@assay/model/insight'
import type { MetricInfo } from '@assay/model/metric'
import { MOST_TILES, type Tile, type TileChange } from '@assay/model/reading'
import type { AnalysisBlock, Template, TileChoice } from '@assay/model/template'
import { makeFault, TemplateFault } from '../language/fault.ts'
import { meaningOf } from '../metrics/meaning.ts'
import { type Measure, measureOf, opening } from '../verdicts/measure.ts'
import { brief } from '../verdicts/words.ts'
import { doubtOf, judged, METHODS_WITH_TILES, plainTile, type Told, textOf } from './of-outcome.ts'
import { tileOfRows } from './of-rows.ts'

export interface Computed {
  template: Template
  blocks: ReadonlyMap<string, Table | Outcome>
  facts: readonly Fact[]
}

export function tilesOf(computed: Computed): Tile[] {
  const { template, facts } = computed
  if (template.tiles !== null)
    return template.tiles.flatMap((choice) => chosen(choice, computed)).slice(0, MOST_TILES)
  const analyses = template.blocks.filter((block) => block.kind === 'analysis')
  for (const method of Object.keys(METHODS_WITH_TILES)) {
    const found = analyses
      .filter((block) => block.method === method)
      .flatMap((block) => tilesOfAnalysis(block, computed))
    if (found.length > 0) return found.slice(0, MOST_TILES)
  }
  return facts.flatMap((fact) => tileOfFact(fact, template)).slice(0, MOST_TILES)
}

function chosen(choice: TileChoice, computed: Computed): Tile[] {
  const { block: name, field } = choice
  const result = computed.blocks.get(name)
  const block = computed.template.blocks.find((one) => one.name === name)
  if (!result || !block) throw unknown(choice)
  if (block.kind === 'analysis') {
    if (field !== null) return [tileOfField(choice, block, result as Outcome, computed)]
    if (!Object.hasOwn(METHODS_WITH_TILES, block.method)) throw unknown(choice)
    return tilesOfAnalysis(block, computed)
  }
  const table = result as Table
  if (field === null || !table.columns.some((column) => column.name.toLowerCase() === field.toLowerCase()))
    throw unknown(choice)
  const tile = tileOfRows(`${name}.${field}`, table, field, measureIn(computed, field))
  return tile ? [asJudged(tile, field, computed)] : []
}

/** Removes "good" and "bad" from the change of a column if no analysis of that column can tell it from chance. */
function asJudged(tile: Tile, field: string, { template, blocks }: Computed): Tile {
  const outcomes = template.blocks
    .filter((block): block is AnalysisBlock => block.kind === 'analysis')
    .filter((block) => valueColumn(block).toLowerCase() === field.toLowerCase())
    .flatMap(({ name }) => (blocks.get(name) as Outcome | undefined) ?? [])
  const sure = outcomes.find(({ grade }) => grade === 'firm' || grade === 'likely') ?? outcomes[0]
  const plain = (change: TileChange): TileChange => ({ ...change, good: null })
  return { ...tile, changes: tile.changes.map((change) => (sure ? judged(change, sure) : plain(change))) }
}

/** Makes the fault of an unknown figure. `assay check` reports it in more detail, and a run then shows that report. */
function unknown({ block, field, line, column }: TileChoice): TemplateFault {
  const of = field === null ? block : `${block}.${field}`
  const message = `tiles: "${of}" has no figure.`
  return new TemplateFault(
    makeFault('bad_value', { line, column }, message, 'Name an analysis or block.field.'),
  )
}

function tileOfField(choice: TileChoice, block: AnalysisBlock, outcome: Outcome, computed: Computed): Tile {
  const field = choice.field!
  const value = outcome[field]
  if (value === undefined || (value !== null && typeof value !== 'number')) throw unknown(choice)
  const { label } = measureIn(computed, valueColumn(block))
  return plainTile({
    of: `${block.name}.${field}`,
    label: opening(`${label}: ${field.replaceAll('_', ' ')}`),
    value,
    text: value === null ? 'unknown' : brief(value),
    doubt: doubtOf(outcome),
  })
}

/** Makes one tile, or one for each group. */
function tilesOfAnalysis(block: AnalysisBlock, computed: Computed): Tile[] {
  const make = METHODS_WITH_TILES[block.method]
  const outcome = computed.blocks.get(block.name) as Outcome | undefined
  if (!make || !outcome) return []
  const groups = outcome.groups as (Outcome & { by?: unknown })[] | undefined
  const whole = 'by' in block.options || 'each' in block.options
  if (!Array.isArray(groups) || !whole)
    return [make(toldOf(block, outcome, block.name, computed))].filter(isTile)
  return groups
    .map((group) => make(toldOf(block, group, `${block.name}.${String(group.by)}`, computed)))
    .filter(isTile)
}

const isTile = (tile: Tile | null): tile is Tile => tile !== null

function toldOf(block: AnalysisBlock, outcome: Outcome, of: string, computed: Computed): Told {
  const by = (outcome as { by?: unknown }).by
  const column = valueColumn(block)
  const measure = typeof by === 'string' ? measureOfGroup(computed, column, by) : measureIn(computed, column)
  const table = computed.blocks.get(block.of) as Table | undefined
  return {
    outcome,
    of,
    measure,
    options: block.options,
    measureOf: (name) => measureIn(computed, name),
    // A source is no block, and rows beyond limits.rows are not kept.
    rows: by === undefined && table && table.total === table.rows.length ? table : null,
  }
}

function valueColumn({ name, options }: AnalysisBlock): string {
  const { value, success, numerator, denominator } = options
  if (value === undefined && numerator !== undefined) return `${textOf(numerator)} per ${textOf(denominator)}`
  return textOf(value ?? success ?? name)
}

function infosOf({ template }: Computed): MetricInfo[] {
  const all = template.blocks.flatMap((block) => (block.kind === 'sql' ? (block.metrics ?? []) : []))
  return [...new Map(all.map(({ info }) => [info.metric, info])).values()]
}

/** Returns the measure of a column. A metric's block is described by its metric, if there is only one. */
function measureIn(computed: Computed, column: string): Measure {
  const { columns } = computed.template
  const infos = infosOf(computed)
  const own = column === 'value' && infos.length === 1 && !columns.has('value')
  return measureOf(own ? new Map([['value', meaningOf(infos[0]!)]]) : columns, column)
}

/**
 * Returns the measure of a group. A group that is one metric has that metric's measure. Any other group is named with
 * the measure.
 */
function measureOfGroup(computed: Computed, column: string, by: string): Measure {
  const info = infosOf(computed).find(({ metric }) => metric === by)
  if (info) return measureOf(new Map([['value', meaningOf(info)]]), 'value')
  const measure = measureIn(computed, column)
  return { ...measure, label: `${measure.label}, ${by}` }
}

function tileOfFact({ name, value, text }: Fact, { columns }: Template): Tile[] {
  if (!columns.has(name.toLowerCase()) || typeof value !== 'number') return []
  const { label } = measureOf(columns, name)
  return [plainTile({ of: name, label: opening(label.replace(/^the /i, '')), value, text })]
}
