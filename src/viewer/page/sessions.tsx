import { useState } from 'preact/hooks'
import { countOf, humanCost, humanDuration } from '../../reading/human-figures.ts'
import type { FacetName, Facets, SessionPage, SessionRow } from '../server/api.ts'
import { ALL_SESSIONS, changedLook, type PageAddress, type SessionFilter, turnAddress } from './address.ts'
import { Ago, type Column, type ColumnSort, errorTone, LoadState, Notice, SessionLink, Table } from './elements.tsx'
import { ageMillis, dotted, localMidnight, shortCount, timeText, timeZone, WEEKDAYS } from './formats.ts'
import { useLoaded } from './loading.ts'
import { go, Link } from './navigation.tsx'
import { now } from './state.ts'
import { useTextMarks } from './text-marks.ts'

type FilterProps = Readonly<{ filter: SessionFilter }>

const PAGE_ROWS = 50

export function SessionsView({ filter }: FilterProps) {
  const [limit, setLimit] = useState(PAGE_ROWS)
  const query = queryOf(filter)
  useTextMarks(filter.text?.split(/\s+/) ?? [])
  const { value, problem } = useLoaded<SessionPage>(`/api/sessions?facets=1&limit=${limit}&${query}`)
  const isEmpty = value?.rows.length === 0
  return (
    <>
      <h1>Sessions</h1>
      <FilterBar filter={filter} />
      <div class="with-facets">
        <FacetLists filter={filter} facets={value?.facets} />
        <div class="results">
          {(value === undefined || problem !== undefined) && <LoadState problem={problem} />}
          {isEmpty && (
            <Notice>{query === '' ? 'There are no sessions yet.' : 'No session matches the filters.'}</Notice>
          )}
          {value?.searchedSince !== undefined && !isEmpty && (
            <Notice>Searched back to {timeText(value.searchedSince)}. Narrow the filters to search further.</Notice>
          )}
          {value !== undefined && !isEmpty && <SessionTable rows={value.rows} filter={filter} />}
          {value?.hasMore &&
            (value.rows.length < limit ? (
              <Notice>These are the first {value.rows.length}. Narrow the filters to see others.</Notice>
            ) : (
              <p>
                <button type="button" onClick={() => setLimit(limit * 2)} children="More" />
              </p>
            ))}
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

function FilterBar({ filter }: FilterProps) {
  const set = (changes: SessionFilter): void => go(sessionsOf(changedLook(filter, changes)), 'replace')
  const { text, since = '', day, hour } = filter
  const shownHour = hour && `${WEEKDAYS[Math.floor(Number(hour) / 24)]} ${Number(hour) % 24}:00`
  return (
    <search class="filters flow">
      <TextFilter text={text} onText={value => set({ text: value })} />
      <Choice label="Time range" value={since} onChoice={value => set({ since: value })} choices={AGES} />
      {Object.entries({ day, hour: shownHour }).map(
        ([name, shown]) =>
          shown && (
            <button key={name} type="button" aria-label={`Remove filter: ${shown}`} onClick={() => set({ [name]: '' })}>
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

type TextFilterProps = Readonly<{ text: string | undefined; onText: (text: string) => void }>

export function TextFilter({ text = '', onText }: TextFilterProps) {
  return (
    <label>
      <span>Text</span>
      <input type="search" value={text} spellcheck={false} onInput={event => onText(event.currentTarget.value)} />
    </label>
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
      {useful.map(name => (
        <details key={name} open={WIDE.matches || filter[name] !== undefined}>
          <summary>{FACETS[name]}</summary>
          <ul>
            {facets?.[name]?.map(([value, count]) => {
              const isChosen = filter[name] === value
              const to = sessionsOf(changedLook(filter, { [name]: isChosen ? '' : value }))
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
      ))}
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

/** The columns that sort the list with this filter. The highest value comes first, at the second click the lowest. */
function sortsOf(filter: SessionFilter): Record<string, ColumnSort> {
  const { sort = 'last' } = filter
  const sortOf = (head: string): ColumnSort => {
    const name = head.toLowerCase()
    const direction = sort === name ? 'descending' : sort === `-${name}` ? 'ascending' : undefined
    const next = direction === 'descending' ? `-${name}` : name
    return { to: sessionsOf(changedLook(filter, { sort: next === 'last' ? '' : next })), direction }
  }
  return Object.fromEntries(SORTED.map(head => [head, sortOf(head)]))
}

const SORTED = ['Turns', 'Tokens', 'Cost', 'Waiting', 'Errors', 'Last'] as const
const COLUMNS: readonly Column<SessionRow>[] = [
  ['Session', row => <SessionCell {...row} />],
  ['Agent', row => <AgentCell {...row} />, { isText: true }],
  ['Turns', ({ turnCount }) => turnCount],
  [
    'Tokens',
    ({ tokens: { input = 0, output = 0 } = {} }) => input + output > 0 && shortCount(input + output),
    {
      title: ({ tokens }) => `${countOf(tokens?.input ?? 0, 'token')} in, ${countOf(tokens?.output ?? 0, 'token')} out`,
    },
  ],
  ['Cost', ({ cost }) => cost.paidCount > 0 && humanCost(cost.dollars)],
  ['Waiting', ({ waitedMillis }) => waitedMillis > 0 && humanDuration(waitedMillis)],
  ['Errors', ({ errorCount }) => errorCount > 0 && errorCount, { tone: errorTone }],
  ['Last', ({ lastAt }) => <Ago at={lastAt} />],
]

export function SessionTable({ rows, filter }: Partial<FilterProps> & Pick<SessionPage, 'rows'>) {
  const sorts = filter && sortsOf(filter)
  return <Table class="sessions" rows={rows} columns={COLUMNS} keyOf={({ id }) => id} sorts={sorts} />
}

function SessionCell({ id, title, latestTitle = '', state, isWaitingForPerson, match }: SessionRow) {
  return (
    <>
      <SessionLink id={id} title={title} />
      {isWaitingForPerson && <span class="badge is-waiting">waiting for approval</span>}
      {state === 'open' && !isWaitingForPerson && <span class="badge is-running">open</span>}
      {state === 'owner-dead' && <span class="badge is-owner-dead">process exited</span>}
      {latestTitle !== '' && match === undefined && <div class="small dim one-line">Latest: {latestTitle}</div>}
      {match !== undefined && (
        <Link class="match small dim" to={turnAddress(match.traceId, match.spanId)}>
          {match.excerpt || 'here'}
        </Link>
      )}
    </>
  )
}

function AgentCell({ agent, project, branch, model }: SessionRow) {
  return (
    <>
      <div class="one-line">{agent}</div>
      <div class="dim small one-line">{dotted(project, branch)}</div>
      <div class="dim small one-line">{model}</div>
    </>
  )
}
