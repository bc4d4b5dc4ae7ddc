/**
 * assay insights, assay collections and assay links: list what the jobs found, group it, and open it to readers
 * without a token.
 */
import { GRADES } from '@assay/model/insight'
import type { Link } from '@assay/model/link'
import {
  allPages,
  clientCommand,
  eachCommand,
  listCommand,
  pageCommand,
  showCommand,
} from '../../client-command.ts'
import { UsageError } from '../../exit.ts'
import { choiceOption, flag, LIMIT, limitOption, secondsOption, text } from '../../options.ts'

const NEWEST = flag('Show the newest run with these variables but the period instead')

export const INSIGHTS = [
  pageCommand(
    {
      name: 'insights list',
      operands: '[WORD...]',
      summary: 'List insights, newest first, with their headlines; words narrow the list',
      options: {
        template: text('ID', 'Only insights of this template'),
        tag: text('TAG', 'Only insights of templates with this tag'),
        metric: text('ID', 'Only insights that tell of this metric'),
        collection: text('ID', 'Only what this collection holds'),
        pinned: flag('Only what you have pinned'),
        grade: text('GRADE', `Only ${GRADES.join(', ')}`),
        since: text('TIME', 'RFC 3339, such as 2026-01-31T12:00:00Z'),
        until: text('TIME', 'RFC 3339'),
        limit: LIMIT,
        cursor: text('CURSOR', 'The next_cursor of an earlier list'),
      },
    },
    ['INSIGHT', 'CREATED', 'TITLE', 'GRADE', 'FIGURE', 'HEADLINE'],
    (client, call) =>
      client.insights.list({
        limit: limitOption(call),
        q: call.operands.length > 0 ? call.operands.join(' ') : undefined,
        template_id: call.text('template'),
        tag: call.text('tag'),
        metric_id: call.text('metric'),
        collection_id: call.text('collection'),
        pinned_by: call.on('pinned') ? 'me' : undefined,
        grade: choiceOption(call, 'grade', GRADES),
        created_after: call.text('since'),
        created_before: call.text('until'),
        cursor: call.text('cursor'),
      }),
    (one) => [one.insight_id, one.created_at, one.title, one.grade, one.figure?.text ?? null, one.headline],
  ),
  eachCommand(
    {
      name: 'insights pin',
      operands: 'INSIGHT...',
      summary: 'Pin insights; only you see what you pin',
      options: { newest: NEWEST },
    },
    (client, id, call) => client.insights.pin(id, { newest: call.on('newest') }),
  ),
  eachCommand({ name: 'insights unpin', operands: 'INSIGHT...', summary: 'Unpin insights' }, (client, id) =>
    client.insights.unpin(id),
  ),
  listCommand(
    {
      name: 'insights readings',
      operands: 'INSIGHT',
      summary: 'Tell who read an insight: for admins, and for who made it',
    },
    ['USER', 'NAME', 'TIMES', 'LAST'],
    async (client, call) => (await client.insights.readings(call.operands[0]!)).items,
    (one) => [one.user_id, one.username, one.count, one.last_at],
  ),
]

const DESCRIPTION = text('TEXT', 'What it is for')

export const COLLECTIONS = [
  showCommand(
    {
      name: 'collections create',
      operands: 'NAME',
      summary: 'Make a collection of insights, and print its id',
      options: { description: DESCRIPTION },
    },
    (client, call) =>
      client.collections.create({
        name: call.operands[0]!,
        description: call.text('description'),
      }),
    ({ collection_id }) => `${collection_id}\n`,
  ),
  listCommand(
    {
      name: 'collections list',
      summary: 'List the collections; "assay insights list --collection ID" lists what one holds',
      options: { insight: text('ID', 'Only those that hold this insight or its series') },
    },
    ['COLLECTION', 'CREATED', 'NAME', 'DESCRIPTION'],
    (client, call) =>
      allPages((page) => client.collections.list({ ...page, insight_id: call.text('insight') })),
    (one) => [one.collection_id, one.created_at, one.name, one.description],
  ),
  clientCommand(
    {
      name: 'collections change',
      operands: 'COLLECTION',
      summary: 'Change the name or the description of a collection',
      options: { name: text('NAME', 'Its new name'), description: DESCRIPTION },
    },
    async (client, call) => {
      await client.collections.update(call.operands[0]!, {
        name: call.text('name'),
        description: call.text('description'),
      })
    },
  ),
  clientCommand(
    {
      name: 'collections add',
      operands: 'COLLECTION INSIGHT...',
      summary: 'Put insights into a collection',
      options: { newest: NEWEST },
    },
    async (client, call) => {
      const [collection_id, ...insights] = call.operands
      for (const insight_id of insights)
        await client.collections.add(collection_id!, insight_id, { newest: call.on('newest') })
    },
  ),
  clientCommand(
    {
      name: 'collections remove',
      operands: 'COLLECTION INSIGHT...',
      summary: 'Take insights out of a collection',
    },
    async (client, { operands: [collection_id, ...insights] }) => {
      for (const insight_id of insights) await client.collections.remove(collection_id!, insight_id)
    },
  ),
  eachCommand(
    { name: 'collections delete', summary: 'Delete collections; their insights stay' },
    (client, id) => client.collections.delete(id),
  ),
]

const OF_COLLECTION = flag('The id is that of a collection')

export const LINKS = [
  showCommand(
    {
      name: 'links create',
      operands: 'ID',
      summary: 'Make a link to the page of an insight or a collection and print it, this once',
      options: {
        collection: OF_COLLECTION,
        expires: text('DURATION', 'How long it opens the page (default: 7d)'),
        label: text('TEXT', 'A note for people'),
        newest: flag('It always opens the newest run with these variables but the period'),
        rows: flag('Its readers see the rows behind the numbers, too'),
      },
    },
    async (client, call) => {
      const input = { expires_in: secondsOption(call, 'expires'), label: call.text('label') }
      const ofInsight = { newest: call.on('newest') || undefined, rows: call.on('rows') || undefined }
      const isCollection = call.on('collection')
      if (isCollection && (ofInsight.newest || ofInsight.rows))
        throw new UsageError('--newest and --rows are of the link to one insight: leave them out.')
      const link = isCollection
        ? await client.links.createOfCollection(call.operands[0]!, input)
        : await client.links.create(call.operands[0]!, { ...input, ...ofInsight })
      return { ...link, url: link.url.startsWith('/') ? `${client.url}${link.url}` : link.url }
    },
    ({ url }) => `${url}\n`,
  ),
  listCommand(
    {
      name: 'links list',
      operands: 'ID',
      summary: 'List the links of an insight or a collection, and how often each was opened',
      options: { collection: OF_COLLECTION },
    },
    ['LINK', 'EXPIRES', 'OPENED', 'LAST', 'LABEL'],
    (client, call) =>
      allPages<Pick<Link, 'link_id' | 'expires_at' | 'opened_count' | 'last_opened_at' | 'label'>>((page) =>
        call.on('collection')
          ? client.links.listOfCollection(call.operands[0]!, page)
          : client.links.list(call.operands[0]!, page),
      ),
    (link) => [link.link_id, link.expires_at, link.opened_count, link.last_opened_at, link.label],
  ),
  clientCommand(
    {
      name: 'links delete',
      operands: 'ID LINK...',
      summary: 'Revoke links: they then open nothing',
      options: { collection: OF_COLLECTION },
    },
    async (client, call) => {
      const [id, ...links] = call.operands
      const revoke = call.on('collection') ? client.links.deleteOfCollection : client.links.delete
      for (const link_id of links) await revoke(id!, link_id)
    },
  ),
]
