import type { ComponentChildren, JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { humanCost, humanCount, humanDuration } from '../../reading/human-figures.ts'
import type { SpanRow, TraceView } from '../server/api.ts'
import { Notice, Table } from './elements.tsx'

/** A tab that scrolls as a whole. It has the focus at first, so that keys scroll it. */
export function TabPage({
  label,
  children,
}: {
  readonly label: string
  readonly children: ComponentChildren
}): JSX.Element {
  const box = useRef<HTMLElement>(null)
  useEffect(() => box.current?.focus({ preventScroll: true }), [])
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a part that scrolls needs the focus to be scrolled by keys
    <section ref={box} class="turn-page" tabIndex={0} aria-label={label}>
      {children}
    </section>
  )
}

export function TurnUsage({ view: { rows } }: { readonly view: TraceView }): JSX.Element {
  const models = sumsByName(rows.filter(({ kind }) => kind === 'api' || kind === 'auxiliary'))
  const tools = sumsByName(rows.filter(({ kind }) => kind === 'tool'))
  return (
    <TabPage label="Usage">
      {models.length + tools.length === 0 && <Notice>This turn has no model request and no tool call yet.</Notice>}
      <UsageTable title="Model" countName="Requests" sums={models} figures={['input', 'cached', 'output', 'cost']} />
      <UsageTable title="Tool" countName="Calls" sums={tools} figures={[]} />
    </TabPage>
  )
}

const FIGURES = {
  input: { head: 'Tokens in', text: humanCount },
  cached: { head: 'Cached', text: humanCount },
  output: { head: 'Tokens out', text: humanCount },
  cost: { head: 'Cost', text: humanCost },
} as const

interface UsageTableProps {
  readonly title: string
  readonly countName: string
  readonly sums: readonly UsageSum[]
  readonly figures: readonly (keyof typeof FIGURES)[]
}

function UsageTable({ title, countName, sums, figures }: UsageTableProps): JSX.Element | null {
  if (sums.length === 0) return null
  const shown = figures.filter(name => sums.some(sum => sum[name] > 0))
  return (
    <Table heads={[title, countName, 'Failed', ...shown.map(name => FIGURES[name].head), 'Time']} isPlain>
      {sums.map(sum => (
        <tr key={sum.name}>
          <th scope="row">{sum.name}</th>
          <td class="number">{humanCount(sum.count)}</td>
          <td class="number">{humanCount(sum.errors)}</td>
          {shown.map(name => (
            <td key={name} class="number">
              {FIGURES[name].text(sum[name])}
            </td>
          ))}
          <td class="number">{humanDuration(sum.millis)}</td>
        </tr>
      ))}
    </Table>
  )
}

type UsageSum = ReturnType<typeof emptySum>

function emptySum(name: string) {
  return { name, count: 0, errors: 0, input: 0, cached: 0, output: 0, cost: 0, millis: 0 }
}

/** Longest time first. */
function sumsByName(rows: readonly SpanRow[]): UsageSum[] {
  const sums = new Map<string, UsageSum>()
  for (const row of rows) {
    const name = row.name.replace(/^(api|auxiliary|tool)\./, '')
    const sum = sums.get(name) ?? emptySum(name)
    sum.count++
    sum.errors += row.isError ? 1 : 0
    for (const each of ['input', 'cached', 'output', 'cost'] as const) sum[each] += row[each] ?? 0
    sum.millis += Math.max(0, row.endAt - row.startAt)
    sums.set(name, sum)
  }
  return [...sums.values()].sort((a, b) => b.millis - a.millis)
}
