/** Decides the layout of an insight's table, for every page. */

/** The most characters of a cell that stays on one line, such as a date. */
const SHORT_CELL = 16

export const isShortCell = (text: string): boolean => text.length <= SHORT_CELL
