/** The results of some statements. */
export interface GuardReport {
  statements: number
  /** The number of statements that the guard admitted. */
  passed: number
  ran: number
  /** The statements that passed and touch more than their sources. */
  holes: string[]
  /** The statements that ended the process in which they were tried. */
  ended: string[]
}

export const NOTHING: GuardReport = { statements: 0, passed: 0, ran: 0, holes: [], ended: [] }

export const together = (one: GuardReport, two: GuardReport): GuardReport => ({
  statements: one.statements + two.statements,
  passed: one.passed + two.passed,
  ran: one.ran + two.ran,
  holes: [...one.holes, ...two.holes],
  ended: [...one.ended, ...two.ended],
})
