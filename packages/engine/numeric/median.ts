/** The middle value; sorts in place. NaN of none. */
export function median(values: Float64Array): number {
  values.sort()
  const half = values.length >> 1
  if (values.length === 0) return Number.NaN
  return values.length % 2 === 1 ? values[half]! : (values[half - 1]! + values[half]!) / 2
}
