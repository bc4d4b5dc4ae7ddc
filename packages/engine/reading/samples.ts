/**
 * The shipped tables, which `sample/NAME` names in every workspace. The list is closed, so that a template can never
 * reach another file of the packages below it. Each table has its licence; a table without one is not listed.
 * docs/data.md is made from the list.
 */
import { existsSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

export interface Sample {
  name: string
  /** `package`: the npm package vega-datasets; `own`: templates/data of this project. */
  from: 'package' | 'own'
  title: string
  /** The meaning of one row, and of the columns that matter. */
  holds: string
  source: string
  licence: string
}

const US = 'Public domain (work of the US government)'
const CC_BY = 'CC BY 4.0'
const CC0 = 'CC0 1.0'

type Entry = [name: string, title: string, holds: string, source: string, licence: string]

const PACKAGE: Entry[] = [
  [
    'flights-3m.parquet',
    'Flights within the USA, January to June 2001',
    'One row a flight, 3,000,000: time of departure `date`, arrival `delay` in minutes, `distance` in miles, `origin`, `destination`.',
    'US Bureau of Transportation Statistics, on-time performance',
    'Open government data collected under 14 CFR 234',
  ],
  [
    'flights-airport.csv',
    'Flights between airports, 2008',
    'One row a route: `origin`, `destination`, `count` of flights.',
    'US Bureau of Transportation Statistics',
    US,
  ],
  [
    'airports.csv',
    'Airports of the USA',
    'One row an airport: `iata` code, `name`, `city`, `state`, `country`, `latitude`, `longitude`.',
    'US Federal Aviation Administration',
    US,
  ],
  [
    'birdstrikes.csv',
    'Strikes of wildlife on aircraft, 1990 to 2002',
    'One row a strike: airport, aircraft, species and size of the animal, phase of flight, damage, cost in dollars.',
    'US Federal Aviation Administration, Wildlife Strike Database',
    US,
  ],
  [
    'budgets.json',
    'Deficits forecast by the US government in its budgets of 1980 to 2010',
    'One row a year and forecast: `budgetYear`, `forecastYear`, `value` in trillions of dollars.',
    'US Office of Management and Budget',
    US,
  ],
  [
    'co2-concentration.csv',
    'Carbon dioxide at Mauna Loa, monthly, 1958 to 2020',
    'One row a month: `Date`, `CO2` in parts per million, `adjusted CO2` with the seasons taken out.',
    'C. D. Keeling et al., Scripps CO2 Program, in-situ CO2 data',
    CC_BY,
  ],
  [
    'countries.json',
    'Life expectancy and fertility of countries, 1955 to 2000',
    'One row a country and year: `country`, `year`, `life_expect`, `fertility`.',
    'Gapminder Foundation',
    CC_BY,
  ],
  [
    'disasters.csv',
    'Deaths in natural disasters, 1900 to 2017',
    'One row a kind and year: `Entity` (one of them the total), `Year`, `Deaths`.',
    'EM-DAT, CRED / UCLouvain; processed by Our World in Data (Ritchie, Rosado and Roser 2022)',
    `${CC_BY} (Our World in Data), within EM-DAT's terms of use`,
  ],
  [
    'earthquakes.json',
    'Earthquakes of the world, 31 January to 7 February 2018',
    'A GeoJSON collection, read as the list of its `features`: one row an event, 1,707 in all.',
    'US Geological Survey, earthquake feed',
    US,
  ],
  [
    'football.json',
    'Results of five football leagues, 2013 to 2017',
    'One row a match: `date`, `division`, `home_team`, `away_team`, `home_score`, `away_score`.',
    'openfootball',
    CC0,
  ],
  [
    'gapminder.json',
    'Population, life expectancy and fertility, 1955 to 2005',
    'One row a country and fifth year: `country`, `cluster`, `year`, `pop`, `life_expect`, `fertility`.',
    'Gapminder Foundation',
    CC_BY,
  ],
  [
    'gapminder-health-income.csv',
    'Income and health of countries',
    'One row a country: `country`, `income`, `health`, `population`, `region`.',
    'Gapminder Foundation',
    CC_BY,
  ],
  [
    'global-temp.csv',
    'Global temperature, 1880 to 2023',
    'One row a year: `year`, `temp`, the anomaly in degrees Celsius.',
    'NASA Goddard Institute for Space Studies',
    US,
  ],
  [
    'iowa-electricity.csv',
    'Electricity made in Iowa, 2001 to 2017',
    'One row a year and source: `year`, `source`, `net_generation` in thousands of MWh.',
    'US Energy Information Administration',
    US,
  ],
  [
    'obesity.json',
    'Obesity in the states of the USA, 2008',
    'One row a state: `id`, `rate` as a share, `state`.',
    'US Centers for Disease Control and Prevention',
    US,
  ],
  [
    'penguins.json',
    'Penguins of the Palmer archipelago',
    'One row a bird: species, island, beak and flipper in mm, body mass in g, sex.',
    'K. Gorman, Palmer Station LTER; A. Horst',
    CC0,
  ],
  [
    'political-contributions.json',
    'Money of candidates for the US Congress, 2015',
    'One row a candidate: party, receipts, disbursements, debts.',
    'US Federal Election Commission',
    CC0,
  ],
  [
    'seattle-weather.csv',
    'Weather in Seattle, daily, 2012 to 2015',
    'One row a day: `date`, `precipitation` in mm, `temp_max`, `temp_min` in degrees Celsius, `wind` in m/s, `weather`.',
    'US National Oceanic and Atmospheric Administration',
    US,
  ],
  [
    'seattle-weather-hourly-normals.csv',
    'Normal weather in Seattle by the hour',
    'One row an hour of a year: `date`, `pressure`, `temperature`, `wind`.',
    'US National Oceanic and Atmospheric Administration, 1981-2010 normals',
    US,
  ],
  [
    'unemployment.tsv',
    'Unemployment by county of the USA, 2009',
    'One row a county: `id`, `rate`.',
    'US Bureau of Labor Statistics',
    US,
  ],
  [
    'unemployment-across-industries.json',
    'Unemployment by industry in the USA, monthly, 2000 to 2010',
    'One row an industry and month: `series`, `year`, `month`, `count` in thousands, `rate` in percent, `date`.',
    'US Bureau of Labor Statistics, Current Population Survey. BLS.gov cannot vouch for the data or analyses derived from these data after the data have been retrieved from BLS.gov.',
    US,
  ],
  [
    'us-employment.csv',
    'Employment by industry in the USA, monthly, 2006 to 2015',
    'One row a month: `month`, `nonfarm` and a column an industry, in thousands of jobs, seasonally adjusted.',
    'US Bureau of Labor Statistics, Current Employment Statistics',
    US,
  ],
  [
    'us-state-capitals.json',
    'Capitals of the states of the USA',
    'One row a state: `state`, `city`, `lat`, `lon`.',
    'US Geological Survey, The National Map',
    US,
  ],
  [
    'weather.csv',
    'Weather in Seattle and New York, daily, 2012 to 2015',
    'One row a place and day: `location`, `date`, `precipitation`, `temp_max`, `temp_min`, `wind`, `weather`.',
    'US National Oceanic and Atmospheric Administration',
    US,
  ],
  [
    'wheat.json',
    'Price of wheat and weekly wages in England, 1565 to 1820',
    'One row every fifth year: `year`, `wheat` and `wages` in shillings.',
    'W. Playfair, 1822',
    'Public domain',
  ],
  [
    'zipcodes.csv',
    'ZIP codes of the USA',
    'One row a code: `zip_code`, `latitude`, `longitude`, `city`, `state`, `county`.',
    'GeoNames',
    CC_BY,
  ],
]

const OWN: Entry[] = [
  [
    'experiments.csv',
    'Three large randomised experiments, as published',
    'One row an arm and outcome: `experiment`, `outcome`, whether it is `good`, `arm`, its `control`, `participants`, `successes`, the `design`, the `source`.',
    "T. Francis et al., Evaluation of the 1954 Field Trial of Poliomyelitis Vaccine (1955, 1957); Physicians' Health Study, N. Engl. J. Med. 321:129 (1989); A. Gerber, D. Green, C. Larimer, Am. Polit. Sci. Rev. 102:33 (2008)",
    `Published counts, compiled here under ${CC0}`,
  ],
  [
    'nile.csv',
    'Flow of the Nile at Aswan, yearly, 1871 to 1970',
    'One row a year: `year`, `volume` in 10^8 cubic metres.',
    'G. W. Cobb, Biometrika 65:243 (1978), as in statsmodels',
    'Public domain',
  ],
  [
    'ucb-admissions.csv',
    'Admission to graduate study at Berkeley, autumn 1973',
    'One row a department and sex: `department`, `sex`, `applicants`, `admitted`; the six largest departments.',
    "P. Bickel, E. Hammel, J. O'Connell, Science 187:398 (1975)",
    `Published counts, compiled here under ${CC0}`,
  ],
  [
    'us-births.csv',
    'Births in the USA, daily, 1994 to 2003',
    'One row a day: `date`, `births`.',
    'US National Center for Health Statistics, as in @stdlib/datasets-cdc-nchs-us-births-1994-2003',
    `PDDL 1.0, contents ${CC0}`,
  ],
  [
    'us-offices.csv.gz',
    'Terms in the House, the Senate and as president or vice president of the USA, 1789 to July 2015',
    'One row a term, 43,101: `person` (Bioguide id), `name`, `office`, `state`, `party`, `began`, `ended`.',
    'The @unitedstates project, congress-legislators, as in us-legislators 1.2.0',
    `Public domain (${CC0})`,
  ],
]

function samplesOf(from: Sample['from'], entries: Entry[]): Sample[] {
  return entries.map(([name, title, holds, source, licence]) => ({
    name,
    from,
    title,
    holds,
    source,
    licence,
  }))
}

export const SAMPLES: readonly Sample[] = [...samplesOf('package', PACKAGE), ...samplesOf('own', OWN)]

const packageFolder = path.join(
  path.dirname(fileURLToPath(import.meta.resolve('vega-datasets'))),
  '..',
  'data',
)
/** The folder inside the package that other projects install; in the repository it lies beside packages/. */
export const templatesFolder = ['../templates', '../../../templates']
  .map((folder) => path.join(import.meta.dirname, folder))
  .find((folder) => existsSync(folder))!

/** Returns the absolute path of each shipped table by its name below `sample/`. */
export function sampleFiles(): Record<string, string> {
  return Object.fromEntries(
    SAMPLES.map(({ name, from }) => [
      name,
      from === 'package' ? path.join(packageFolder, name) : path.join(templatesFolder, 'data', name),
    ]),
  )
}

const INTRODUCTION = `# The data that ship

Every workspace can read these tables as \`sample/NAME\`, whatever \`ASSAY_DATA\` is. They are public, and each has a
licence of its own; a table without one is not shipped. Those of the first list come with the npm package
[vega-datasets](https://github.com/vega/vega-datasets) (its own texts are under BSD-3-Clause), those of the second lie in
\`templates/data\`. This page is made by \`npm run gen\` from \`packages/engine/reading/samples.ts\`.
`

/** Returns docs/data.md: what each table holds, its origin and its licence. */
export function dataPage(): string {
  const section = (heading: string, from: Sample['from']) => [
    `## ${heading}\n`,
    ...SAMPLES.filter((sample) => sample.from === from).map(
      ({ name, title, holds, source, licence }) =>
        `### \`sample/${name}\`\n\n${title}. ${holds}\n\nSource: ${source.replace(/\.$/, '')}. Licence: ${licence}.\n`,
    ),
  ]
  return [INTRODUCTION, ...section('From vega-datasets', 'package'), ...section('Our own', 'own')].join('\n')
}
