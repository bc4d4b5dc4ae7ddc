/**
 * The closed table of what can be wrong with a claim. A blocker forbids the claim; a caveat stands beside it. A code is
 * given if its fact holds, even if the method corrected for it. docs/verdicts.md is made from this table.
 */
export interface CodeRule {
  kind: 'blocker' | 'caveat'
  /** The rule by which the code is given. */
  rule: string
  /** The number that decides; "none" where the fact alone decides. */
  threshold: string
  /** Why a reader must know. */
  reason: string
}

export const CODES = {
  split_uneven: {
    kind: 'blocker',
    rule: 'The sizes of the groups of a test differ from the planned shares (chi-square).',
    threshold: 'p below 0.001',
    reason:
      'A test whose split is broken compares different people, not different versions. Any difference may come from the split.',
  },
  unit_repeated: {
    kind: 'blocker',
    rule: 'One unit stands in several groups, or several rows belong to one unit. Where each unit stands in one group, the test counts it once, and this is a caveat.',
    threshold:
      'one unit; for a column that nobody named as the unit: its name is that of an id or a person, and of its repeated values 90 % stand in one group',
    reason: 'Rows of one person are alike. Counted as independent they make noise look like a finding.',
  },
  too_few: {
    kind: 'blocker',
    rule: 'There are fewer values, periods or rows than the method needs.',
    threshold: "the method's least number, named in the sentence",
    reason: 'A number from too few values would pretend to know.',
  },
  step_unknown: {
    kind: 'blocker',
    rule: 'A step of a funnel never occurs in the data.',
    threshold: 'no row',
    reason: 'A misspelt step would read as a loss of everybody.',
  },
  constant: {
    kind: 'blocker',
    rule: 'All values are the same where the question needs values that differ.',
    threshold: 'one distinct value',
    reason: 'What never varies has no trend, season, spread or difference to judge by.',
  },
  not_forecastable: {
    kind: 'blocker',
    rule: 'On its own past the forecast is worse than repeating the last value or the last season.',
    threshold: 'error above 1.02 of the naive forecast, from 6 origins and 24 values on',
    reason: 'A plan by the last value is better than one by this forecast.',
  },
  data_stale: {
    kind: 'blocker',
    rule: 'The newest row is older than the test `fresh` of the metric allows.',
    threshold: 'the age that the metric names',
    reason: 'An answer about now from old data is an answer about then.',
  },
  test_failed: {
    kind: 'blocker',
    rule: 'A test that the metric declares does not hold.',
    threshold: 'one row',
    reason: 'The owner of the metric says that such data must not be read.',
  },
  kept_days_differ: {
    kind: 'caveat',
    rule: 'An audit found a day of the metric whose rows are no longer those that were kept.',
    threshold: 'one day that differs by one bit',
    reason: 'Days that were kept are not read again, so others may have changed unseen.',
  },
  one_row_decides: {
    kind: 'caveat',
    rule: 'Without the most influential unit the grade or the direction changes, or the estimate changes by more than half.',
    threshold: 'one unit that moves the estimate by half of its standard error, or changes the grade',
    reason: 'The result is about that unit, not about the whole.',
  },
  period_partial: {
    kind: 'caveat',
    rule: 'The last (or first) period has not ended, or the data end inside it.',
    threshold:
      'one day of the period without data due; of a day an end earlier than the days before have, by the clock of the rows behind it',
    reason: 'A part of a period beside whole ones reads as a fall.',
  },
  periods_unequal: {
    kind: 'caveat',
    rule: 'The periods that are compared have different numbers of days, or a season of months is that of their lengths.',
    threshold: 'one day',
    reason: 'A longer month sums to more without any change.',
  },
  days_missing: {
    kind: 'caveat',
    rule: 'Inside the range some times have no row. `missing: zero` counts them as zero.',
    threshold: 'one time',
    reason: 'A missing day is either zero or unknown, and only the owner of the data knows which.',
  },
  sparse: {
    kind: 'caveat',
    rule: 'Most values are zero, or most times have no row.',
    threshold: 'half',
    reason: 'Averages of rare events say little about any single day.',
  },
  series_autocorrelated: {
    kind: 'caveat',
    rule: 'Neighbouring values are alike, or swing to and fro, beyond trend (straight or bent), season and changes of level; or neighbouring rows without a date are.',
    threshold:
      'lag-1 autocorrelation of the residuals beyond 2.58 standard errors; 0.5 of rows without a date',
    reason:
      'Alike neighbours hold less information than their number suggests. `test: auto` allows for it; a rank test that is asked for (`original`, `seasonal`) does not.',
  },
  tails_heavy: {
    kind: 'caveat',
    rule: 'A few values are far larger than normal noise makes them.',
    threshold: 'excess kurtosis of the residuals above 3, from 20 values on',
    reason: 'Means and intervals lean on the few largest values.',
  },
  variances_unequal: {
    kind: 'caveat',
    rule: 'The groups differ in their spread (Brown-Forsythe).',
    threshold: 'p below 0.01',
    reason: 'Tests that pool the spread claim too much or too little.',
  },
  collinear: {
    kind: 'caveat',
    rule: 'A regressor can almost be computed from the others.',
    threshold: 'variance inflation above 10',
    reason: 'The coefficients cannot be told apart, whatever the fit of the whole.',
  },
  separated: {
    kind: 'caveat',
    rule: 'The columns of a logistic regression tell its outcomes apart without an error.',
    threshold: 'no row on the wrong side',
    reason: 'The likelihood has no maximum then, so no size of the effect can be given.',
  },
  form_wrong: {
    kind: 'caveat',
    rule: 'The residuals show a curve (RESET) or a changing spread (Breusch-Pagan). A trend bends.',
    threshold: 'p below 0.01; a bend that lowers the criterion of Schwarz by 6',
    reason: 'A straight line through a curve is right nowhere.',
  },
  mix_hides_rates: {
    kind: 'caveat',
    rule: 'The mix of the segments and their rates move a ratio in opposite directions; or a link is gone, or points the other way, within the values of another column.',
    threshold: 'the smaller part above 5 % of the change; a link that is told without that column',
    reason: 'The total can rise while every segment falls.',
  },
  values_combined: {
    kind: 'caveat',
    rule: 'There are more values or combinations than a search takes; rare ones are put together or left out.',
    threshold: "the method's largest number, named in the sentence",
    reason: 'A cause may lie in what was put together.',
  },
  cause_unseen: {
    kind: 'caveat',
    rule: 'A change is larger than ordinary noise, no part stands out, and it is not spread over all parts alike: noise hides where it lies, or the parts are too few.',
    threshold:
      'all but one part moved less than half as far as the whole, or two thirds of the parts did not; or no part is large enough to show it',
    reason: 'Nothing was found because nothing could be found. A cause may be there.',
  },
  many_tests: {
    kind: 'caveat',
    rule: 'Several tests were made; their p-values are corrected for that.',
    threshold: 'two tests',
    reason: 'Of twenty tests of nothing one finds something.',
  },
  rows_left_out: {
    kind: 'caveat',
    rule: 'Rows without a time, a group or a finite number are left out, and groups beyond the most that are told of (those with the most rows stay).',
    threshold: 'one row',
    reason: 'What is left out may differ from what is counted.',
  },
  times_shared: {
    kind: 'caveat',
    rule: 'Several rows share one time; the series takes their mean.',
    threshold: 'one time',
    reason: 'Where rows should be added up the mean is another number.',
  },
  times_uneven: {
    kind: 'caveat',
    rule: 'The times follow no even step; the values are taken in their order.',
    threshold: 'no calendar step fits',
    reason: 'Seasons and rates per time need even steps.',
  },
  history_short: {
    kind: 'caveat',
    rule: 'There are too few earlier changes to say whether one is unusual, too few values for the range of a forecast, or too few years for what drivers expects of a season of the year.',
    threshold:
      '8 earlier changes, 19 if all of them are alike; 24 values of a forecast; two years before the period that drivers explains',
    reason: 'The change and the forecast stand; what is usual here is not known yet.',
  },
  no_base: {
    kind: 'caveat',
    rule: 'The value before is near zero, below zero or of the other sign; or a planned change leads beyond what the value can be.',
    threshold: 'a hundredth of the largest value',
    reason: 'A percentage of almost nothing, or of a loss, means nothing.',
  },
  out_of_reach: {
    kind: 'caveat',
    rule: 'An experiment would take longer than a year at the present traffic.',
    threshold: '365 days',
    reason: 'In so long a time the product, the people and the traffic change: nobody waits for that answer.',
  },
  traffic_falls: {
    kind: 'caveat',
    rule: 'The later half of the past weeks brings fewer new units than the half before.',
    threshold: 'a fifth fewer, and 2.58 standard errors of the counts',
    reason: 'People who come back are not new. A plan by the average day ends too early.',
  },
  week_uncovered: {
    kind: 'caveat',
    rule: 'The past that a plan reads, or the experiment that it plans, is shorter than a week.',
    threshold: '7 days',
    reason: 'A Monday brings other people than a Sunday.',
  },
  type_ambiguous: {
    kind: 'caveat',
    rule: 'The values of a column can be read in two ways, such as day or month first; what a %, brackets or a minus behind numbers mean is taken from what is usual; two columns have one name; or a workbook has several sheets, and none is named.',
    threshold:
      'every value fits both readings; nothing declares how such numbers are read; a second column of the name; two sheets that are not hidden',
    reason: 'The other reading gives other days or other amounts, and another sheet other numbers.',
  },
} as const satisfies Record<string, CodeRule>

export type Code = keyof typeof CODES

export const CODE_NAMES = Object.keys(CODES) as Code[]
