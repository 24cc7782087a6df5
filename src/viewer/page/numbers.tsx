import type { ComponentType, JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { humanCost, humanCount, humanDuration } from '../../reading/human-figures.ts'
import type { ModelFigures, ToolFigures, UsageNumbers } from '../server/api.ts'
import { type Chart, chartsOf } from './chart-data.ts'
import { Figure, Notice, Table } from './elements.tsx'
import { ageMillis, percent } from './formats.ts'
import { useLoaded } from './loading.ts'
import { go } from './navigation.tsx'
import { Choice } from './sessions.tsx'
import { now } from './state.ts'

const AGES: readonly (readonly [string, string])[] = [
  ['24h', 'the last day'],
  ['7d', 'the last week'],
  ['30d', 'the last month'],
  ['all', 'all'],
]

export function NumbersView({ since }: { readonly since: string }): JSX.Element {
  const millis = ageMillis(since)
  const from = millis === undefined ? '' : `?since=${Math.floor((now.peek() - millis) / 3_600_000) * 3_600_000}`
  const { value, problem } = useLoaded<UsageNumbers>(`/api/numbers${from}`)
  return (
    <>
      <h1>Metrics</h1>
      <div class="filters">
        <Choice
          label="Time range"
          value={since}
          choices={AGES}
          onChoice={each => go({ view: 'numbers', since: each }, 'replace')}
        />
      </div>
      {problem !== undefined && <Notice tone="failed">{problem}</Notice>}
      {value !== undefined && <Figures numbers={value} />}
    </>
  )
}

function Figures({ numbers }: { readonly numbers: UsageNumbers }): JSX.Element {
  const { models, tools, turns } = numbers
  if (models.length === 0 && turns.length === 0) return <Notice>No turns in this time range.</Notice>
  return (
    <>
      <dl class="figures">
        {turns.map(([outcome, count]) => (
          <Figure key={outcome} label={`turns ${outcome || 'without a status'}`}>
            {humanCount(count)}
          </Figure>
        ))}
      </dl>
      <Models models={models} />
      <div class="charts">
        {chartsOf(numbers).map(chart => (
          <ChartBlock key={chart.title} chart={chart} />
        ))}
      </div>
      <Tools tools={tools} />
    </>
  )
}

function Models({ models }: { readonly models: readonly ModelFigures[] }): JSX.Element {
  return (
    <Table
      heads={['Model', 'Requests', 'Errors', 'Tokens in', 'Cached input', 'Tokens out', 'Cost', 'p50', 'p90', 'p99']}
    >
      {models.map(({ model, requestCount, errorCount, tokens, cachedTokens, dollars, latency }) => (
        <tr key={model}>
          <th scope="row">{model || 'unknown'}</th>
          <td class="number">{humanCount(requestCount)}</td>
          <td class={`number ${errorCount > 0 ? 'tone-error' : ''}`}>{errorCount || ''}</td>
          <td class="number">{humanCount(tokens.input)}</td>
          <td class="number">{tokens.input === 0 ? '' : percent(Math.min(1, cachedTokens / tokens.input))}</td>
          <td class="number">{humanCount(tokens.output)}</td>
          <td class="number">{dollars === 0 ? '' : humanCost(dollars)}</td>
          {[latency?.p50, latency?.p90, latency?.p99].map((millis, index) => (
            <td key={index} class="number">
              {millis === undefined ? '' : humanDuration(millis)}
            </td>
          ))}
        </tr>
      ))}
    </Table>
  )
}

interface ChartProps {
  readonly chart: Chart
}

function ChartBlock({ chart }: ChartProps): JSX.Element {
  const [Drawn, setDrawn] = useState<ComponentType<ChartProps>>()
  useEffect(() => {
    // Two thirds of the page's script are the chart library, so it is loaded only when needed.
    void import('./chart.tsx').then(({ LineChart: DrawnChart }) => setDrawn(() => DrawnChart))
  }, [])
  const { title, days, lines, text } = chart
  return (
    <figure class="card chart">
      <figcaption>{title}</figcaption>
      {Drawn === undefined ? <div class="chart-room" /> : <Drawn chart={chart} />}
      <details>
        <summary>Show as a table</summary>
        <Table heads={['Day', ...lines.map(({ label }) => label)]}>
          {days.map((day, index) => (
            <tr key={day}>
              <th scope="row">{day}</th>
              {lines.map(({ label, values }) => (
                <td key={label} class="number">
                  {typeof values[index] === 'number' ? text(values[index]) : ''}
                </td>
              ))}
            </tr>
          ))}
        </Table>
      </details>
    </figure>
  )
}

function Tools({ tools }: { readonly tools: readonly ToolFigures[] }): JSX.Element | null {
  if (tools.length === 0) return null
  const outcomes = [...new Set(tools.flatMap(tool => tool.outcomes.map(([outcome]) => outcome)))]
  return (
    <section>
      <h2>Tools</h2>
      <Table heads={['Tool', 'Calls', ...outcomes.map(outcome => outcome || 'no outcome'), 'p50', 'p90']}>
        {tools.map(({ tool, callCount, outcomes: counts, latency }) => (
          <tr key={tool}>
            <th scope="row">{tool}</th>
            <td class="number">{humanCount(callCount)}</td>
            {outcomes.map(outcome => {
              const count = counts.find(([each]) => each === outcome)?.[1]
              return (
                <td key={outcome} class={`number ${outcome === 'error' && count !== undefined ? 'tone-error' : ''}`}>
                  {count ?? ''}
                </td>
              )
            })}
            <td class="number">{humanDuration(latency.p50)}</td>
            <td class="number">{humanDuration(latency.p90)}</td>
          </tr>
        ))}
      </Table>
      <p class="small dim">Durations exclude waiting for approval.</p>
    </section>
  )
}
