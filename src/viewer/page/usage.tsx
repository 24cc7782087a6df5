import { countOf, humanCost, humanCount, humanDuration } from '../../reading/human-figures.ts'
import { cachedShare, type UsageMeasure, usageMeasure, usageSentence } from '../../reading/usage-text.ts'
import type { ToolFigures, Usage, UsageGroupRow, UsageSums } from '../server/api.ts'
import { type SessionFilter, USAGE_GROUPS, type UsageLook } from './address.ts'
import { type Column, errorTone, LoadState, Notice, SessionLink, Table } from './elements.tsx'
import { capitalized, localMidnight, percent, shortCount, timeZone, WEEKDAYS } from './formats.ts'
import { useLoaded } from './loading.ts'
import { go, Link } from './navigation.tsx'
import { Choice, sessionsOf } from './sessions.tsx'
import { now } from './state.ts'
import { dayChart, OTHERS } from './usage-figures.ts'

const PERIODS: Record<string, string> = { '24h': 'today', '7d': 'this week', '30d': 'this month', all: 'in all' }
const PERIOD_DAYS: Readonly<Record<string, number>> = { '24h': 1, '7d': 7, '30d': 30 }

export function UsageView({ look }: { readonly look: UsageLook }) {
  const { since, by } = look
  const query = new URLSearchParams({ by, zone: timeZone() })
  const days = PERIOD_DAYS[since]
  if (days !== undefined) query.set('since', String(localMidnight(now.peek(), 1 - days)))
  const { value, problem } = useLoaded<Usage>(`/api/usage?${query}`)
  const change = (to: Partial<UsageLook>): void => go({ view: 'usage', look: { ...look, ...to } }, 'replace')
  return (
    <>
      <h1>Usage</h1>
      <div class="filters flow">
        <Choice label="Time range" value={since} choices={PERIODS} onChoice={each => change({ since: each })} />
        <Choice label="By" value={by} choices={GROUPS} onChoice={each => change({ by: each as UsageLook['by'] })} />
      </div>
      {(value === undefined || problem !== undefined) && <LoadState problem={problem} />}
      {value !== undefined && <Figures usage={value} look={look} />}
    </>
  )
}

function Figures({ usage, look: { since, by } }: { readonly usage: Usage; readonly look: UsageLook }) {
  const { total, sessions, groups, tools } = usage
  if (total.turnCount + total.requestCount === 0) return <Notice>No turns in this time range.</Notice>
  const filter: SessionFilter = since === 'all' ? {} : { since }
  const marks: MarksProps = { usage, by, measure: usageMeasure(total), filter }
  return (
    <>
      <p class="headline">{usageSentence(total, usage.before, PERIODS[since] ?? '')}</p>
      <p class="dim">
        {countOf(total.requestCount, 'request')} in {countOf(total.turnCount, 'turn')}, {rateText(total)} failed,{' '}
        {shortCount(total.input)} → {shortCount(total.output)} tokens
      </p>
      <Days {...marks} />
      <section>
        <h2>{capitalized(by)}s</h2>
        <Table rows={groups} columns={groupColumns(by, filter)} />
      </section>
      <div class="usage-columns">
        <section>
          <h2>Heaviest sessions</h2>
          <Table rows={sessions} columns={SESSION_COLUMNS} />
        </section>
        <section>
          <h2>{marks.measure.name} by hour of the week</h2>
          <HeatMap {...marks} />
        </section>
      </div>
      {tools.length > 0 && (
        <section>
          <h2>Tools</h2>
          <Table rows={tools} columns={toolColumns(filter)} />
          <p class="small dim">Durations exclude waiting for approval.</p>
        </section>
      )}
    </>
  )
}

const GROUPS = Object.fromEntries(USAGE_GROUPS.map(each => [each, each]))

const SHARES = ['p50', 'p90', 'p99'] as const
const LATENCY = SHARES.map((share): Column<Pick<UsageGroupRow, 'latency'>> => {
  return [share, ({ latency }) => latency && humanDuration(latency[share])]
})

function groupColumns(by: UsageLook['by'], filter: SessionFilter): readonly Column<UsageGroupRow>[] {
  return [
    [capitalized(by), ({ name }) => (name ? sessionsLink(name, { ...filter, [by]: name }) : `no ${by}`)],
    ['Cost', costText],
    ['Tokens in', ({ input }) => shortCount(input)],
    ['Cached', sums => sums.input > 0 && percent(cachedShare(sums))],
    ['Tokens out', ({ output }) => shortCount(output)],
    ['Requests', ({ requestCount }) => humanCount(requestCount)],
    ['Failed', rateText, { tone: errorTone }],
    ...LATENCY,
  ]
}

const SESSION_COLUMNS: readonly Column<UsageGroupRow>[] = [
  ['Session', ({ name, title }) => <SessionLink id={name} title={title} />],
  ['Turns', ({ turnCount }) => turnCount],
  ['Tokens', ({ input, output }) => shortCount(input + output)],
  ['Cost', costText],
]

function toolColumns(filter: SessionFilter): readonly Column<ToolFigures>[] {
  return [
    ['Tool', ({ tool }) => (tool ? sessionsLink(tool, { ...filter, tool }) : 'no name')],
    ['Calls', ({ callCount }) => humanCount(callCount)],
    [
      'Failed',
      ({ tool, callCount, errorCount }) =>
        errorCount > 0 && (
          <Link class="rate line tone-error" to={sessionsOf({ ...filter, tool, outcome: 'error' })}>
            <i aria-hidden="true" style={{ '--share': errorCount / callCount }} />
            {percent(errorCount / callCount)}
          </Link>
        ),
    ],
    ...LATENCY,
  ]
}

function sessionsLink(text: string, filter: SessionFilter) {
  return <Link to={sessionsOf(filter)}>{text}</Link>
}

function costText({ dollars }: UsageSums): string {
  return dollars === 0 ? '' : humanCost(dollars)
}

function rateText({ errorCount, requestCount }: UsageSums): string {
  return percent(requestCount === 0 ? 0 : errorCount / requestCount)
}

type MarksProps = Readonly<{ usage: Usage; by: UsageLook['by']; measure: UsageMeasure; filter: SessionFilter }>

const COLOURS = ['api', 'approval', 'tool', 'subagent', 'skill', 'other'] as const
const COLUMN_HEIGHT = 160

/** Stacked columns for the mouse. Keyboards and screen readers have the table below, with the same links. */
function Days({ usage, by, measure }: MarksProps) {
  const { names, columns, max } = dayChart(usage, measure)
  const series = names.map((name, index) => ({
    name,
    text: name || `no ${by}`,
    colour: { '--kind': `var(--kind-${COLOURS[index] ?? 'other'})` },
    sessions: (day: string) => (name === OTHERS || name === '' ? { day } : { day, [by]: name }),
  }))
  return (
    <figure class="card days">
      <figcaption class="flow">
        {measure.name} per day, at most {measure.text(max)}
        <span class="legend flow">
          {series.map(({ name, text, colour }) => (
            <span key={name} style={colour}>
              {text}
            </span>
          ))}
        </span>
      </figcaption>
      <div class="columns" aria-hidden="true">
        {columns.map(({ day, value, parts }) => (
          <div key={day} class="column" title={`${day}: ${measure.text(value)}`}>
            <div class="parts">
              {series.map(({ name, text, colour, sessions }, index) => {
                const part = parts[index] ?? 0
                if (part === 0) return null
                return (
                  <Link
                    key={name}
                    to={sessionsOf(sessions(day))}
                    tabIndex={-1}
                    title={`${day}, ${text}: ${measure.text(part)}`}
                  >
                    <i style={{ ...colour, height: `${(part / max) * COLUMN_HEIGHT}px` }} />
                  </Link>
                )
              })}
            </div>
            <span class="day">{day.slice(5)}</span>
          </div>
        ))}
      </div>
      <details>
        <summary>Show as a table</summary>
        <Table
          rows={columns}
          columns={[
            ['Day', ({ day }) => sessionsLink(day, { day })],
            ...series.map(({ text, sessions }, index): Column<(typeof columns)[number]> => {
              const cell = (part = 0, day = '') => part > 0 && sessionsLink(measure.text(part), sessions(day))
              return [text, ({ day, parts }) => cell(parts[index], day)]
            }),
            ['Sum', ({ value }) => measure.text(value)],
          ]}
        />
      </details>
    </figure>
  )
}

const DAY_HOURS = Array.from({ length: 24 }, (_, hour) => hour)

function HeatMap({ usage: { hours }, measure, filter }: MarksProps) {
  const values = hours.map(measure.amountOf)
  const max = values.reduce((most, value) => Math.max(most, value), 0)
  return (
    <table class="heat">
      <thead>
        <tr>
          <td />
          {DAY_HOURS.map(hour => (
            <th key={hour} scope="col">
              {hour % 6 === 0 ? hour : <span class="unseen">{hour}</span>}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {WEEKDAYS.map((weekday, index) => (
          <tr key={weekday}>
            <th scope="row">{weekday}</th>
            {DAY_HOURS.map(hour => {
              const weekHour = index * 24 + hour
              const value = values[weekHour] ?? 0
              const label = `${weekday} ${hour}:00: ${measure.text(value)}`
              return (
                <td key={hour}>
                  {value > 0 && (
                    <Link to={sessionsOf({ ...filter, hour: String(weekHour) })} aria-label={label} title={label}>
                      <i style={{ '--share': value / max }} />
                    </Link>
                  )}
                </td>
              )
            })}
          </tr>
        ))}
      </tbody>
    </table>
  )
}
