/**
 * assay run: runs a template on this machine without a service, in the same sandbox. The progress goes to stderr, the
 * insight to stdout.
 */
import { spawn } from 'node:child_process'
import { existsSync, watch } from 'node:fs'
import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Pool } from '@assay/engine/run/pool'
import { systemClock } from '@assay/model/clock'
import { CHART_FORMS, type ChartForm, type Findings } from '@assay/model/insight'
import { type Config, resolveConfig } from '@assay/service/config/config'
import type { Call, Command } from '../../command.ts'
import { EXIT, ExitError, UsageError } from '../../exit.ts'
import { choiceOption, flag, readerOption, text, texts } from '../../options.ts'
import { say } from '../../print.ts'
import { deliver, FORM_OPTIONS, FORMS, type Form, requirePlace } from '../insight-forms.ts'
import { type Found, fileOf, findingsOf, load, runHere, variablesOf } from './run-here.ts'

async function analyse(found: Found, call: Call, config: Config, pool: Pool): Promise<Findings> {
  const variables = await variablesOf(found, call)
  const started_at = new Date(systemClock.now()).toISOString()
  const reader = readerOption(call)
  const findings = findingsOf(await runHere(found, { variables, started_at, reader }, { call, config, pool }))
  if (findings.skipped) say('deliver_if is false: a service would complete the job and notify nobody.')
  return findings
}

/** Returns the tables as a workbook, or one of them as CSV. */
async function tablesOf(findings: Findings, form: 'xlsx' | 'csv', table: string | undefined) {
  const { tablesFile } = await import('@assay/engine/export/tables')
  const head = { ...findings, insight_id: '', created_at: findings.lineage.started_at }
  const tables = JSON.stringify(findings.tables)
  const provenance = findings.provenance ? JSON.stringify(findings.provenance) : null
  const found = tablesFile(form, { head, tables, provenance, table: table ?? null })
  if ('names' in found)
    throw new UsageError(`Name one of the tables by --table: ${found.names.join(', ') || '(there is none)'}.`)
  return Buffer.from(found.file, form === 'xlsx' ? 'base64' : 'utf8')
}

async function render(
  findings: Findings,
  format: Form,
  form: ChartForm | undefined,
  pool: Pool,
): Promise<string | Buffer> {
  const { fillMarked } = await import('@assay/engine/charts/charts')
  const { skipped: _, card: _card, chart_form, ...insight } = findings
  const wanted = form ?? chart_form
  const drawn = findings.charts.length > 0 && (format !== 'markdown' || wanted === 'image')
  const specs = drawn ? findings.charts.map(({ spec }) => spec) : []
  const { drawingsOf } = await import('@assay/engine/pages/chart-figure')
  const task = { kind: 'draw', form: 'pages', specs } as const
  const drawings = drawn ? drawingsOf(await pool.draw(task, { workspace_id: 'command line' })) : []
  const svgs = drawings.map(({ wide }) => wide)
  if (format === 'html' || format === 'pdf') {
    const shown = { ...insight, insight_id: '', created_at: findings.lineage.started_at }
    if (format === 'pdf') {
      const printed = { kind: 'render', form: 'pdf', insight: shown, drawings } as const
      return Buffer.from(await pool.render(printed, { workspace_id: 'command line' }), 'base64')
    }
    const { insightPage } = await import('@assay/engine/pages/insight-page')
    return insightPage(shown, drawings)
  }
  const filled = fillMarked(findings, findings.charts, wanted, svgs)
  if (format === 'markdown') return filled.markdown
  const charts = insight.charts.map((chart, index) => ({ ...chart, svg: svgs[index] ?? null }))
  return `${JSON.stringify({ ...insight, ...filled, charts }, null, 2)}\n`
}

function openInBrowser(url: string): Promise<void> {
  const [program, ...args] =
    process.platform === 'darwin'
      ? ['open', url]
      : process.platform === 'win32'
        ? ['cmd', '/c', 'start', '', url]
        : ['xdg-open', url]
  const child = spawn(program, args, { stdio: 'ignore', detached: true })
  child.unref()
  return new Promise((resolve) => {
    child.on('spawn', resolve)
    child.on('error', () => {
      say(`There is no ${program} here: open it yourself.`)
      resolve()
    })
  })
}

/** Resolves with the next change of a Markdown file in the folder (or its partials), or when the signal is aborted. */
function nextChange(folder: string, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const watchers = [folder, path.join(folder, 'partials')]
      .filter((each) => existsSync(each))
      .map((each) =>
        watch(each, (_event, name) => {
          if (name === null || name.endsWith('.md')) setTimeout(finish, 100)
        }),
      )
    const finish = (): void => {
      for (const watcher of watchers) watcher.close()
      resolve()
    }
    signal.addEventListener('abort', finish, { once: true })
  })
}

/** The tag by which the page reloads itself in watch mode. */
const REFRESH = '<meta http-equiv="refresh" content="2">'

export const RUN: Command = {
  name: 'run',
  operands: 'FILE|TEMPLATE',
  summary: 'Run a template here, without a service, and print the insight',
  details:
    'The sandbox and limits are those of the service. "file:" sources read below --data (ASSAY_DATA);\n' +
    'sample/... names the data that ship.',
  options: {
    var: texts('NAME=VALUE', 'A variable; repeat it for more'),
    reader: texts('NAME=VALUE', 'An attribute of the reader of a personal template; commas divide a list'),
    ...FORM_OPTIONS,
    charts: text('FORM', CHART_FORMS.join(', ')),
    open: flag('Show it in the browser instead of printing it'),
    watch: flag('Run again at each save until Ctrl-C'),
  },
  listens: true,
  async run(call) {
    const { config } = resolveConfig(call.environment, call.settings)
    const format = choiceOption(call, 'format', FORMS) ?? 'markdown'
    const file = call.text('out')
    if (!call.on('open')) requirePlace(format, file)
    const form = choiceOption(call, 'charts', CHART_FORMS)
    const { createLog } = await import('@assay/service/runtime/log')
    const { withPool } = await import('../../local-pool.ts')
    const log = createLog({ level: 'error', format: 'text' })
    const [given] = call.operands
    const page = call.on('open')
      ? path.join(await mkdtemp(path.join(tmpdir(), 'assay-page-')), 'insight.html')
      : null
    let opened = false
    const once = async (pool: Pool): Promise<void> => {
      const findings = await analyse(await load(await fileOf(given!, config), config), call, config, pool)
      const content =
        page === null && (format === 'xlsx' || format === 'csv')
          ? await tablesOf(findings, format, call.text('table'))
          : await render(findings, page ? 'html' : format, form, pool)
      if (page === null) return deliver(content, file)
      const text = String(content)
      await writeFile(page, call.on('watch') ? text.replace('<head>', `<head>${REFRESH}`) : text)
      if (!opened) await openInBrowser(pathToFileURL(page).href)
      opened = true
      say(page)
    }
    return withPool(config, log, async (pool) => {
      if (!call.on('watch')) {
        await once(pool)
        return EXIT.ok
      }
      const folder = path.dirname(await fileOf(given!, config))
      while (!call.signal.aborted) {
        const changed = nextChange(folder, call.signal)
        await once(pool).catch((error: unknown) => {
          if (!(error instanceof ExitError || error instanceof UsageError)) throw error
          say(error.message)
        })
        await changed
      }
      return EXIT.ok
    })
  },
}
