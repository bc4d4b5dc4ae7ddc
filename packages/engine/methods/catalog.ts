/** The list of the methods that an analysis block may name. Each is one file. To add one, import it and put it into LIST. */
import { abTest } from './ab-test.ts'
import { anova } from './anova.ts'
import { association } from './association.ts'
import { compareGroups } from './compare-groups.ts'
import { correlation } from './correlation.ts'
import { describe } from './describe.ts'
import { drivers } from './drivers.ts'
import { experiment } from './experiment.ts'
import { cohorts } from './journeys/cohorts.ts'
import { funnel } from './journeys/funnel.ts'
import { normality } from './normality.ts'
import { outliers } from './outliers.ts'
import { anomalies } from './over-time/anomalies.ts'
import { changepoints } from './over-time/changepoints.ts'
import { compare } from './over-time/compare.ts'
import { forecast } from './over-time/forecast.ts'
import { seasonality } from './over-time/seasonality.ts'
import { trend } from './over-time/trend.ts'
import { pareto } from './pareto.ts'
import { plan } from './planning/plan.ts'
import { profile } from './profile.ts'
import { regression } from './regression.ts'
import type { Method } from './shared/method.ts'
import { perGroup } from './shared/per-group.ts'

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
  plan,
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

/** The methods before `by` is added (shared/per-group.ts). Lists of a method's own fields read them. */
export const OWN: Record<string, Method> = Object.fromEntries(LIST.map((method) => [method.name, method]))
