/** Finds where the values of a drawing lie, from Vega's scene, for pages that answer the pointer and the keyboard. */

export interface SceneItem {
  marktype?: string
  name?: string
  items?: SceneItem[]
  datum?: { at?: number }
  defined?: boolean
  x?: number
  y?: number
  x2?: number
  width?: number
  height?: number
  startAngle?: number
  endAngle?: number
  innerRadius?: number
  outerRadius?: number
}

/** The kinds of marks in order. If several marks show a value, the first kind counts. */
const RANK = ['symbol', 'line', 'rect', 'arc', 'area']

interface Found {
  x: number
  y: number
  panel: number
  rank: number
}

/**
 * Returns the places in the drawing's pixels. `places`: "x,y,index,panel" of each value. `panels`:
 * "left,top,width,height" of each area.
 */
export function placesOf(
  root: SceneItem,
  origin: readonly [number, number],
): { places: string; panels: string } {
  const found = new Map<number, Found>()
  const panels: string[] = []
  const visitMark = (mark: SceneItem, left: number, top: number, panel: number): void => {
    const rank = RANK.indexOf(mark.marktype ?? '')
    for (const item of mark.items ?? []) {
      if (mark.marktype === 'group') {
        visitGroup(item, left + (item.x ?? 0), top + (item.y ?? 0), mark.name?.endsWith('cell') ? -1 : panel)
        continue
      }
      const at = item.datum?.at
      if (rank < 0 || at === undefined || item.defined === false) continue
      const before = found.get(at)
      if (before && before.rank <= rank) continue
      const [x, y] = middleOf(item, mark.marktype!)
      if (Number.isFinite(x) && Number.isFinite(y)) found.set(at, { x: left + x, y: top + y, panel, rank })
    }
  }
  // A group with the panel -1 is a panel of its own.
  const visitGroup = (group: SceneItem, left: number, top: number, panel: number): void => {
    const own = panel < 0 ? panels.push(rounded(left, top, group.width ?? 0, group.height ?? 0)) - 1 : panel
    for (const mark of group.items ?? []) visitMark(mark, left, top, own)
  }
  const whole = root.items?.[0]
  if (!whole) return { places: '', panels: '' }
  const faceted = (whole.items ?? []).some((mark) => mark.name?.endsWith('cell'))
  visitGroup(whole, origin[0], origin[1], faceted ? 0 : -1)
  const places = [...found].toSorted(([a], [b]) => a - b)
  return {
    places: places.map(([at, { x, y, panel }]) => `${rounded(x, y)},${at},${panel}`).join(' '),
    panels: panels.join(' '),
  }
}

const rounded = (...numbers: number[]): string =>
  numbers.map((value) => Math.round(value * 10) / 10).join(',')

function middleOf(item: SceneItem, type: string): [number, number] {
  const { x = 0, y = 0, width = 0, height = 0 } = item
  if (type === 'rect') return [x + width / 2, y + height / 2]
  if (type !== 'arc') return [x, y]
  const angle = ((item.startAngle ?? 0) + (item.endAngle ?? 0)) / 2
  const radius = ((item.innerRadius ?? 0) + (item.outerRadius ?? 0)) / 2
  return [x + Math.sin(angle) * radius, y - Math.cos(angle) * radius]
}
