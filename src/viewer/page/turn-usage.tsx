import type { JSX } from 'preact'
import { humanCost, humanCount, humanDuration } from '../../reading/human-figures.ts'
import type { SpanRow, TraceView } from '../server/api.ts'
import { Notice, Table } from './elements.tsx'

/** The usage of one turn, by model and by tool. */
export function TurnUsage({ view: { rows } }: { readonly view: TraceView }): JSX.Element {
  const models = sumsByName(rows.filter(({ kind }) => kind === 'api' || kind === 'auxiliary'))
  const tools = sumsByName(rows.filter(({ kind }) => kind === 'tool'))
  if (models.length + tools.length === 0) return <Notice>This turn has no model request and no tool call yet.</Notice>
  return (
    <div class="turn-page">
      {models.length > 0 && (
        <Table heads={['Model requests', 'Requests', 'Failed', 'Tokens in', 'Tokens out', 'Cost', 'Time']}>
          {models.map(sum => (
            <tr key={sum.name}>
              <th scope="row">{sum.name}</th>
              <td class="number">{humanCount(sum.count)}</td>
              <td class="number">{sum.errors === 0 ? '' : humanCount(sum.errors)}</td>
              <td class="number">{humanCount(sum.input)}</td>
              <td class="number">{humanCount(sum.output)}</td>
              <td class="number">{sum.cost === 0 ? '' : humanCost(sum.cost)}</td>
              <td class="number">{humanDuration(sum.millis)}</td>
            </tr>
          ))}
        </Table>
      )}
      {tools.length > 0 && (
        <Table heads={['Tools', 'Calls', 'Failed', 'Time']}>
          {tools.map(sum => (
            <tr key={sum.name}>
              <th scope="row">{sum.name}</th>
              <td class="number">{humanCount(sum.count)}</td>
              <td class="number">{sum.errors === 0 ? '' : humanCount(sum.errors)}</td>
              <td class="number">{humanDuration(sum.millis)}</td>
            </tr>
          ))}
        </Table>
      )}
    </div>
  )
}

interface UsageSum {
  readonly name: string
  count: number
  errors: number
  input: number
  output: number
  cost: number
  millis: number
}

/** Longest time first. */
function sumsByName(rows: readonly SpanRow[]): UsageSum[] {
  const sums = new Map<string, UsageSum>()
  for (const row of rows) {
    const name = row.name.replace(/^(api|auxiliary|tool)\./, '')
    const sum = sums.get(name) ?? { name, count: 0, errors: 0, input: 0, output: 0, cost: 0, millis: 0 }
    sum.count++
    sum.errors += row.isError ? 1 : 0
    sum.input += row.input ?? 0
    sum.output += row.output ?? 0
    sum.cost += row.cost ?? 0
    sum.millis += Math.max(0, row.endAt - row.startAt)
    sums.set(name, sum)
  }
  return [...sums.values()].sort((a, b) => b.millis - a.millis)
}
