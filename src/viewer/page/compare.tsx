import { signal } from '@preact/signals'
import type { JSX } from 'preact'
import { countOf, humanCost, humanCount, humanDuration } from '../../reading/human-figures.ts'
import type { Compared, ComparedPart, ComparedRow, ComparedTotals } from '../server/api.ts'
import { LoadState, Notice, Outcome, shortId, timeText } from './elements.tsx'
import { useLoaded } from './loading.ts'
import { go, Link } from './navigation.tsx'
import { DiffText } from './values.tsx'

export function CompareView({ a, b }: { readonly a: string; readonly b: string }): JSX.Element {
  const isAsked = a !== '' && b !== ''
  const path = isAsked ? `/api/compare?${new URLSearchParams({ a, b })}` : undefined
  const { value, problem } = useLoaded<Compared>(path, ids => ids.includes(a) || ids.includes(b))
  if (!isAsked)
    return <Notice>Open a session, and select Compare beside a turn to compare it with the previous one.</Notice>
  if (value === undefined) return <LoadState problem={problem} />
  return (
    <>
      <h1>Comparison</h1>
      <Summary compared={value} />
      <Steps compared={value} />
    </>
  )
}

interface FigureRow {
  readonly label: string
  readonly of: (side: ComparedTotals) => number | undefined
  readonly text: (figure: number) => string
  readonly isPartial?: (side: ComparedTotals) => boolean
}

const FIGURES: readonly FigureRow[] = [
  { label: 'Turns', of: ({ turns }) => turns, text: humanCount },
  { label: 'Duration, without waiting for approval', of: ({ millis }) => millis, text: humanDuration },
  { label: 'Waiting for approval', of: ({ personMillis }) => personMillis, text: humanDuration },
  { label: 'Requests', of: ({ requests }) => requests, text: humanCount },
  { label: 'Retries', of: ({ retries }) => retries, text: humanCount },
  { label: 'Tools', of: ({ tools }) => tools, text: humanCount },
  { label: 'Sub-agents', of: ({ subagents }) => subagents, text: humanCount },
  { label: 'Tokens in', of: ({ input }) => input, text: humanCount },
  { label: 'Tokens out', of: ({ output }) => output, text: humanCount },
  { label: 'Cost', of: ({ cost }) => cost, text: humanCost, isPartial: side => side.requestsOfUnknownCost > 0 },
  { label: 'Errors', of: ({ errors }) => errors, text: humanCount },
]

function Summary({ compared: { a, b } }: { readonly compared: Compared }): JSX.Element {
  return (
    <div class="scrolls">
      <table class="list compare">
        <thead>
          <tr>
            <td />
            <Column side={a} />
            <Column side={b} />
            <th scope="col" class="number">
              Difference
            </th>
          </tr>
        </thead>
        <tbody>
          {FIGURES.map(figure => (
            <FigureLine key={figure.label} figure={figure} a={a} b={b} />
          ))}
        </tbody>
      </table>
    </div>
  )
}

function Column({ side }: { readonly side: ComparedTotals }): JSX.Element {
  const [traceId = ''] = side.traceIds
  return (
    <th scope="col">
      <Link to={{ view: 'turn', traceId, look: {} }}>{side.title || `Turn ${shortId(traceId)}`}</Link>
      <span class="small dim">
        {[side.agent, ...side.models, timeText(side.startAt)].filter(text => text !== '').join(' · ')}
      </span>
    </th>
  )
}

interface LineProps extends Pick<Compared, 'a' | 'b'> {
  readonly figure: FigureRow
}

function FigureLine({ figure, a, b }: LineProps): JSX.Element | null {
  const { label, of, text, isPartial = () => false } = figure
  const [inA, inB] = [of(a), of(b)]
  if (!inA && !inB) return null
  const isComparable = !isPartial(a) && !isPartial(b)
  return (
    <tr>
      <th scope="row">{label}</th>
      <td class="number">{figureText(inA, text, isPartial(a))}</td>
      <td class="number">{figureText(inB, text, isPartial(b))}</td>
      <td class="number">
        {inA === undefined || inB === undefined || !isComparable ? '' : difference(inA, inB, text)}
      </td>
    </tr>
  )
}

function figureText(figure: number | undefined, text: FigureRow['text'], isPartial: boolean): string {
  if (figure === undefined) return ''
  return isPartial ? `at least ${text(figure)}` : text(figure)
}

function difference(a: number, b: number, text: (figure: number) => string): string {
  if (a === b) return 'no change'
  const sign = b > a ? '+' : '−'
  const share = a === 0 ? '' : ` (${sign}${Math.round((Math.abs(b - a) / a) * 100)} %)`
  return `${sign}${text(Math.abs(b - a))}${share}`
}

function Steps({ compared }: { readonly compared: Compared }): JSX.Element {
  const { rows, cutCount, firstDifference } = compared
  return (
    <section>
      <h2>{firstDifference === undefined ? 'Steps: no differences' : 'Steps'}</h2>
      <ol class="compared">
        {rows.map((row, index) => (
          <Step key={index} row={row} isFirst={index === firstDifference} />
        ))}
      </ol>
      {cutCount !== undefined && <Notice>{countOf(cutCount, 'more step')} not shown. Run hookspan diff.</Notice>}
    </section>
  )
}

const WORDS = {
  name: 'tool differs',
  arguments: 'arguments differ',
  outcome: 'outcome differs',
  attempts: 'number of attempts differs',
} as const

function Step({ row, isFirst }: { readonly row: ComparedRow; readonly isFirst: boolean }): JSX.Element {
  const { a, b, depth, differences, lines, cutCount } = row
  const only = a === undefined ? 'right only' : b === undefined ? 'left only' : ''
  const said = only === '' ? differences.map(each => WORDS[each]).join(', ') : only
  return (
    <li
      class={`compared-row ${said === '' ? '' : 'differs'} ${isFirst ? 'is-first' : ''}`}
      style={{ '--depth': depth }}
    >
      <Side part={a} />
      <Side part={b} />
      <p class="small difference">
        {isFirst && <strong>first difference: </strong>}
        {said}
      </p>
      {lines.length > 0 && (
        <DiffText lines={lines} rest={cutCount === undefined ? '' : `… ${countOf(cutCount, 'line')} more`} />
      )}
    </li>
  )
}

function Side({ part }: { readonly part: ComparedPart | undefined }): JSX.Element {
  if (part === undefined) return <p class="side dim">–</p>
  const { kind, name, hint, model, outcome, attempts, millis, input, output, traceId, spanId } = part
  return (
    <p class="side">
      <Link to={{ view: 'turn', traceId, look: { span: spanId } }}>
        {[kind, name].filter(text => text !== '').join(' ')}
      </Link>
      {model !== '' && <span class="dim"> {model}</span>}
      {attempts > 1 && <span class="chip attempt">{attempts} attempts</span>} <Outcome outcome={outcome} />
      <span class="small dim">
        {' '}
        {humanDuration(millis)}
        {input + output > 0 && `, ${humanCount(input)} → ${humanCount(output)} tokens`}
      </span>
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
export function CompareButton({ id, title }: ComparisonItem): JSX.Element | null {
  const first = picked.value
  if (first?.id === id) return null
  const pick = (): void => {
    picked.value = first === undefined ? { id, title } : undefined
    if (first !== undefined) go({ view: 'compare', a: first.id, b: id })
  }
  return (
    <button type="button" class="quiet" onClick={pick}>
      {first === undefined ? 'Compare' : 'Compare with this'}
    </button>
  )
}

export function ComparisonBar(): JSX.Element | null {
  const first = picked.value
  if (first === undefined) return null
  const forget = (): void => {
    picked.value = undefined
  }
  return (
    <p class="picked" role="status">
      To compare <strong>{first.title}</strong>, open another turn or session and select “Compare with this”.{' '}
      <button type="button" class="quiet" onClick={forget}>
        Cancel
      </button>
    </p>
  )
}
