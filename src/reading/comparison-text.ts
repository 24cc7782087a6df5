import type { DiffLine } from './argument-lines.ts'
import { type ComparedSide, type ComparedStep, type Comparison, isDifferent } from './compare-traces.ts'
import { displayLines, displayText } from './display-text.ts'
import { displayWidth, padEndToWidth, padStartToWidth } from './display-width.ts'
import { runsOf } from './group-by.ts'
import { countOf, humanCost, humanCount, humanDuration, humanInstant } from './human-figures.ts'
import type { Line, TextSegment, Tone } from './segments.ts'
import { alignEnds, blankSegment, clipSegments, joinSegments, paintLine, segment, segmentsWidth } from './segments.ts'
import { headerTitle, shortTraceId } from './tree-header.ts'
import { ARROW, GAP } from './tree-text.ts'
import type { TurnStep } from './turn-steps.ts'

const MIN_WIDTH = 20
/** Below these widths, tokens and then durations are left out to keep room for names. */
const TOKENS_FROM = 90
const LENGTHS_FROM = 50
const MAX_INDENT = 12
const MAX_DIFF_LINES = 24
const DIFF_CONTEXT = 1

export function renderComparison(
  comparison: Comparison,
  options: { readonly width: number; readonly color: boolean },
): string {
  const width = Math.max(MIN_WIDTH, options.width)
  const rows = comparisonRows(comparison.steps)
  const columns = planFigures(rows, width)
  const head = alignEnds([], [segment('dim', cellsOf(['A', 'B', 'A tokens', 'B tokens'], columns))], width)
  const lines: Line[] = [
    sideLine('A', comparison.a, width),
    sideLine('B', comparison.b, width),
    [],
    ...figureLines(comparison),
    [],
    resultLine(comparison),
    [],
    ...(rows.length === 0 ? [] : [head]),
    ...rows.flatMap(row => rowLines(row, columns, width)),
  ]
  return lines.map(line => paintLine(clipSegments(line, width), options.color)).join('\n')
}

function sideLine(side: 'A' | 'B', { summary, models, traceIds, turns }: ComparedSide, width: number): Line {
  const [first = ''] = traceIds
  const title =
    summary === undefined ? [] : headerTitle(turns > 1 ? { ...summary, turnNumber: undefined } : summary, first)
  const left = [
    segment('strong', `${side}  `),
    ...title,
    segment('api', models.length === 0 ? '' : ` · ${models.join(', ')}`),
    segment('dim', turns > 1 ? ` · ${countOf(turns, 'turn')}` : ''),
  ]
  const right = segment(
    'dim',
    summary === undefined ? '' : `${humanInstant(summary.startAt)}${GAP}${shortTraceId(first)}`,
  )
  const room = width - segmentsWidth(left) - GAP.length
  return room < displayWidth(right.text) ? left : alignEnds(left, [right], width)
}

function resultLine({ steps, firstDifference }: Comparison): Line {
  const step = firstDifference === undefined ? undefined : steps[firstDifference]
  if (step === undefined) return [segment('ok', 'Both run the same steps.')]
  const count = steps.filter(isDifferent).length
  const more = ` (${humanCount(count)} of ${countOf(steps.length, 'step')} ${count === 1 ? 'differs' : 'differ'})`
  return [segment('strong', 'First difference: '), segment('warn', differenceText(step)), segment('dim', more)]
}

function differenceText({ a, b, differences }: ComparedStep): string {
  if (b === undefined) return a === undefined ? '' : `only A has ${stepLabel(a)}`
  if (a === undefined) return `only B has ${stepLabel(b)}`
  return `${stepLabel({ ...a, hint: '' })}, ${differences.map(each => DIFFERENCE_TEXTS[each](a, b)).join(', ')}`
}

const DIFFERENCE_TEXTS = {
  name: (_a: TurnStep, b: TurnStep) => `${b.name} in B`,
  arguments: ({ kind }: TurnStep) => (kind === 'turn' ? 'different prompt' : 'different arguments'),
  outcome: (a: TurnStep, b: TurnStep) => `${a.outcome?.text ?? 'no outcome'}${ARROW}${b.outcome?.text ?? 'no outcome'}`,
  attempts: (a: TurnStep, b: TurnStep) => `${countOf(a.attempts, 'attempt')}${ARROW}${b.attempts}`,
} as const

function stepLabel({ kind, name, hint }: TurnStep): string {
  const named = kind === 'tool' || kind === 'other' ? name : [kind, name].filter(text => text !== '').join(' ')
  return hint === '' ? named : `${named}  ${hint.slice(0, 60)}`
}

type Columns = ReturnType<typeof planFigures>

function planFigures(rows: readonly ComparisonRow[], width: number) {
  const widest = (text: (figures: RowFigures | undefined) => string): number =>
    rows.reduce((cells, { a, b }) => Math.max(cells, displayWidth(text(a)), displayWidth(text(b))), 1)
  return { length: width < LENGTHS_FROM ? 0 : widest(lengthText), tokens: width < TOKENS_FROM ? 0 : widest(tokensText) }
}

function lengthText(figures: RowFigures | undefined): string {
  return figures === undefined ? '–' : humanDuration(figures.millis)
}

function tokensText(figures: RowFigures | undefined): string {
  if (figures === undefined || figures.inputTokens + figures.outputTokens === 0) return ''
  return `${humanCount(figures.inputTokens)}${ARROW}${humanCount(figures.outputTokens)}`
}

function cellsOf(texts: readonly string[], { length, tokens }: Columns): string {
  const widths = [length, length, tokens, tokens]
  return texts.map((text, index) => (widths[index] ? GAP + padStartToWidth(text, widths[index]) : '')).join('')
}

function rowLines(row: ComparisonRow, columns: Columns, width: number): Line[] {
  const [first] = row.steps
  if (first === undefined) return []
  const { mark, tone } = markOf(first)
  const indent = '  '.repeat(Math.min(MAX_INDENT, first.depth))
  const left = [segment(tone, `${mark} `), blankSegment(indent.length), ...titleOf(row, first)]
  const figures = [lengthText(row.a), lengthText(row.b), tokensText(row.a), tokensText(row.b)]
  const line = alignEnds(left, [segment('plain', cellsOf(figures, columns))], width)
  const diff = row.kind === 'step' ? diffLinesOf(first.argumentDiff, indent.length + 4) : []
  return [line, ...diff]
}

function markOf(step: ComparedStep): { readonly mark: string; readonly tone: Tone } {
  if (step.b === undefined) return { mark: '-', tone: 'error' }
  if (step.a === undefined) return { mark: '+', tone: 'ok' }
  return isDifferent(step) ? { mark: '~', tone: 'warn' } : { mark: '=', tone: 'dim' }
}

function titleOf({ kind, steps }: ComparisonRow, first: ComparedStep): TextSegment[] {
  if (kind === 'alike') return [segment('dim', `… ${countOf(steps.length, 'step')} alike`)]
  const step = first.a ?? first.b
  if (step === undefined) return []
  const { a, b, differences } = first
  const name = segment(step.isError ? 'error' : TONES[step.kind], stepLabel({ ...step, hint: '' }))
  // If the arguments differ, their diff is shown below instead of the hint.
  const hint = differences.includes('arguments') ? '' : displayText(step.hint)
  const times = kind === 'repeats' ? segment('warn', `×${steps.length}`) : segment('dim', hint)
  const notes = a && b ? differences.map(each => segment('warn', DIFFERENCE_TEXTS[each](a, b))) : []
  const inside = kind === 'step' && (a === undefined || b === undefined) && step.steps.length > 0
  const held = segment('dim', inside ? `with ${countOf(step.steps.length, 'step')}` : '')
  return joinSegments([name, ...notes, held, times], '  ')
}

const TONES: { readonly [Kind in TurnStep['kind']]: Tone } = {
  turn: 'session',
  request: 'api',
  tool: 'tool',
  subagent: 'subagent',
  'side call': 'auxiliary',
  other: 'other',
}

function diffLinesOf(lines: readonly DiffLine[], indent: number): Line[] {
  const near = lines.filter((_, index) =>
    lines.slice(Math.max(0, index - DIFF_CONTEXT), index + DIFF_CONTEXT + 1).some(({ sign }) => sign !== ' '),
  )
  const shown = near.slice(0, MAX_DIFF_LINES).map(({ sign, text }): Line => {
    const tone = sign === '-' ? 'error' : sign === '+' ? 'ok' : 'dim'
    return [blankSegment(indent), segment(tone, `${sign} ${displayLines(text.slice(0, 2_000)).join(' ')}`)]
  })
  if (near.length <= MAX_DIFF_LINES) return shown
  return [
    ...shown,
    [blankSegment(indent), segment('dim', `… and ${countOf(near.length - MAX_DIFF_LINES, 'line')} more`)],
  ]
}

type ComparisonRow = ReturnType<typeof rowOf>
type RowFigures = Pick<TurnStep, 'millis' | 'inputTokens' | 'outputTokens'>

const MIN_FOLDED = 5

function comparisonRows(steps: readonly ComparedStep[]): ComparisonRow[] {
  const rows: ComparisonRow[] = []
  for (const run of runsOf(steps, step => (isAlike(step) ? 'alike' : repeatKey(step)))) {
    const [first] = run
    if (first !== undefined && isAlike(first)) rows.push(...alikeRows(run))
    else if (run.length >= MIN_FOLDED) rows.push(rowOf('repeats', run))
    else rows.push(...run.map(step => rowOf('step', [step])))
  }
  return rows
}

function isAlike(step: ComparedStep): boolean {
  return step.depth > 0 && !isDifferent(step)
}

function repeatKey({ a, b, depth }: ComparedStep): string | undefined {
  const only = a ?? b
  if (only === undefined || (a !== undefined && b !== undefined)) return undefined
  if (only.kind !== 'tool' || only.isError || only.steps.length > 0) return undefined
  return JSON.stringify([depth, a !== undefined, only.name, only.outcome?.text])
}

function alikeRows(run: readonly ComparedStep[]): ComparisonRow[] {
  const middle = run.slice(1, -1)
  if (middle.length < MIN_FOLDED) return run.map(step => rowOf('step', [step]))
  return [rowOf('step', run.slice(0, 1)), rowOf('alike', middle), rowOf('step', run.slice(-1))]
}

function rowOf(kind: 'step' | 'alike' | 'repeats', steps: readonly ComparedStep[]) {
  return { kind, steps, a: figuresOf(steps, 'a'), b: figuresOf(steps, 'b') }
}

function figuresOf(steps: readonly ComparedStep[], side: 'a' | 'b'): RowFigures | undefined {
  if (steps.every(step => step[side] === undefined)) return undefined
  const depth = steps.reduce((least, step) => Math.min(least, step.depth), Number.POSITIVE_INFINITY)
  // An outer step already includes its inner steps.
  const outer = steps.filter(step => step.depth === depth).map(step => step[side])
  const sum = (name: keyof RowFigures): number => outer.reduce((total, step) => total + (step?.[name] ?? 0), 0)
  return { millis: sum('millis'), inputTokens: sum('inputTokens'), outputTokens: sum('outputTokens') }
}

/** Label, field, text, and the amount from which on the row is shown. */
const FIGURES = [
  ['turns', 'turns', humanCount, 2],
  ['active time', 'millis', humanDuration, 0],
  ['waiting for approval', 'personMillis', humanDuration, 1],
  ['tokens in', 'inputTokens', humanCount, 1],
  ['tokens out', 'outputTokens', humanCount, 1],
  ['cost', 'cost', humanCost, Number.MIN_VALUE],
  ['requests', 'requests', humanCount, 0],
  ['retries', 'retries', humanCount, 1],
  ['tools', 'tools', humanCount, 0],
  ['sub-agents', 'subagents', humanCount, 1],
  ['errors', 'errors', humanCount, 1],
] as const

function figureLines({ a, b }: Comparison): Line[] {
  const cells = FIGURES.filter(([, name, , from]) => Math.max(a[name] ?? 0, b[name] ?? 0) >= from).map(
    ([label, name, text]) => {
      const isPartial = (side: ComparedSide): boolean => name === 'cost' && side.requestsOfUnknownCost > 0
      const figureOf = (side: ComparedSide): string => (isPartial(side) ? 'at least ' : '') + text(side[name] ?? 0)
      const [inA, inB] = [a, b].map(side => (side[name] === undefined ? '–' : figureOf(side)))
      return [label, inA, inB, isPartial(a) || isPartial(b) ? '' : changeText(a[name], b[name], text)]
    },
  )
  const head = ['', 'A', 'B', 'change']
  const [labels = 0, left = 0, right = 0] = head.map((title, column) =>
    Math.max(displayWidth(title), ...cells.map(row => displayWidth(row[column] ?? ''))),
  )
  return [head, ...cells].map(([label = '', inA = '', inB = '', change = ''], index) => [
    segment('dim', GAP + padEndToWidth(label, labels)),
    segment(index === 0 ? 'dim' : 'plain', GAP + padStartToWidth(inA, left) + GAP + padStartToWidth(inB, right)),
    segment('dim', GAP + change),
  ])
}

function changeText(inA: number | undefined, inB: number | undefined, text: (figure: number) => string): string {
  if (inA === undefined || inB === undefined) return ''
  const change = inB - inA
  if (text(Math.abs(change)) === text(0)) return '='
  const sign = change > 0 ? '+' : '-'
  const percent = (Math.abs(change) / inA) * 100
  // A change of more than tenfold is plain without a percentage.
  const share = percent >= 1_000 ? '' : ` (${sign}${humanCount(percent)} %)`
  return `${sign}${text(Math.abs(change))}${share}`
}
