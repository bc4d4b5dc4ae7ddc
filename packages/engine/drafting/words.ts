/** The texts that metrics and templates of a draft share: names, comments, and measures. */
import { plainLine } from '../printing/escape.ts'
import { opening } from '../verdicts/measure.ts'

const LONGEST = 200

export interface Measured {
  /** The name of the metric. */
  id: string
  label: string
  /** The column; null if rows are counted. */
  column: string | null
  /** An expression of a metric, which is also SQL. */
  value: string
  /**
   * True if the measure is a level, such as a balance, which has a value at each time. `value` then adds up the rows
   * of one time and takes the mean over the times.
   */
  level: boolean
  /** The format of its numbers; null if nothing tells it. */
  fmt: string | null
}

/** Names of measures whose mean says more than their sum. */
export const MEANS =
  /(?:^|[^a-z])(?:preis|kurs|quote|anteil|prozent|alter|dauer|gewicht|h(?:ö|oe)he|entfernung|durchschnitt|note|bewertung|prix|taux|moyenne|dur[ée]e|precio|tasa|edad|prezzo|prijs|gehalt|lohn|salary|salaries|wages?|duration|latency|rate|share|percent|pct|perc|ratio|score|rating|price|temp\w*|age|speed|delay|distance|height|weight|length|depth|mean|avg|average|index|level|open|high|low|close|pressure|wind|minutes?|min|expect\w*|fertility|co2|mpg)(?:[^a-z]|$)/i

/** Names of measures whose sum over time would count the same thing repeatedly. */
export const LEVELS =
  /(?:^|[^a-z])(?:saldo|kontostand|\w*bestand|guthaben|schulden|einwohner|bev(?:ö|oe)lkerung|mitarbeiter|mitglieder|solde|effectif|habitants|habitantes|poblaci[óo]n|existencias|inventario|empleados|giacenza|voorraad|on[ _-]?hand|in[ _-]?stock|balance|cash|stock|inventory|headcount|employees?|employment|employed|unemployed|unemployment|population|pop|people|capacity|debt|assets|holdings|outstanding|backlog|subscribers|members|size)(?:[^a-z]|$)/i
/** Names of tables whose numbers are all levels. */
export const LEVEL_TABLES =
  /(?:^|[^a-z])(?:balances?|inventory|headcount|employment|unemployment|population)(?:[^a-z]|$)/i

const ACRONYMS = new Set(
  'us uk eu usa uae un nyc la gdp cpi kpi roi vat hr crm erp sku api url csv co2 mrr arr arpu nps seo sms pdf b2b b2c ucb sp500'.split(
    ' ',
  ),
)

/** Returns a name as a heading: "us-employment" becomes "US employment". */
export const titled = (text: string): string =>
  opening(
    text.replaceAll(/[\p{L}\p{N}]+/gu, (word) =>
      ACRONYMS.has(word.toLowerCase()) ? word.toUpperCase() : word,
    ),
  )

export const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`

export const comment = (text: string): string => `# ${plainLine(text).slice(0, LONGEST).toWellFormed()}\n`
