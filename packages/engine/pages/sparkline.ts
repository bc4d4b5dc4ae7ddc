/** Draws the steps before a figure as a line, with a grey band for 8 of 10 earlier steps and a dot on the last one. */
import type { TileCourse } from '@assay/model/reading'

const [WIDTH, HEIGHT, EDGE] = [132, 34, 4]

export function sparkline({ points, low, high }: TileCourse): string {
  const values = points.flatMap(({ value }) => (value === null ? [] : [value]))
  const bounds = [...values, ...(low === null ? [] : [low]), ...(high === null ? [] : [high])]
  const [least, most] = [Math.min(...bounds), Math.max(...bounds)]
  const x = (index: number): string => (EDGE + (index / (points.length - 1)) * (WIDTH - 2 * EDGE)).toFixed(1)
  const y = (value: number): number =>
    HEIGHT - EDGE - (most === least ? 0.5 : (value - least) / (most - least)) * (HEIGHT - 2 * EDGE)
  const band =
    low === null || high === null
      ? ''
      : `<rect class="usual" x="0" width="${WIDTH}" y="${y(high).toFixed(1)}" height="${Math.max(1, y(low) - y(high)).toFixed(1)}"/>`
  let pen = 'M'
  const line = points.map(({ value }, index) => {
    // A step without a value leaves a gap.
    if (value === null) pen = 'M'
    const step = value === null ? '' : `${pen}${x(index)} ${y(value).toFixed(1)}`
    if (value !== null) pen = 'L'
    return step
  })
  const last = points.at(-1)!.value ?? least
  const says = `The last ${points.length} steps${band === '' ? '' : '; grey is where 8 of 10 of the earlier ones lie'}`
  return `<svg class="spark" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${says}"><title>${says}</title>${band}<path d="${line.join('')}"/><circle cx="${x(points.length - 1)}" cy="${y(last).toFixed(1)}" r="3"/></svg>`
}
