/**
 * Builds a metric or a template by choices. Each choice writes the text beside it, until a user changes the text by
 * hand.
 */

import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useEffect, useRef, useState } from 'react'
import { api } from '../../api.ts'
import {
  type BuiltOf,
  type Choices,
  GRAINS,
  type Grain,
  HOW_WORDS,
  HOWS,
  type How,
  isWritable,
  labelOf,
  missingOf,
  QUESTION_WORDS,
  type Question,
  questionsFor,
} from '../../drafts/builder/choices.ts'
import { metricText, templateText } from '../../drafts/builder/write.ts'
import { askedOf } from '../drafts/draft-notes.tsx'
import { Fault } from '../fault.tsx'
import { ChecksField, type Option, SelectField, TextField } from '../field.tsx'
import { SourceField } from './source-field.tsx'

/** The columns that can be chosen, best first, and the first choices. */
interface Known {
  columns: string[]
  times: string[]
  dimensions: string[]
  first: Partial<Choices>
}

type Kind = 'metric' | 'template'

const LISTED_DIMENSIONS = 12
const FIRST_DIMENSIONS = 3

async function columnsOf(of: BuiltOf): Promise<Known> {
  if ('metric' in of) {
    const { dimensions, grain, adding } = await api().metrics.get(of.metric)
    return {
      columns: [],
      times: [],
      dimensions,
      first: { dimensions: dimensions.slice(0, 1), grain, time: '', adding },
    }
  }
  const asked = 'file' in of ? { file: of.file, lines: of.lines.join('\n') } : of
  const { columns, dialect } = await api().drafts.create(askedOf(asked, false))
  const by = (roles: readonly string[]): string[] =>
    roles.flatMap((role) =>
      [true, false].flatMap((sure) =>
        columns
          .filter(({ name, ...column }) => column.role === role && column.sure === sure && isWritable(name))
          .map(({ name }) => name),
      ),
    )
  const [measures, times, dimensions] = [by(['measure']), by(['time']), by(['dimension'])]
  const first = {
    // The lines of an upload decide how it is read.
    of: 'file' in of ? { file: of.file, lines: dialect } : of,
    how: measures.length > 0 ? ('sum' as const) : ('rows' as const),
    column: measures[0] ?? '',
    time: times[0] ?? '',
    dimensions: dimensions.slice(0, FIRST_DIMENSIONS),
  }
  return {
    columns: by(['measure', 'dimension', 'other', 'identifier', 'unclear', 'event', 'time']),
    times: by(['time', 'unclear', 'event', 'other', 'dimension']),
    dimensions: by(['dimension', 'other', 'event', 'identifier']).slice(0, LISTED_DIMENSIONS),
    first,
  }
}

const BLANK: Omit<Choices, 'of'> = {
  how: 'rows',
  column: '',
  per: '',
  time: '',
  grain: 'day',
  dimensions: [],
  label: '',
  unit: '',
  good: 'none',
  question: 'rise',
}

/** Replaces a question that the choices cannot answer by the first that they can. */
function settled(choices: Choices): Choices {
  const questions = questionsFor(choices)
  return questions.includes(choices.question) ? choices : { ...choices, question: questions[0] ?? 'rise' }
}

const NONE: Option = { value: '', label: 'Choose…' }
const options = (names: readonly string[]): Option[] => [
  NONE,
  ...names.map((name) => ({ value: name, label: name })),
]
const worded = <Name extends string>(names: readonly Name[], words: Record<Name, string>): Option[] =>
  names.map((name) => ({ value: name, label: words[name] }))

interface PartProps {
  choices: Choices
  known: Known
  change(over: Partial<Choices>): void
}

function Measure({ choices, known, change }: PartProps) {
  const { how, column, per, time, grain } = choices
  return (
    <>
      <SelectField
        label="Measure"
        options={worded(HOWS, HOW_WORDS)}
        value={how}
        onChange={({ target }) => change({ how: target.value as How })}
      />
      {how !== 'rows' && (
        <SelectField
          label="Column"
          options={options(known.columns)}
          value={column}
          onChange={({ target }) => change({ column: target.value })}
        />
      )}
      {how === 'per' && (
        <SelectField
          label="Divided by"
          options={options(known.columns)}
          value={per}
          onChange={({ target }) => change({ per: target.value })}
        />
      )}
      <SelectField
        label="Time"
        options={options(known.times)}
        value={time}
        onChange={({ target }) => change({ time: target.value })}
      />
      <GrainField grain={grain} change={change} />
    </>
  )
}

function GrainField({ grain, change }: { grain: Grain; change: PartProps['change'] }) {
  return (
    <SelectField
      label="One value for each"
      options={GRAINS.map((value) => ({ value, label: value }))}
      value={grain}
      onChange={({ target }) => change({ grain: target.value as Grain })}
    />
  )
}

const GOODS: Option[] = [
  { value: 'none', label: 'neither' },
  { value: 'up', label: 'more' },
  { value: 'down', label: 'less' },
]

function Naming({ choices, change }: Pick<PartProps, 'choices' | 'change'>) {
  return (
    <>
      <TextField
        label="Name for readers"
        placeholder={labelOf(choices)}
        value={choices.label}
        onChange={({ target }) => change({ label: target.value })}
      />
      <TextField
        label="Unit"
        placeholder="EUR"
        value={choices.unit}
        onChange={({ target }) => change({ unit: target.value })}
      />
      <SelectField
        label="Better is"
        options={GOODS}
        value={choices.good}
        onChange={({ target }) => change({ good: target.value as Choices['good'] })}
      />
    </>
  )
}

function Fields({ kind, choices, known, change }: PartProps & { kind: Kind }) {
  const ofMetric = 'metric' in choices.of
  return (
    <>
      <div className="grid-fields">
        {kind === 'template' && (
          <SelectField
            label="Question"
            options={worded(questionsFor(choices), QUESTION_WORDS)}
            value={choices.question}
            onChange={({ target }) => change({ question: target.value as Question })}
          />
        )}
        {ofMetric ? (
          <GrainField grain={choices.grain} change={change} />
        ) : (
          <Measure choices={choices} known={known} change={change} />
        )}
        {!ofMetric && <Naming choices={choices} change={change} />}
      </div>
      {known.dimensions.length > 0 && (
        <ChecksField
          legend="Dimensions"
          hint={`What may explain a change.${kind === 'template' ? ' The first one divides the groups.' : ''}`}
          options={known.dimensions.map((value) => ({ value, label: value }))}
          chosen={[...choices.dimensions]}
          onChange={(dimensions) => change({ dimensions })}
        />
      )}
    </>
  )
}

interface BuilderProps {
  kind: Kind
  /** The data from the address; if absent, they are chosen here. */
  of?: BuiltOf | undefined
  /** The present text. The next function replaces it. */
  source: string
  write(text: string): void
  /** True if the first choices are written at once. */
  begins?: boolean
  children?: ReactNode
}

export function Builder({ kind, of, source, write, begins = false }: BuilderProps) {
  const [choices, setChoices] = useState<Choices>({ ...BLANK, of: of ?? { file: '', lines: [] } })
  /** The text that the builder has written, until a user writes by hand. */
  const written = useRef(source)
  const [byHand, setByHand] = useState(false)
  const chosen = choices.of
  const isChosen = !('file' in chosen) || chosen.file !== ''
  const query = useQuery({
    queryKey: ['builder', 'file' in chosen ? chosen.file : chosen],
    queryFn: () => columnsOf(chosen),
    enabled: isChosen,
    staleTime: Number.POSITIVE_INFINITY,
  })
  const put = (next: Choices): void => {
    const text = kind === 'metric' ? metricText(next) : templateText(next)
    written.current = text
    setByHand(false)
    write(text)
  }
  const change = (over: Partial<Choices>): void => {
    const next = settled({ ...choices, ...over })
    setChoices(next)
    if (missingOf(next, kind) !== null) return
    if (source === written.current) put(next)
    else setByHand(true)
  }
  const latest = useRef(change)
  useEffect(() => {
    latest.current = change
  })
  const known = query.data
  const starts = begins || of === undefined
  useEffect(() => {
    if (!known) return
    if (starts) latest.current(known.first)
    else setChoices((before) => settled({ ...before, ...known.first }))
  }, [known, starts])
  const missing = missingOf(choices, kind)
  return (
    <details className="facts builder" open={starts || undefined}>
      <summary>Build it by choosing</summary>
      {of === undefined && (
        <SourceField kind={kind} of={choices.of} onChange={(next) => setChoices({ ...BLANK, of: next })} />
      )}
      {query.isError && <Fault error={query.error} />}
      {query.isFetching && <p className="waiting">Looking at the columns…</p>}
      {known && isChosen && <Fields kind={kind} choices={choices} known={known} change={change} />}
      <div role="status" className="small">
        {known && missing}
        {byHand && 'The text was changed by hand. '}
      </div>
      {byHand && (
        <button type="button" className="button small" onClick={() => put(choices)}>
          Write the text anew
        </button>
      )}
    </details>
  )
}
