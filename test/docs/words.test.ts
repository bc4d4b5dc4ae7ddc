/**
 * Checks that a word has one meaning. The glossary of ARCHITECTURE.md defines the nouns. A word that once had several
 * meanings may not get a second one again.
 */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'

const root = path.dirname(path.dirname(import.meta.dirname))
const read = (file: string): string => readFileSync(path.join(root, file), 'utf8')
const tracked = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
  cwd: root,
  encoding: 'utf8',
})
  .split('\n')
  .filter((file) => file !== '' && existsSync(path.join(root, file)))

const code = tracked.filter((file) => /^(packages|bin|test|proofs|bench)\/.*\.(ts|tsx|sql)$/.test(file))
/** The files of prose. Comments and texts are read with the code. */
const prose = tracked.filter(
  (file) => /^(docs|packages|bench)\/.*\.md$|^[A-Z]+\.md$/.test(file) && file !== 'ARCHITECTURE.md',
)

interface Word {
  /** The pattern of a forbidden use. */
  pattern: RegExp
  /** A text that the pattern finds. A pattern that finds nothing could never fail. */
  example: string
  /** The files that are read. */
  files: readonly string[]
  /** The sentence on what to write instead. */
  instead: string
}

const WORDS: readonly Word[] = [
  {
    pattern: /\b(?:interface|type|class) Given\b/,
    example: 'interface Given {',
    files: code,
    instead: 'Name the type after what it holds: the options of a method are `Options`.',
  },
  {
    pattern: /\b(?:who has no token|somebody of whom|whoever has)\b/i,
    example: 'for who has no token',
    files: prose,
    instead: 'Name the reader: "a reader without a token".',
  },
  {
    pattern: /\bFileGiver\b|\b(?:Lender|Borrower?|Loan|lenderOf|giveBack)\b(?!\w)/,
    example: 'lender?: Lender',
    files: code.filter((file) => !/^packages\/(?:store|service\/runtime\/loop)/.test(file)),
    instead: 'A task gets files through `FileAccess`, and acquires connections through `ConnectionAccess`.',
  },
  {
    pattern:
      /\bturns? of the event loop\b|\bthe (?:next|same|present) turn\b|\b(?:const|let|function) turns?\b/,
    example: 'in one turn of the event loop',
    files: [
      ...prose,
      ...code.filter((file) => !/^(?:bench|proofs)\/|^test\/(?:hostile\/fuzz|faults\/takeover)/.test(file)),
    ],
    instead: 'Write "pass of the event loop"; a turn is one of the measurements that the bench alternates.',
  },
  {
    pattern:
      /\bBucketPlace\b|\b(?:interface|type|class) Place\b|#place\b|\b(?:const|let) places?\b|\bplaces?: (?:number|string|boolean)\b/,
    example: 'const place = 1',
    files: code.filter(
      (file) =>
        /^packages\/(?:service|net|model|cli|store)\//.test(file) &&
        !/conformance\/lists|store\/(?:page|list)\.ts/.test(file),
    ),
    instead: 'Say slot (of a webhook), position (in a text), config (of a bucket) or path.',
  },
  {
    pattern: /^(?:export )?(?:interface|type|class) (?:Taken|Lane|Line|Turn|Session)\b/,
    example: 'interface Taken {',
    files: code.filter((file) => !file.startsWith('bench/')),
    instead: 'Name the type after what it holds: a session is one of a database, a line is a line of text.',
  },
  {
    pattern: /\b(?:FROM|INTO|UPDATE|JOIN|TABLE|ON) subscriptions\b/,
    example: 'SELECT webhook_id FROM subscriptions',
    files: code,
    instead: 'A subscription is a row of `webhooks`; `webhook_events` says which events a webhook gets.',
  },
  {
    pattern: /from '[^']*\/(?:calendar|rest)\.ts'/,
    example: "import { rest } from './rest.ts'",
    files: code,
    instead: 'The calendar of dates is model/time/dates.ts; name another file after what it does.',
  },
  {
    pattern: /\beverything\b.* from '[^']*\/accounts\.ts'/,
    example: "import { everything } from './accounts.ts'",
    files: code,
    instead:
      'accounts.ts holds commands of workspaces, users and tokens; the paging of lists has a file of its own.',
  },
  {
    pattern: /(?:^|\/)harness(?:-[a-z]+)?\.ts'/,
    example: "import { open } from './harness.ts'",
    files: code,
    instead: 'What tests share is a fixture: NAME-fixture.ts.',
  },
  {
    pattern: /\bcron lines?\b/i,
    example: 'run by a cron line',
    files: [...prose, 'ARCHITECTURE.md', ...code],
    instead: 'Write "cron expression": a line is a line of text.',
  },
  {
    pattern: /\b[Ww]hence\b/,
    example: 'whence it came',
    files: prose,
    instead: 'Say who lends, reads or sends.',
  },
  {
    pattern: /[}"] is no (?!longer|more|secret)[a-z]/,
    example: '`${given} is no address.`',
    files: code.filter((file) => file.startsWith('packages/') && !file.includes('.test.')),
    instead: 'Write "is not a ..." in an error, and what to write instead.',
  },
  {
    pattern: /(?:^|\. |\| |^- )Who(?:ever)? (?![^.|]*\?)[a-z]/,
    example: 'ends then. Who follows a schedule gets each run',
    files: prose,
    instead: 'Name the person: "A follower of a schedule gets each run".',
  },
  {
    pattern: /\bcome again\b/,
    example: 'had better come again',
    files: prose,
    instead: 'Write "try again".',
  },
]

test('no word has a second meaning', () => {
  const faults = WORDS.flatMap(({ pattern, example, files, instead }) => {
    assert.match(example, pattern)
    assert.ok(files.length > 0, `${pattern} is looked for in no file`)
    return files
      .filter((file) => file !== 'test/docs/words.test.ts')
      .flatMap((file) =>
        read(file)
          .split('\n')
          // A line is read with the next one, so that a break between two words hides nothing.
          .map((line, index, lines) => `${line} ${(lines[index + 1] ?? '').replace(/^[\s*/#-]+/, '')}`)
          .flatMap((text, index) => (pattern.test(text) ? [`${file}:${index + 1}: ${instead}`] : [])),
      )
  })
  assert.deepEqual(faults, [])
})

test('the glossary has at most 30 nouns, one line each, and names every noun of the model', () => {
  const section = /^## Glossary\n([\s\S]*?)(?=^## |$(?![\s\S]))/m.exec(read('ARCHITECTURE.md'))?.[1]
  assert.ok(section, 'ARCHITECTURE.md has a section "Glossary"')
  const nouns = section.split('\n').filter((line) => line.startsWith('- '))
  assert.ok(nouns.length > 0 && nouns.length <= 30, `${nouns.length} nouns`)
  for (const line of nouns) assert.match(line, /^- \*\*[a-z ]+\*\*: [^\n]{10,160}\.$/, line)
  const defined = nouns.map((line) => /\*\*([a-z ]+)\*\*/.exec(line)![1]!)
  assert.equal(new Set(defined).size, defined.length, 'a noun is defined twice')
  const schemas = tracked
    .filter((file) => /^packages\/model\/(?:[a-z]+\/)?[a-z-]+\.ts$/.test(file))
    .flatMap((file) => [...read(file).matchAll(/\{ title: '([A-Z][A-Za-z]*)' \}/g)].map((match) => match[1]!))
  assert.ok(schemas.length > 10)
  // Nouns that are parts of another noun, whose line explains them.
  const parts = [
    'Collection',
    'CollectionLink',
    'Explained',
    'ExplainedBlock',
    'ExplainedSource',
    'ExplainedStatement',
    'Fault',
    'ForeseenDays',
    'ForeseenStretch',
    'Grant',
    'InsightCard',
    'KeptDraft',
    'KeptDraftWithSource',
    'KeptOfMetric',
    'Outgoing',
    'Reading',
    'Recovery',
    'SignIn',
    'WebhookStats',
  ]
  const missing = schemas
    .filter((title) => !parts.includes(title))
    .map((title) => title.replaceAll(/(?<!^)([A-Z])/g, ' $1').toLowerCase())
    .filter((noun) => !defined.includes(noun))
  assert.deepEqual(missing, [])
})
