/** The list of the methods that an analysis block may name. Each is one file. To add one, import it and put it into LIST. */
import { abTest } from './ab-test.ts'
import { anomalies } from './anomalies.ts'
import { anova } from './anova.ts'
import { association } from './association.ts'
import { changepoints } from './changepoints.ts'
import { cohorts } from './cohorts.ts'
import { compare } from './compare.ts'
import { compareGroups } from './compare-groups.ts'
import { correlation } from './correlation.ts'
import { describe } from './describe.ts'
import { drivers } from './drivers.ts'
import { experiment } from './experiment.ts'
import { forecast } from './forecast.ts'
import { funnel } from './funnel.ts'
import { normality } from './normality.ts'
import { outliers } from './outliers.ts'
import { pareto } from './pareto.ts'
import { profile } from './profile.ts'
import { regression } from './regression.ts'
import { seasonality } from './seasonality.ts'
import type { Method } from './shared/method.ts'
import { perGroup } from './shared/per-group.ts'
import { trend } from './trend.ts'

const LIST: readonly Method[] = [
  describe,
  profile,
  compare,
  trend,
  changepoints,
  seasonality,
  anomalies,
  drivers,
  abTest,
  experiment,
  cohorts,
  funnel,
  forecast,
  correlation,
  regression,
  anova,
  compareGroups,
  association,
  normality,
  outliers,
  pareto,
]

export const METHODS: Record<string, Method> = Object.fromEntries(
  LIST.map((method) => [method.name, perGroup(method)]),
)

/** The methods without `by` (shared/per-group.ts), for the lists of their own fields. */
export const OWN: Record<string, Method> = Object.fromEntries(LIST.map((method) => [method.name, method]))
