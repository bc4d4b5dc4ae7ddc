/**
 * Makes charts answer. The pointer anywhere on a chart, or the arrow keys on it, show the nearest values of all series
 * with their units. It reads what `chart-figure.ts` of the engine writes into a figure. The shared page runs the same
 * text (`packages/engine/pages/answer.generated.ts`), so this file imports nothing.
 */

type Tip = [heading: string, name: string, value: string]

interface Place {
  x: number
  y: number
  tip: Tip
  panel: number
}

/** The values at one place of a chart, which are shown together. */
interface Stop {
  places: Place[]
  x: number
  y: number
  panel: number
}

const SVG = 'http://www.w3.org/2000/svg'

/** Makes every chart below the element answer. The returned function ends it. */
export function answerCharts(root: ParentNode): () => void {
  const ends = [...root.querySelectorAll<HTMLElement>('figure.chart[data-tips]')].map((figure) => {
    const tips = JSON.parse(figure.dataset.tips ?? '[]') as Tip[]
    const tip = document.createElement('div')
    tip.className = 'chart-tip'
    tip.hidden = true
    tip.setAttribute('role', 'status')
    document.body.append(tip)
    const drawings = [...figure.querySelectorAll<HTMLElement>('.drawing')]
    const stops = drawings.map((drawing) =>
      answerDrawing(drawing, tips, figure.dataset.mode ?? 'across', tip),
    )
    return () => {
      for (const stop of stops) stop()
      tip.remove()
    }
  })
  return () => {
    for (const end of ends) end()
  }
}

function numbersOf(text: string | undefined): number[][] {
  return (text ?? '')
    .split(' ')
    .filter((part) => part !== '')
    .map((part) => part.split(',').map(Number))
}

function stopsOf(svg: SVGSVGElement, tips: Tip[], mode: string): Stop[] {
  const stops = new Map<string, Stop>()
  for (const [x = 0, y = 0, at = 0, panel = 0] of numbersOf(svg.dataset.places)) {
    const tip = tips[at]
    if (!tip) continue
    const key = mode === 'across' ? Math.round(x) : mode === 'down' ? Math.round(y) : at
    const stop = stops.get(`${panel} ${key}`) ?? { places: [], x, y, panel }
    stop.places.push({ x, y, tip, panel })
    stops.set(`${panel} ${key}`, stop)
  }
  const along = mode === 'down' ? 'y' : 'x'
  return [...stops.values()].toSorted((a, b) => a.panel - b.panel || a[along] - b[along])
}

function answerDrawing(drawing: HTMLElement, tips: Tip[], mode: string, tip: HTMLElement): () => void {
  const svg = drawing.querySelector<SVGSVGElement>('svg[data-places]')
  const stops = svg ? stopsOf(svg, tips, mode) : []
  if (!svg || stops.length === 0) return () => {}
  const panels = numbersOf(svg.dataset.panels)
  const marks = document.createElementNS(SVG, 'g')
  marks.setAttribute('class', 'chart-marks')
  svg.append(marks)
  drawing.tabIndex = 0
  let shown = -1

  const show = (index: number): void => {
    shown = index
    const stop = stops[index]
    tip.hidden = stop === undefined
    marks.replaceChildren()
    if (!stop) return
    drawMarks(marks, stop, panels[stop.panel], mode)
    tip.replaceChildren(...tipContent(stop))
    placeTip(tip, svg, stop)
  }

  const nearest = ({ clientX, clientY }: PointerEvent): number => {
    const box = svg.getBoundingClientRect()
    const { width, height } = svg.viewBox.baseVal
    const [x, y] = [((clientX - box.left) / box.width) * width, ((clientY - box.top) / box.height) * height]
    const panel = nearestPanel(panels, x, y)
    let [best, least] = [-1, Number.POSITIVE_INFINITY]
    for (const [index, stop] of stops.entries()) {
      if (stop.panel !== panel) continue
      const away =
        mode === 'across'
          ? Math.abs(stop.x - x)
          : mode === 'down'
            ? Math.abs(stop.y - y)
            : Math.hypot(stop.x - x, stop.y - y)
      if (away < least) [best, least] = [index, away]
    }
    return best
  }

  const onMove = (event: PointerEvent): void => {
    const index = nearest(event)
    if (index !== shown) show(index)
  }
  const onKey = (event: KeyboardEvent): void => {
    const next = keyed(event.key, shown, stops.length)
    if (next === null) return
    event.preventDefault()
    show(next)
  }
  const hide = (): void => show(-1)
  drawing.addEventListener('pointermove', onMove)
  drawing.addEventListener('pointerdown', onMove)
  drawing.addEventListener('pointerleave', hide)
  drawing.addEventListener('keydown', onKey)
  drawing.addEventListener('blur', hide)
  return () => {
    drawing.removeEventListener('pointermove', onMove)
    drawing.removeEventListener('pointerdown', onMove)
    drawing.removeEventListener('pointerleave', hide)
    drawing.removeEventListener('keydown', onKey)
    drawing.removeEventListener('blur', hide)
    marks.remove()
  }
}

/** Returns the next stop for a key. -1 shows none; null means that the key is not one of a chart. */
function keyed(key: string, shown: number, count: number): number | null {
  if (key === 'ArrowRight' || key === 'ArrowDown') return Math.min(count - 1, shown + 1)
  if (key === 'ArrowLeft' || key === 'ArrowUp') return shown < 0 ? count - 1 : Math.max(0, shown - 1)
  if (key === 'Home') return 0
  if (key === 'End') return count - 1
  return key === 'Escape' && shown >= 0 ? -1 : null
}

function nearestPanel(panels: number[][], x: number, y: number): number {
  const away = ([left = 0, top = 0, width = 0, height = 0]: number[]): number =>
    Math.hypot(Math.max(left - x, 0, x - left - width), Math.max(top - y, 0, y - top - height))
  let best = 0
  for (const [index, panel] of panels.entries()) if (away(panel) < away(panels[best]!)) best = index
  return best
}

function drawMarks(group: SVGGElement, stop: Stop, panel: number[] | undefined, mode: string): void {
  const [left = 0, top = 0, width = 0, height = 0] = panel ?? []
  const add = (name: string, values: Record<string, number>): void => {
    const mark = document.createElementNS(SVG, name)
    for (const [key, value] of Object.entries(values)) mark.setAttribute(key, String(value))
    group.append(mark)
  }
  if (mode === 'across') add('line', { x1: stop.x, x2: stop.x, y1: top, y2: top + height })
  if (mode === 'down') add('line', { x1: left, x2: left + width, y1: stop.y, y2: stop.y })
  for (const { x, y } of stop.places) add('circle', { cx: x, cy: y, r: 4.5 })
}

function tipContent({ places }: Stop): HTMLElement[] {
  const heading = document.createElement('b')
  heading.textContent = places[0]!.tip[0]
  const rows = places.map(({ tip: [, name, value] }) => {
    const row = document.createElement('div')
    const [label, text] = [document.createElement('span'), document.createElement('b')]
    label.textContent = name
    text.textContent = value
    row.append(label, text)
    return row
  })
  return [heading, ...rows]
}

/** Places the text beside the values and inside the window. */
function placeTip(tip: HTMLElement, svg: SVGSVGElement, stop: Stop): void {
  const box = svg.getBoundingClientRect()
  const { width, height } = svg.viewBox.baseVal
  const [x, y] = [box.left + (stop.x / width) * box.width, box.top + (stop.y / height) * box.height]
  const own = tip.getBoundingClientRect()
  const right = x + 14 + own.width <= document.documentElement.clientWidth - 8
  tip.style.left = `${Math.max(8, right ? x + 14 : x - 14 - own.width)}px`
  tip.style.top = `${Math.max(8, Math.min(y - own.height / 2, innerHeight - own.height - 8))}px`
}
