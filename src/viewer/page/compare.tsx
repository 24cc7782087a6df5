import { signal } from '@preact/signals'
import { countOf, humanCost, humanCount, humanDuration } from '../../reading/human-figures.ts'
import type { Compared, ComparedPart, ComparedRow, ComparedTotals } from '../server/api.ts'
import { Button, type Column, LoadState, Notice, Outcome, Table } from './elements.tsx'
import { dotted, shortId, timeText } from './formats.ts'
import { useLoaded } from './loading.ts'
import { go, Link } from './navigation.tsx'
import { DiffText } from './values.tsx'

export function CompareView({ a, b }: { readonly a: string; readonly b: string }) {
  const isAsked = a !== '' && b !== ''
  const path = isAsked ? `/api/compare?${new URLSearchParams({ a, b })}` : undefined
  const { value, problem } = useLoaded<Compared>(path, [a, b])
  if (!isAsked)
    return <Notice>Open a session, and select Compare beside a turn to compare it with the previous one.</Notice>
  if (value === undefined) return <LoadState problem={problem} isPage />
  const { rows, cutCount, firstDifference } = value
  return (
    <>
      <h1>Comparison</h1>
      <Summary {...value} />
      <section>
        <h2>{firstDifference === undefined ? 'Steps: no differences' : 'Steps'}</h2>
        <ol class="compared">
          {rows.map((row, index) => (
            <Step key={index} row={row} isFirst={index === firstDifference} />
          ))}
        </ol>
        {cutCount !== undefined && <Notice>{countOf(cutCount, 'more step')} not shown. Run hookspan diff.</Notice>}
      </section>
    </>
  )
}

interface SummaryFigure {
  readonly label: string
  readonly figureOf: (side: ComparedTotals) => number | undefined
  readonly text: (figure: number) => string
}

const FIGURES: readonly SummaryFigure[] = [
  { label: 'Turns', figureOf: ({ turns }) => turns, text: humanCount },
  { label: 'Duration, without waiting for approval', figureOf: ({ millis }) => millis, text: humanDuration },
  { label: 'Waiting for approval', figureOf: ({ personMillis }) => personMillis, text: humanDuration },
  { label: 'Requests', figureOf: ({ requests }) => requests, text: humanCount },
  { label: 'Retries', figureOf: ({ retries }) => retries, text: humanCount },
  { label: 'Tools', figureOf: ({ tools }) => tools, text: humanCount },
  { label: 'Sub-agents', figureOf: ({ subagents }) => subagents, text: humanCount },
  { label: 'Tokens in', figureOf: ({ input }) => input, text: humanCount },
  { label: 'Tokens out', figureOf: ({ output }) => output, text: humanCount },
  { label: 'Cost', figureOf: ({ cost }) => cost, text: humanCost },
  { label: 'Errors', figureOf: ({ errors }) => errors, text: humanCount },
]

function Summary({ a, b }: Compared) {
  const sides = [a, b]
  const isPartial = ({ label }: SummaryFigure, side: ComparedTotals): boolean =>
    label === 'Cost' && side.requestsOfUnknownCost > 0
  const columns = sides.map((side): Column<SummaryFigure> => {
    const {
      title,
      agent,
      models,
      startAt,
      traceIds: [traceId = ''],
    } = side
    const head = (
      <>
        <Link class="two-lines" to={{ view: 'turn', traceId, look: {} }}>
          {title || `Turn ${shortId(traceId)}`}
        </Link>
        <span class="small dim">{dotted(agent, ...models, timeText(startAt))}</span>
      </>
    )
    const cell = (row: SummaryFigure) => {
      const figure = row.figureOf(side)
      return figure !== undefined && `${isPartial(row, side) ? 'at least ' : ''}${row.text(figure)}`
    }
    return [head, cell]
  })
  return (
    <Table
      class="compare"
      rows={FIGURES.filter(({ figureOf }) => sides.some(figureOf))}
      columns={[
        [<span class="unseen">Figure</span>, ({ label }) => label],
        ...columns,
        [
          'Difference',
          row => !sides.some(side => isPartial(row, side)) && difference(sides.map(row.figureOf), row.text),
        ],
      ]}
    />
  )
}

function difference([a, b]: readonly (number | undefined)[], text: (figure: number) => string): string {
  if (a === undefined || b === undefined) return ''
  if (a === b) return 'no change'
  const sign = b > a ? '+' : '−'
  const share = a === 0 ? '' : ` (${sign}${Math.round((Math.abs(b - a) / a) * 100)} %)`
  return `${sign}${text(Math.abs(b - a))}${share}`
}

const WORDS = {
  name: 'tool differs',
  arguments: 'arguments differ',
  outcome: 'outcome differs',
  attempts: 'number of attempts differs',
} as const

function Step({ row, isFirst }: { readonly row: ComparedRow; readonly isFirst: boolean }) {
  const { a, b, depth, differences, lines } = row
  const only = a === undefined ? 'right only' : b === undefined ? 'left only' : ''
  const said = only || differences.map(each => WORDS[each]).join(', ')
  return (
    <li class={`compared-row ${said === '' ? '' : 'differs'}`} style={{ '--depth': depth }}>
      <Side part={a} />
      <Side part={b} />
      <p class="small tone-wait">
        {isFirst && <strong>first difference: </strong>}
        {said}
      </p>
      {lines.length > 0 && <DiffText {...row} />}
    </li>
  )
}

function Side({ part }: { readonly part: ComparedPart | undefined }) {
  if (part === undefined) return <p class="dim">–</p>
  const { kind, name, hint, model, outcome, attempts, millis, input, output, traceId, spanId } = part
  const tokens = input + output > 0 ? `, ${humanCount(input)} → ${humanCount(output)} tokens` : ''
  return (
    <p>
      <Link to={{ view: 'turn', traceId, look: { span: spanId } }}>{`${kind} ${name}`.trim()}</Link>
      {model !== '' && <span class="dim"> {model}</span>}
      {attempts > 1 && <span class="chip tone-warn">{attempts} attempts</span>} <Outcome outcome={outcome} />
      <span class="small dim">{` ${humanDuration(millis)}${tokens}`}</span>
      {hint !== '' && <span class="small dim hint one-line">{hint}</span>}
    </p>
  )
}

interface ComparisonItem {
  readonly id: string
  readonly title: string
}

const picked = signal<ComparisonItem | undefined>(undefined)

/** Chooses an item to compare. The first choice is kept across views until the second is made. */
export function CompareButton({ id, title }: ComparisonItem) {
  const first = picked.value
  if (first?.id === id) return null
  const pick = (): void => {
    picked.value = first === undefined ? { id, title } : undefined
    if (first !== undefined) go({ view: 'compare', a: first.id, b: id })
  }
  return <Button onClick={pick}>{first === undefined ? 'Compare' : 'Compare with this'}</Button>
}

export function ComparisonBar() {
  if (picked.value === undefined) return null
  const forget = (): void => {
    picked.value = undefined
  }
  return (
    <p class="picked" role="status">
      To compare <strong>{picked.value.title}</strong>, open another turn or session and select “Compare with this”.{' '}
      <Button onClick={forget}>Cancel</Button>
    </p>
  )
}
