/** assay repository ...: shows the git repository of templates, and why its newest commit was refused. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Client, RepositoryView as Repository } from '@assay/client'
import { clientCommand } from '../../client-command.ts'
import { EXIT, ExitError } from '../../exit.ts'
import { JSON_OPTION } from '../../options.ts'
import { out, printJson } from '../../print.ts'

const LOOK_MS = 500

const short = (commit_id: string): string => commit_id.slice(0, 12)

/** Describes a commit: "3f2a... (Add the weekly report, Ada)". */
function commitText({ commit_id, subject, author }: NonNullable<Repository['taken']>): string {
  return `${short(commit_id)} (${subject}, ${author})`
}

/** Lists each fault as "FILE:LINE:COLUMN: severity: what is wrong", as `assay check` does. */
function faultLines({ latest }: Repository): string {
  const faults = latest?.faults ?? []
  return faults
    .map(({ file, line, column, severity, message }) => {
      const at = file === '' ? '' : line === 0 ? `${file}: ` : `${file}:${line}:${column}: `
      return `${at}${severity}: ${message}\n`
    })
    .join('')
}

/** Describes the state in a few lines. */
function repositoryText(repository: Repository): string {
  const { address, branch, folder, taken, latest, pulled_at, unreached, looking, conflicts } = repository
  const where = [branch && `branch ${branch}`, folder && `folder ${folder}`].filter(Boolean).join(', ')
  const served = taken
    ? `Served: ${commitText(taken)}, since ${taken.taken_at}`
    : 'Nothing of it is served yet.'
  const refused = latest?.status === 'refused' ? `Refused: ${commitText({ ...latest, taken_at: '' })}\n` : ''
  const away = unreached ? `Not reached at ${unreached.at}: ${unreached.detail}\n` : ''
  const own = conflicts.map(
    ({ kind, id, file }) =>
      `${file}: the workspace has a ${kind} ${id} of its own, which is used: delete it there, or rename the file.\n`,
  )
  return [
    `${address}${where === '' ? '' : ` (${where})`}\n${served}\n`,
    refused,
    faultLines(repository),
    away,
    ...own,
    looking ? 'A node is looking at it now.\n' : pulled_at ? `Last answer: ${pulled_at}\n` : '',
  ].join('')
}

const codeOf = ({ latest, unreached }: Repository): number =>
  latest?.status === 'refused' || unreached ? EXIT.failed : EXIT.ok

function known(found: Repository | null): Repository {
  if (found) return found
  throw new ExitError(
    EXIT.notFound,
    'The templates come from no repository: set ASSAY_TEMPLATES to the address of one.',
  )
}

async function afterLook(client: Client): Promise<Repository> {
  for (let found: Repository | null = await client.repository.pull(); ; ) {
    if (!found?.looking) return known(found)
    await sleep(LOOK_MS)
    found = (await client.repository.get()).repository
  }
}

const options = { json: JSON_OPTION }

export const REPOSITORY = [
  clientCommand(
    {
      name: 'repository show',
      summary: 'Show what is served of the git repository of templates, and why a commit was refused',
      details: 'Ends with 1 where the newest commit was refused or the repository was not reached.',
      options,
    },
    async (client, call) => {
      const found = known((await client.repository.get()).repository)
      if (call.on('json')) printJson(found)
      else out(repositoryText(found))
      return codeOf(found)
    },
  ),
  clientCommand(
    {
      name: 'repository pull',
      summary: 'Have the git repository of templates looked at now, and wait for the outcome',
      details:
        'Also judges a commit again that was refused. Ends with 1 where the newest commit was refused.',
      options,
    },
    async (client, call) => {
      const found = await afterLook(client)
      if (call.on('json')) printJson(found)
      else out(repositoryText(found))
      return codeOf(found)
    },
  ),
]
