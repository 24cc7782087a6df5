import { signal } from '@preact/signals'
import { countOf, humanCost, humanCount, humanDuration } from '../../reading/human-figures.ts'
import type { Compared, ComparedPart, ComparedRow, ComparedTotals } from '../server/api.ts'
import { turnAddress } from './address.ts'
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

const FIGURES = [
  ['Turns', 'turns', humanCount],
  ['Duration, without waiting for approval', 'millis', humanDuration],
  ['Waiting for approval', 'personMillis', humanDuration],
  ['Requests', 'requests', humanCount],
  ['Retries', 'retries', humanCount],
  ['Tools', 'tools', humanCount],
  ['Sub-agents', 'subagents', humanCount],
  ['Tokens in', 'inputTokens', humanCount],
  ['Tokens out', 'outputTokens', humanCount],
  ['Cost', 'cost', humanCost],
  ['Errors', 'errors', humanCount],
] as const

function Summary({ a, b }: Compared) {
  const sides = [a, b]
  const isPartial = (name: string, side: ComparedTotals): boolean => name === 'cost' && side.requestsOfUnknownCost > 0
  const columns = sides.map((side): Column<(typeof FIGURES)[number]> => {
    const { title, agent, models, startAt, traceIds } = side
    const [traceId = ''] = traceIds
    const head = (
      <>
        <Link class="two-lines" to={turnAddress(traceId)}>
          {title || `Turn ${shortId(traceId)}`}
        </Link>
        <span class="small dim">{dotted(agent, ...models, timeText(startAt))}</span>
      </>
    )
    return [
      head,
      ([, name, text]) =>
        side[name] !== undefined && `${isPartial(name, side) ? 'at least ' : ''}${text(side[name] ?? 0)}`,
    ]
  })
  return (
    <Table
      class="compare"
      rows={FIGURES.filter(([, name]) => a[name] || b[name])}
      columns={[
        [<span class="unseen">Figure</span>, ([label]) => label],
        ...columns,
        [
          'Difference',
          ([, name, text]) => !sides.some(side => isPartial(name, side)) && difference(a[name], b[name], text),
        ],
      ]}
    />
  )
}

function difference(a: number | undefined, b: number | undefined, text: (figure: number) => string): string {
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
  const { kind, name, hint, model, outcome, attempts, millis, inputTokens, outputTokens, traceId, spanId } = part
  const tokens =
    inputTokens + outputTokens > 0 ? `, ${humanCount(inputTokens)} → ${humanCount(outputTokens)} tokens` : ''
  return (
    <p>
      <Link to={turnAddress(traceId, spanId)}>{`${kind} ${name}`.trim()}</Link>
      {model !== '' && <span class="dim"> {model}</span>}
      {attempts > 1 && <span class="chip tone-warn">{attempts} attempts</span>} <Outcome outcome={outcome} />
      <span class="small dim">{` ${humanDuration(millis)}${tokens}`}</span>
      {hint !== '' && <span class="small dim hint one-line">{hint}</span>}
    </p>
  )
}

type ComparisonItem = Readonly<{ id: string; title: string }>

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
