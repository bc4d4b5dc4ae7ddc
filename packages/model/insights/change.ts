/** Decides which change of a value is too small to be called a rise or a fall. */

/** The share of the value below which a change counts as level. */
export const LEVEL_SHARE = 0.005

/** Tells whether a value stayed level. The change is measured by the smaller of both values. */
export const isLevel = (before: number, after: number): boolean =>
  after === before || Math.abs(after - before) < LEVEL_SHARE * Math.min(Math.abs(before), Math.abs(after))
