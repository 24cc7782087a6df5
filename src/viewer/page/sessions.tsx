import { useState } from 'preact/hooks'
import { countOf, humanCost, humanDuration } from '../../reading/human-figures.ts'
import type { FacetName, Facets, SessionPage, SessionRow } from '../server/api.ts'
import { ALL_SESSIONS, type PageAddress, type SessionFilter } from './address.ts'
import { Ago, type ColumnSort, Notice, NumberCell, Table } from './elements.tsx'
import { ageMillis, dotted, localMidnight, shortCount, shortId, timeText, timeZone, WEEKDAYS } from './formats.ts'
import { useLoaded } from './loading.ts'
import { go, Link } from './navigation.tsx'
import { fetchJson, problemOf } from './requests.ts'
import { now } from './state.ts'
import { useTextMarks } from './text-marks.ts'

interface FilterProps {
  readonly filter: SessionFilter
}

export function SessionsView({ filter }: FilterProps) {
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
          {value?.searchedSince !== undefined && value.rows.length > 0 && (
            <Notice>Searched back to {timeText(value.searchedSince)}. Narrow the filters to search further.</Notice>
          )}
          {value !== undefined && value.rows.length > 0 && (
            <Results key={query} query={query} first={value} filter={filter} />
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

/** The pages of the list. Only the first page is kept up to date. */
function Results({ query, first, filter }: FilterProps & { readonly query: string; readonly first: SessionPage }) {
  const [more, setMore] = useState<SessionPage>()
  const [problem, setProblem] = useState('')
  const before = (more ?? first).next
  const shown = new Set(first.rows.map(({ id }) => id))
  const rows = more?.rows.filter(({ id }) => !shown.has(id)) ?? []
  const load = async (): Promise<void> => {
    const next = new URLSearchParams(query)
    next.set('before', before ?? '')
    try {
      const page = await fetchJson<SessionPage>(`/api/sessions?${next}`)
      setMore({ ...page, rows: [...(more?.rows ?? []), ...page.rows] })
    } catch (error) {
      setProblem(problemOf(error))
    }
  }
  return (
    <>
      <SessionTable rows={first.rows} filter={filter} />
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

function FilterBar({ filter }: FilterProps) {
  const set = (name: keyof SessionFilter, value: string): void => {
    const { [name]: _, ...rest } = filter
    go(sessionsOf(value === '' ? rest : { ...rest, [name]: value }), 'replace')
  }
  const { text = '', since = '', day, hour } = filter
  const chosen = [
    ['day', day],
    ['hour', hour && `${WEEKDAYS[Math.floor(Number(hour) / 24)]} ${Number(hour) % 24}:00`],
  ] as const
  return (
    <search class="filters flow">
      <label>
        <span>Text</span>
        <input
          type="search"
          value={text}
          spellcheck={false}
          onInput={event => set('text', event.currentTarget.value)}
        />
      </label>
      <Choice label="Time range" value={since} onChoice={value => set('since', value)} choices={AGES} />
      {chosen.map(
        ([name, shown]) =>
          shown && (
            <button key={name} type="button" aria-label={`Remove filter: ${shown}`} onClick={() => set(name, '')}>
              {shown} ×
            </button>
          ),
      )}
      {Object.keys(filter).length > 0 && (
        <Link class="clear" to={ALL_SESSIONS}>
          Clear all filters
        </Link>
      )}
    </search>
  )
}

export function sessionsOf(filter: SessionFilter): PageAddress {
  return { view: 'sessions', filter }
}

const FACETS = { outcome: 'Status', project: 'Project', branch: 'Branch', agent: 'Agent', model: 'Model', tool: 'Tool' }
const OUTCOMES: Readonly<Record<string, string>> = { running: 'open', error: 'with errors' }
const WIDE = matchMedia('(min-width: 900px)')

/** The values to filter by. A facet with a single value that is not chosen filters nothing, and is left out. */
function FacetLists({ filter, facets }: FilterProps & { readonly facets: Facets | undefined }) {
  const names = Object.keys(FACETS) as FacetName[]
  const useful = names.filter(name => (facets?.[name] ?? []).length > 1 || filter[name] !== undefined)
  if (useful.length === 0) return null
  return (
    <aside class="facets" aria-label="Filters">
      {useful.map(name => {
        const { [name]: chosen, ...others } = filter
        return (
          <details key={name} open={WIDE.matches || chosen !== undefined}>
            <summary>{FACETS[name]}</summary>
            <ul>
              {facets?.[name]?.map(([value, count]) => {
                const isChosen = chosen === value
                const to = sessionsOf(isChosen ? others : { ...others, [name]: value })
                return (
                  <li key={value}>
                    <Link class="facet" to={to} isCurrent={isChosen}>
                      <span class="one-line">{(name === 'outcome' && OUTCOMES[value]) || value}</span>
                      <span class="number dim">{count}</span>
                    </Link>
                  </li>
                )
              })}
            </ul>
          </details>
        )
      })}
    </aside>
  )
}

const AGES = { '': 'any time', '1h': 'an hour', '24h': 'a day', '7d': 'a week', '30d': 'a month' }

interface ChoiceProps {
  readonly label: string
  readonly value: string
  /** The label of each value. */
  readonly choices: Readonly<Record<string, string>>
  readonly onChoice: (value: string) => void
}

export function Choice({ label, value, choices, onChoice }: ChoiceProps) {
  return (
    <label>
      <span>{label}</span>
      <select value={value} onChange={event => onChoice(event.currentTarget.value)}>
        {Object.entries(choices).map(([each, words]) => (
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
    return { to: sessionsOf(next === 'last' ? others : { ...others, sort: next }), direction }
  }
  return Object.fromEntries(HEADS.slice(TEXT_COLUMNS).map(head => [head, sortOf(head)]))
}

export function SessionTable({ rows, filter }: Partial<FilterProps> & Pick<SessionPage, 'rows'>) {
  return (
    <Table class="sessions" heads={HEADS} textColumns={TEXT_COLUMNS} sorts={filter && sortsOf(filter)}>
      {rows.map(row => (
        <Row key={row.id} {...row} />
      ))}
    </Table>
  )
}

function Row({
  id,
  title,
  state,
  isWaitingForPerson,
  match,
  tokens,
  cost,
  waitedMillis,
  errorCount,
  ...row
}: SessionRow) {
  const { input = 0, output = 0 } = tokens ?? {}
  return (
    <tr>
      <td class="title">
        <Link class="two-lines" to={{ view: 'session', id }}>
          {title || `Session ${shortId(id)}`}
        </Link>
        {isWaitingForPerson && <span class="badge is-waiting">waiting for approval</span>}
        {state === 'open' && !isWaitingForPerson && <span class="badge is-running">open</span>}
        {state === 'owner-dead' && <span class="badge is-owner-dead">process exited</span>}
        {match !== undefined && (
          <Link class="match small dim" to={{ view: 'turn', traceId: match.traceId, look: { span: match.spanId } }}>
            {match.excerpt || 'here'}
          </Link>
        )}
      </td>
      <td>
        {row.agent}
        <div class="dim small one-line">{dotted(row.project, row.branch)}</div>
        <div class="dim small one-line">{row.model}</div>
      </td>
      <NumberCell data-label={row.turnCount === 1 ? 'turn' : 'turns'}>{row.turnCount}</NumberCell>
      <NumberCell data-label="tokens" title={`${countOf(input, 'token')} in, ${countOf(output, 'token')} out`}>
        {input + output > 0 && shortCount(input + output)}
      </NumberCell>
      <NumberCell data-label="cost">{cost.paidCount > 0 && humanCost(cost.dollars)}</NumberCell>
      <NumberCell data-label="waiting">{waitedMillis > 0 && humanDuration(waitedMillis)}</NumberCell>
      <NumberCell data-label={errorCount === 1 ? 'error' : 'errors'} tone={errorCount > 0 ? 'tone-error' : ''}>
        {errorCount > 0 && errorCount}
      </NumberCell>
      <NumberCell>
        <Ago at={row.lastAt} />
      </NumberCell>
    </tr>
  )
}
