import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { countOf, humanCost, humanDuration } from '../../reading/human-figures.ts'
import type { FacetName, Facets, SessionPage, SessionRow } from '../server/api.ts'
import type { SessionFilter } from './address.ts'
import { Ago, type ColumnSort, Notice, shortId, Table, timeText } from './elements.tsx'
import { ageMillis, localMidnight, shortCount, timeZone, WEEKDAYS } from './formats.ts'
import { useLoaded } from './loading.ts'
import { go, Link } from './navigation.tsx'
import { fetchJson, ViewerRequestError } from './requests.ts'
import { now } from './state.ts'
import { useTextMarks } from './text-marks.ts'

export function SessionsView({ filter }: { readonly filter: SessionFilter }): JSX.Element {
  const query = queryOf(filter)
  useTextMarks(filter.text?.split(/\s+/) ?? [])
  const { value, problem } = useLoaded<SessionPage>(`/api/sessions?facets=1&${query}`)
  return (
    <>
      <h1>Sessions</h1>
      <FilterBar filter={filter} />
      <div class="with-facets">
        <FacetLists filter={filter} facets={value?.facets} />
        <div class="results">
          {problem !== undefined && <Notice tone="failed">{problem}</Notice>}
          {value?.rows.length === 0 && (
            <Notice>{query === '' ? 'There are no sessions yet.' : 'No session matches the filters.'}</Notice>
          )}
          {value !== undefined && value.rows.length > 0 && (
            <>
              {value.searchedSince !== undefined && (
                <Notice>Searched back to {timeText(value.searchedSince)}. Narrow the filters to search further.</Notice>
              )}
              <SessionTable rows={value.rows} filter={filter} />
              <More key={query} query={query} first={value} filter={filter} />
            </>
          )}
        </div>
      </div>
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
  return String(query)
}

interface MoreProps {
  readonly query: string
  readonly first: SessionPage
  readonly filter: SessionFilter
}

/** Further pages of the list. Only the first page is kept up to date. */
function More({ query, first, filter }: MoreProps): JSX.Element | null {
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
      {rows.length > 0 && <SessionTable rows={rows} filter={filter} />}
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
  return (
    <search class="filters">
      <label>
        <span>Text</span>
        <input
          type="search"
          value={draft.text ?? ''}
          spellcheck={false}
          onInput={event => set('text', event.currentTarget.value)}
        />
      </label>
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
      {Object.keys(filter).length > 0 && (
        <Link class="clear" to={{ view: 'sessions', filter: {} }}>
          Clear all filters
        </Link>
      )}
    </search>
  )
}

const FACETS: readonly (readonly [FacetName, string])[] = [
  ['outcome', 'Status'],
  ['project', 'Project'],
  ['branch', 'Branch'],
  ['agent', 'Agent'],
  ['model', 'Model'],
  ['tool', 'Tool'],
]
const OUTCOMES: Readonly<Record<string, string>> = { running: 'open', error: 'with errors' }
const WIDE = matchMedia('(min-width: 900px)')

interface FacetsProps {
  readonly filter: SessionFilter
  readonly facets: Facets | undefined
}

/** The values to filter by. A facet with a single value that is not chosen filters nothing, and is left out. */
function FacetLists({ filter, facets }: FacetsProps): JSX.Element | null {
  const lists = FACETS.map(([name, label]) => ({ name, label, values: facets?.[name] ?? [], chosen: filter[name] }))
  const useful = lists.filter(({ values, chosen }) => values.length > 1 || chosen !== undefined)
  if (useful.length === 0) return null
  return (
    <aside class="facets" aria-label="Filters">
      {useful.map(({ name, label, values, chosen }) => (
        <details key={name} open={WIDE.matches || chosen !== undefined}>
          <summary>{label}</summary>
          <ul>
            {values.map(([value, count]) => (
              <li key={value}>
                <Facet filter={filter} name={name} value={value} count={count} />
              </li>
            ))}
          </ul>
        </details>
      ))}
    </aside>
  )
}

interface FacetProps extends Pick<FacetsProps, 'filter'> {
  readonly name: FacetName
  readonly value: string
  readonly count: number
}

function Facet({ filter, name, value, count }: FacetProps): JSX.Element {
  const { [name]: chosen, ...others } = filter
  const isChosen = chosen === value
  return (
    <Link
      class="facet"
      to={{ view: 'sessions', filter: isChosen ? others : { ...others, [name]: value } }}
      isCurrent={isChosen}
    >
      <span class="one-line">{(name === 'outcome' && OUTCOMES[value]) || value}</span>
      <span class="number dim">{count}</span>
    </Link>
  )
}

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
const TEXT_COLUMNS = 2

/** The columns that sort the list with this filter. The highest value comes first, at the second click the lowest. */
function sortsOf(filter: SessionFilter): Record<string, ColumnSort> {
  const { sort = 'last', ...others } = filter
  const sortOf = (head: string): ColumnSort => {
    const name = head.toLowerCase()
    const direction = sort === name ? 'descending' : sort === `-${name}` ? 'ascending' : undefined
    const next = direction === 'descending' ? `-${name}` : name
    return { to: { view: 'sessions', filter: next === 'last' ? others : { ...others, sort: next } }, direction }
  }
  return Object.fromEntries(HEADS.slice(TEXT_COLUMNS).map(head => [head, sortOf(head)]))
}

interface SessionTableProps {
  readonly rows: readonly SessionRow[]
  readonly filter?: SessionFilter
}

export function SessionTable({ rows, filter }: SessionTableProps): JSX.Element {
  return (
    <Table class="sessions" heads={HEADS} textColumns={TEXT_COLUMNS} sorts={filter && sortsOf(filter)}>
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
  const { agent, model, project, branch, turnCount, tokens, cost, waitedMillis, errorCount } = row
  const { input = 0, output = 0 } = tokens ?? {}
  return (
    <tr>
      <Title row={row} />
      <td>
        {agent}
        <div class="dim small one-line">{[project, branch].filter(text => text !== '').join(' · ')}</div>
        <div class="dim small one-line">{model}</div>
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
