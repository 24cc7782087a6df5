import type { ComponentChildren, JSX } from 'preact'
import { countOf, humanCost, humanCount, humanDuration } from '../../reading/human-figures.ts'
import { cachedShare, type UsageMeasure, usageMeasure, usageSentence } from '../../reading/usage-sentence.ts'
import type { Percentiles, ToolFigures, Usage, UsageGroupRow, UsageSums } from '../server/api.ts'
import { type SessionFilter, USAGE_GROUPS, type UsageLook } from './address.ts'
import { Notice, shortId, Table } from './elements.tsx'
import { localMidnight, percent, shortCount, timeZone, WEEKDAYS } from './formats.ts'
import { useLoaded } from './loading.ts'
import { go, Link } from './navigation.tsx'
import { Choice } from './sessions.tsx'
import { now } from './state.ts'
import { type DayChart, dayChart, groupName, OTHERS } from './usage-figures.ts'

const PERIODS: readonly (readonly [since: string, label: string])[] = [
  ['24h', 'today'],
  ['7d', 'this week'],
  ['30d', 'this month'],
  ['all', 'in all'],
]
const PERIOD_DAYS: Readonly<Record<string, number>> = { '24h': 1, '7d': 7, '30d': 30 }

export function UsageView({ look }: { readonly look: UsageLook }): JSX.Element {
  const { since, by } = look
  const query = new URLSearchParams({ by, zone: timeZone() })
  const days = PERIOD_DAYS[since]
  if (days !== undefined) query.set('since', String(localMidnight(now.peek(), 1 - days)))
  const { value, problem } = useLoaded<Usage>(`/api/usage?${query}`)
  const change = (to: Partial<UsageLook>): void => go({ view: 'usage', look: { ...look, ...to } }, 'replace')
  return (
    <>
      <h1>Usage</h1>
      <div class="filters">
        <Choice label="Time range" value={since} choices={PERIODS} onChoice={each => change({ since: each })} />
        <Choice
          label="By"
          value={by}
          choices={USAGE_GROUPS.map(each => [each, each])}
          onChoice={each => change({ by: each as UsageLook['by'] })}
        />
      </div>
      {problem !== undefined && <Notice tone="failed">{problem}</Notice>}
      {value !== undefined && <Figures usage={value} look={look} />}
    </>
  )
}

interface FiguresProps {
  readonly usage: Usage
  readonly look: UsageLook
}

function Figures({ usage, look }: FiguresProps): JSX.Element {
  const { total, sessions, groups, hours, tools } = usage
  if (total.turnCount + total.requestCount === 0) return <Notice>No turns in this time range.</Notice>
  const period = PERIODS.find(([since]) => since === look.since)?.[1] ?? ''
  const measure = usageMeasure(total)
  const filter: SessionFilter = look.since === 'all' ? {} : { since: look.since }
  return (
    <>
      <p class="headline">{usageSentence(total, usage.before, period)}</p>
      <p class="dim">
        {countOf(total.requestCount, 'request')} in {countOf(total.turnCount, 'turn')}, {rateText(total)} failed,{' '}
        {shortCount(total.input)} → {shortCount(total.output)} tokens
      </p>
      <Days chart={dayChart(usage, measure)} measure={measure} look={look} />
      <section>
        <h2>{GROUP_HEADS[look.by]}s</h2>
        <Groups groups={groups} look={look} filter={filter} />
      </section>
      <div class="usage-columns">
        <section>
          <h2>Heaviest sessions</h2>
          <Sessions sessions={sessions} />
        </section>
        <section>
          <h2>{measure.name} by hour of the week</h2>
          <HeatMap hours={hours} measure={measure} filter={filter} />
        </section>
      </div>
      {tools.length > 0 && (
        <section>
          <h2>Tools</h2>
          <Tools tools={tools} filter={filter} />
        </section>
      )}
    </>
  )
}

const GROUP_HEADS = { model: 'Model', agent: 'Agent', project: 'Project' } as const

const COLOURS = ['api', 'approval', 'tool', 'subagent', 'skill', 'other'] as const

function colourOf(index: number): { readonly '--kind': string } {
  return { '--kind': `var(--kind-${COLOURS[index] ?? 'other'})` }
}

interface DaysProps {
  readonly chart: DayChart
  readonly measure: UsageMeasure
  readonly look: UsageLook
}

/** Stacked columns for the mouse. Keyboards and screen readers have the table below, with the same links. */
function Days({ chart, measure, look: { by } }: DaysProps): JSX.Element {
  const { names, columns, max } = chart
  const filterOf = (day: string, name: string): SessionFilter =>
    name === OTHERS || name === '' ? { day } : { day, [by]: name }
  return (
    <figure class="card days">
      <figcaption>
        {measure.name} per day, at most {measure.text(max)}
        <span class="legend">
          {names.map((name, index) => (
            <span key={name} style={colourOf(index)}>
              {groupName(name, by)}
            </span>
          ))}
        </span>
      </figcaption>
      <div class="columns" aria-hidden="true">
        {columns.map(({ day, value, parts }) => (
          <div key={day} class="column" title={`${day}: ${measure.text(value)}`}>
            <div class="parts">
              {parts.map(({ name, value: part }, index) => {
                if (part === 0) return null
                const title = `${day}, ${groupName(name, by)}: ${measure.text(part)}`
                return (
                  <Link key={name} to={sessionsOf(filterOf(day, name))} isInTabOrder={false} title={title}>
                    <i style={{ ...colourOf(index), height: `${(part / max) * COLUMN_HEIGHT}px` }} />
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
        <Table heads={['Day', ...names.map(name => groupName(name, by)), 'Sum']}>
          {columns.map(({ day, value, parts }) => (
            <tr key={day}>
              <th scope="row">
                <Link to={sessionsOf({ day })}>{day}</Link>
              </th>
              {parts.map(({ name, value: part }) => (
                <td key={name} class="number">
                  {part > 0 && <Link to={sessionsOf(filterOf(day, name))}>{measure.text(part)}</Link>}
                </td>
              ))}
              <td class="number">{measure.text(value)}</td>
            </tr>
          ))}
        </Table>
      </details>
    </figure>
  )
}

const COLUMN_HEIGHT = 160

function sessionsOf(filter: SessionFilter): { readonly view: 'sessions'; readonly filter: SessionFilter } {
  return { view: 'sessions', filter }
}

function rateText({ errorCount, requestCount }: Pick<UsageSums, 'errorCount' | 'requestCount'>): string {
  return percent(requestCount === 0 ? 0 : errorCount / requestCount)
}

function Numbers({
  children,
  tone = '',
}: {
  readonly children: ComponentChildren
  readonly tone?: string
}): JSX.Element {
  return <td class={`number ${tone}`}>{children}</td>
}

const SHARES = ['p50', 'p90', 'p99'] as const

function Latency({ latency }: { readonly latency: Percentiles | undefined }): JSX.Element {
  return (
    <>
      {SHARES.map(share => (
        <Numbers key={share}>{latency === undefined ? '' : humanDuration(latency[share])}</Numbers>
      ))}
    </>
  )
}

interface GroupsProps extends Pick<Usage, 'groups'> {
  readonly look: UsageLook
  readonly filter: SessionFilter
}

function Groups({ groups, look: { by }, filter }: GroupsProps): JSX.Element {
  return (
    <Table heads={[GROUP_HEADS[by], 'Cost', 'Tokens in', 'Cached', 'Tokens out', 'Requests', 'Failed', ...SHARES]}>
      {groups.map(({ name, latency, ...sums }) => (
        <tr key={name}>
          <th scope="row">
            {name === '' ? groupName(name, by) : <Link to={sessionsOf({ ...filter, [by]: name })}>{name}</Link>}
          </th>
          <Numbers>{sums.dollars === 0 ? '' : humanCost(sums.dollars)}</Numbers>
          <Numbers>{shortCount(sums.input)}</Numbers>
          <Numbers>{sums.input === 0 ? '' : percent(cachedShare(sums))}</Numbers>
          <Numbers>{shortCount(sums.output)}</Numbers>
          <Numbers>{humanCount(sums.requestCount)}</Numbers>
          <Numbers tone={sums.errorCount > 0 ? 'tone-error' : ''}>{rateText(sums)}</Numbers>
          <Latency latency={latency} />
        </tr>
      ))}
    </Table>
  )
}

function Sessions({ sessions }: { readonly sessions: readonly UsageGroupRow[] }): JSX.Element {
  return (
    <Table heads={['Session', 'Turns', 'Tokens', 'Cost']}>
      {sessions.map(({ name, title, turnCount, input, output, dollars }) => (
        <tr key={name}>
          <th scope="row" class="title">
            <Link class="two-lines" to={{ view: 'session', id: name }}>
              {title || `Session ${shortId(name)}`}
            </Link>
          </th>
          <Numbers>{turnCount}</Numbers>
          <Numbers>{shortCount(input + output)}</Numbers>
          <Numbers>{dollars === 0 ? '' : humanCost(dollars)}</Numbers>
        </tr>
      ))}
    </Table>
  )
}

const DAY_HOURS = Array.from({ length: 24 }, (_, hour) => hour)

interface HeatMapProps extends Pick<Usage, 'hours'> {
  readonly measure: UsageMeasure
  readonly filter: SessionFilter
}

function HeatMap({ hours, measure, filter }: HeatMapProps): JSX.Element {
  const max = hours.reduce((most, sums) => Math.max(most, measure.amountOf(sums)), 0)
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
              const value = measure.amountOf(hours[weekHour] as UsageSums)
              const label = `${weekday} ${hour}:00: ${measure.text(value)}`
              return (
                <td key={hour}>
                  {value > 0 && (
                    <Link to={sessionsOf({ ...filter, hour: String(weekHour) })} label={label} title={label}>
                      <i style={{ '--share': String(value / max) }} />
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

interface ToolsProps {
  readonly tools: readonly ToolFigures[]
  readonly filter: SessionFilter
}

function Tools({ tools, filter }: ToolsProps): JSX.Element {
  return (
    <>
      <Table heads={['Tool', 'Calls', 'Failed', ...SHARES]}>
        {tools.map(({ tool, callCount, errorCount, latency }) => (
          <tr key={tool}>
            <th scope="row">{tool === '' ? 'no name' : <Link to={sessionsOf({ ...filter, tool })}>{tool}</Link>}</th>
            <Numbers>{humanCount(callCount)}</Numbers>
            <Numbers>
              {errorCount > 0 && (
                <Link class="rate tone-error" to={sessionsOf({ ...filter, tool, outcome: 'error' })}>
                  <i aria-hidden="true" style={{ '--share': String(errorCount / callCount) }} />
                  {percent(errorCount / callCount)}
                </Link>
              )}
            </Numbers>
            <Latency latency={latency} />
          </tr>
        ))}
      </Table>
      <p class="small dim">Durations exclude waiting for approval.</p>
    </>
  )
}
