import type { JSX } from 'preact'
import { useEffect, useId, useState } from 'preact/hooks'
import type { SessionPage, SessionRow, UsageNumbers } from '../server/api.ts'
import type { SessionFilter } from './address.ts'
import { ask, NotAnswered } from './ask.ts'
import { useLoaded } from './loading.ts'
import { go } from './navigation.tsx'
import { Notice, timeText } from './pieces.tsx'
import { SessionTable } from './session-table.tsx'
import { now } from './state.ts'
import { ageMillis } from './words.ts'

export function SessionsView({ filter }: { readonly filter: SessionFilter }): JSX.Element {
  const query = queryOf(filter)
  const { value, problem } = useLoaded<SessionPage>(`/api/sessions${query}`)
  return (
    <>
      <h1>Sessions</h1>
      <FilterBar filter={filter} />
      {problem !== undefined && <Notice tone="failed">{problem}</Notice>}
      {value?.rows.length === 0 && (
        <Notice>{query === '' ? 'There are no sessions yet.' : 'No session has all of that.'}</Notice>
      )}
      {value !== undefined && value.rows.length > 0 && (
        <>
          {value.searchedSince !== undefined && (
            <Notice>Looked no further back than {timeText(value.searchedSince)}: narrower conditions find more.</Notice>
          )}
          <SessionTable rows={value.rows} />
          <More key={query} query={query} first={value} />
        </>
      )}
    </>
  )
}

/** Ages are rounded to whole minutes: a query that changes constantly would be reloaded constantly. */
function queryOf({ since, ...filter }: SessionFilter): string {
  const query = new URLSearchParams(filter as Record<string, string>)
  const millis = ageMillis(since ?? '')
  if (millis !== undefined) query.set('since', String(Math.floor((now.peek() - millis) / 60_000) * 60_000))
  return query.size === 0 ? '' : `?${query}`
}

/** Further pages of the list. Only the first page is kept up to date. */
function More({ query, first }: { readonly query: string; readonly first: SessionPage }): JSX.Element | null {
  const [more, setMore] = useState<{ readonly rows: readonly SessionRow[]; readonly before: string | undefined }>()
  const [problem, setProblem] = useState('')
  const before = more === undefined ? first.next : more.before
  const shown = new Set(first.rows.map(({ id }) => id))
  const load = async (): Promise<void> => {
    const next = new URLSearchParams(query)
    next.set('before', before ?? '')
    try {
      const page = await ask<SessionPage>(`/api/sessions?${next}`)
      setMore({ rows: [...(more?.rows ?? []), ...page.rows], before: page.next })
    } catch (error) {
      setProblem(error instanceof NotAnswered ? error.message : 'This could not be read.')
    }
  }
  const rows = more?.rows.filter(({ id }) => !shown.has(id)) ?? []
  return (
    <>
      {rows.length > 0 && <SessionTable rows={rows} />}
      {problem !== '' && <Notice tone="failed">{problem}</Notice>}
      {before !== undefined && (
        <p>
          <button type="button" onClick={() => void load()}>
            More
          </button>
        </p>
      )}
    </>
  )
}

const TYPING_MILLIS = 300

function FilterBar({ filter }: { readonly filter: SessionFilter }): JSX.Element {
  const [draft, setDraft] = useState(filter)
  const isSame = JSON.stringify(draft) === JSON.stringify(filter)
  useEffect(() => {
    if (isSame) return undefined
    const timer = setTimeout(() => go({ view: 'sessions', filter: draft }, 'replace'), TYPING_MILLIS)
    return () => clearTimeout(timer)
  }, [draft, isSame])
  // Going back in the history restores the earlier filter.
  useEffect(() => setDraft(filter), [JSON.stringify(filter)])
  const set = (name: keyof SessionFilter, value: string): void => {
    const { [name]: _, ...rest } = draft
    setDraft(value === '' ? rest : { ...rest, [name]: value })
  }
  const names = useNames()
  const text = (name: TextName, label: string): JSX.Element => (
    <TextField label={label} value={draft[name] ?? ''} offers={names[name] ?? []} onText={value => set(name, value)} />
  )
  return (
    <search class="filters">
      {text('text', 'Text')}
      {text('agent', 'Agent')}
      {text('model', 'Model')}
      {text('tool', 'Tool')}
      <Choice label="Status" value={draft.outcome ?? ''} onChoice={value => set('outcome', value)} choices={OUTCOMES} />
      <Choice label="Time range" value={draft.since ?? ''} onChoice={value => set('since', value)} choices={AGES} />
    </search>
  )
}

type TextName = 'text' | 'agent' | 'model' | 'tool'

/** Suggestions for the filters. Loaded once, because they hardly change. */
function useNames(): { readonly [Name in TextName]?: readonly string[] } {
  const { value } = useLoaded<UsageNumbers>('/api/numbers', () => false)
  if (value === undefined) return {}
  return {
    agent: value.agents,
    model: value.models.map(({ model }) => model).filter(model => model !== ''),
    tool: value.tools.map(({ tool }) => tool).filter(tool => tool !== ''),
  }
}

interface TextFieldProps {
  readonly label: string
  readonly value: string
  readonly offers: readonly string[]
  readonly onText: (value: string) => void
}

function TextField({ label, value, offers, onText }: TextFieldProps): JSX.Element {
  const id = useId()
  return (
    <label>
      <span>{label}</span>
      <input
        type="search"
        list={id}
        value={value}
        spellcheck={false}
        onInput={event => onText(event.currentTarget.value)}
      />
      <datalist id={id}>
        {offers.map(each => (
          <option key={each} value={each} />
        ))}
      </datalist>
    </label>
  )
}

const OUTCOMES: readonly (readonly [string, string])[] = [
  ['', 'any'],
  ['running', 'open'],
  ['error', 'with errors'],
  ['completed', 'completed'],
  ['interrupted', 'interrupted'],
  ['failed', 'failed'],
]
const AGES: readonly (readonly [string, string])[] = [
  ['', 'any time'],
  ['1h', 'an hour'],
  ['24h', 'a day'],
  ['7d', 'a week'],
  ['30d', 'a month'],
]

interface ChoiceProps {
  readonly label: string
  readonly value: string
  readonly choices: readonly (readonly [string, string])[]
  readonly onChoice: (value: string) => void
}

export function Choice({ label, value, choices, onChoice }: ChoiceProps): JSX.Element {
  return (
    <label>
      <span>{label}</span>
      <select value={value} onChange={event => onChoice(event.currentTarget.value)}>
        {choices.map(([each, words]) => (
          <option key={each} value={each}>
            {words}
          </option>
        ))}
      </select>
    </label>
  )
}
