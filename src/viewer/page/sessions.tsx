import type { JSX } from 'preact'
import { useEffect, useId, useState } from 'preact/hooks'
import { countOf, humanCost, humanDuration } from '../../reading/human-figures.ts'
import type { SessionPage, SessionRow, Usage } from '../server/api.ts'
import type { SessionFilter } from './address.ts'
import { Ago, Notice, shortId, Table, timeText } from './elements.tsx'
import { ageMillis, localMidnight, shortCount, timeZone, WEEKDAYS } from './formats.ts'
import { useLoaded } from './loading.ts'
import { go, Link } from './navigation.tsx'
import { fetchJson, ViewerRequestError } from './requests.ts'
import { now } from './state.ts'

export function SessionsView({ filter }: { readonly filter: SessionFilter }): JSX.Element {
  const query = queryOf(filter)
  const { value, problem } = useLoaded<SessionPage>(`/api/sessions${query}`)
  return (
    <>
      <h1>Sessions</h1>
      <FilterBar filter={filter} />
      {problem !== undefined && <Notice tone="failed">{problem}</Notice>}
      {value?.rows.length === 0 && (
        <Notice>{query === '' ? 'There are no sessions yet.' : 'No session matches the filters.'}</Notice>
      )}
      {value !== undefined && value.rows.length > 0 && (
        <>
          {value.searchedSince !== undefined && (
            <Notice>Searched back to {timeText(value.searchedSince)}. Narrow the filters to search further.</Notice>
          )}
          <SessionTable rows={value.rows} />
          <More key={query} query={query} first={value} />
        </>
      )}
    </>
  )
}

/** Ages are rounded to whole minutes: a query that changes constantly would be reloaded constantly. */
function queryOf({ since, day, ...filter }: SessionFilter): string {
  const query = new URLSearchParams(filter as Record<string, string>)
  if (filter.hour !== undefined) query.set('zone', timeZone())
  const dayAt = Date.parse(`${day}T00:00`)
  if (!Number.isNaN(dayAt)) {
    query.set('since', String(dayAt))
    query.set('until', String(localMidnight(dayAt, 1) - 1))
  }
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
      const page = await fetchJson<SessionPage>(`/api/sessions?${next}`)
      setMore({ rows: [...(more?.rows ?? []), ...page.rows], before: page.next })
    } catch (error) {
      setProblem(error instanceof ViewerRequestError ? error.message : 'Loading failed.')
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
      {(['day', 'hour'] as const).map(name => {
        const { [name]: value = '' } = draft
        if (value === '') return null
        const shown = name === 'day' ? value : `${WEEKDAYS[Math.floor(Number(value) / 24)]} ${Number(value) % 24}:00`
        return (
          <button key={name} type="button" aria-label={`Remove filter: ${shown}`} onClick={() => set(name, '')}>
            {shown} ×
          </button>
        )
      })}
    </search>
  )
}

type TextName = 'text' | 'agent' | 'model' | 'tool'

/** Suggestions for the filters. Loaded once, because they hardly change. */
function useNames(): { readonly [Name in TextName]?: readonly string[] } {
  const { value } = useLoaded<Usage>('/api/usage', () => false)
  if (value === undefined) return {}
  return {
    agent: value.agents,
    model: value.models,
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

const HEADS = ['Session', 'Agent', 'Turns', 'Tokens', 'Cost', 'Waiting', 'Errors', 'Last'] as const

export function SessionTable({ rows }: { readonly rows: readonly SessionRow[] }): JSX.Element {
  return (
    <Table class="sessions" heads={HEADS} textColumns={2}>
      {rows.map(row => (
        <Row key={row.id} row={row} />
      ))}
    </Table>
  )
}

function Title({ row }: { readonly row: SessionRow }): JSX.Element {
  const { id, title, state, isWaitingForPerson, match } = row
  return (
    <td class="title">
      <Link class="two-lines" to={{ view: 'session', id }}>
        {title || `Session ${shortId(id)}`}
      </Link>
      {isWaitingForPerson && <span class="badge is-waiting">waiting for approval</span>}
      {state === 'open' && !isWaitingForPerson && <span class="badge is-running">open</span>}
      {state === 'owner-dead' && <span class="badge is-owner-dead">process exited</span>}
      {match !== undefined && (
        <Link class="match small" to={{ view: 'turn', traceId: match.traceId, look: { span: match.spanId } }}>
          {match.excerpt || 'here'}
        </Link>
      )}
    </td>
  )
}

function Row({ row }: { readonly row: SessionRow }): JSX.Element {
  const { agent, model, turnCount, tokens, cost, waitedMillis, errorCount } = row
  const { input = 0, output = 0 } = tokens ?? {}
  return (
    <tr>
      <Title row={row} />
      <td>
        {agent} <span class="dim small">{model}</span>
      </td>
      <td class="number" data-label={turnCount === 1 ? 'turn' : 'turns'}>
        {turnCount}
      </td>
      <td class="number" data-label="tokens" title={`${countOf(input, 'token')} in, ${countOf(output, 'token')} out`}>
        {input + output === 0 ? '' : shortCount(input + output)}
      </td>
      <td class="number" data-label="cost">
        {cost.paidCount === 0 ? '' : humanCost(cost.dollars)}
      </td>
      <td class="number" data-label="waiting">
        {waitedMillis === 0 ? '' : humanDuration(waitedMillis)}
      </td>
      <td class={`number ${errorCount > 0 ? 'tone-error' : ''}`} data-label={errorCount === 1 ? 'error' : 'errors'}>
        {errorCount === 0 ? '' : errorCount}
      </td>
      <td class="number">
        <Ago at={row.lastAt} />
      </td>
    </tr>
  )
}
