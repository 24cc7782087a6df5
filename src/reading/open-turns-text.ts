import { countOf, humanAge, humanCost, humanCount, humanDuration } from './human-figures.ts'
import { type OpenState, type OpenTurn, openTurns, promptIn } from './open-turns.ts'
import { alignEnds, clipSegments, joinSegments, paintLine, segment, type TextSegment, type Tone } from './segments.ts'
import type { TraceTree } from './trace-forest.ts'
import { summarize } from './trace-summary.ts'
import { headerTitle, shortTraceId, silenceText } from './tree-header.ts'
import { rowTitle, tokensText, treeRows } from './tree-rows.ts'

export interface OpenTurnsOptions {
  readonly width: number
  readonly color: boolean
  readonly now: number
  readonly maxLines: number
}

/** The selected turn of an interactive list, and what is listed below the open turns. */
export interface TopOptions extends OpenTurnsOptions {
  readonly selectedId?: string | undefined
  readonly ended?: readonly TraceTree[]
}

type Line = readonly TextSegment[]

/** Limit per trace: a turn with a hundred parallel tools must not push the others out of sight. */
const MAX_SPANS = 3
const ID_FROM_WIDTH = 100

/**
 * The running turns in a few lines: each trace with its open and silent time, and the spans in progress below it. Most recently
 * active first; those that do not fit are counted.
 */
export function renderOpenTurns(
  trees: readonly TraceTree[],
  options: OpenTurnsOptions,
  isOwnerDead?: (tree: TraceTree) => boolean,
): string[] {
  const turns = openTurns(trees, options.now, isOwnerDead).sort((a, b) => b.lastAt - a.lastAt)
  const drawn = turns.map(turn => turnLines(turn, options, turn.state === 'owner-dead' ? [stateOf(turn)] : []))
  return paintLines(fitTurns(drawn, options.maxLines, 'running'), options)
}

export function renderTop(turns: readonly OpenTurn[], options: TopOptions): string[] {
  const { ended = [], selectedId } = options
  const below =
    ended.length === 0 ? [] : [[], [segment('dim', 'Ended')], ...ended.map(tree => endedLine(tree, options))]
  const drawn = turns.map(turn => {
    const { tokens } = turn.summary
    const status = [stateOf(turn), segment('plain', tokens === undefined ? '' : tokensText(tokens))]
    return turnLines(turn, options, status, turn.traceId === selectedId)
  })
  const maxLines = Math.max(1, options.maxLines - 2 - below.length)
  const lines = fitTurns(drawn.slice(firstShown(turns, drawn, selectedId, maxLines)), maxLines, 'open')
  return paintLines([countLine(turns), ...(lines.length === 0 ? [] : [[], ...lines]), ...below], options)
}

function firstShown(
  turns: readonly OpenTurn[],
  drawn: readonly (readonly Line[])[],
  selectedId: string | undefined,
  maxLines: number,
): number {
  const selected = turns.findIndex(({ traceId }) => traceId === selectedId)
  let first = Math.max(0, selected)
  let rows = drawn[first]?.length ?? 0
  // One line is left for the count of those that do not fit.
  while (first > 0 && rows + (drawn[first - 1]?.length ?? 0) < maxLines) rows += drawn[--first]?.length ?? 0
  return first
}

function endedLine(tree: TraceTree, { now, width, selectedId }: TopOptions): Line {
  const summary = summarize(tree)
  const { outcome, durationMillis, cost, errorCount } = summary
  const figures = joinSegments(
    [
      outcome ?? segment('dim', ''),
      segment('error', errorCount === 0 ? '' : countOf(errorCount, 'error')),
      segment('plain', humanDuration(durationMillis)),
      segment('plain', cost.paidCount === 0 ? '' : humanCost(cost.dollars)),
      segment('dim', `${humanAge(now - tree.endAt)} ago`),
    ],
    ' · ',
  )
  const isSelected = tree.traceId === selectedId
  const title = [segment(outcome?.tone ?? 'dim', isSelected ? SELECTED : '● '), ...headerTitle(summary, tree.traceId)]
  const prompt = promptIn(treeRows(tree))
  return alignEnds(prompt === '' ? title : [...title, segment('plain', `  ${prompt}`)], figures, width)
}

const SELECTED = '▸ '

function paintLines(lines: readonly Line[], { width, color }: OpenTurnsOptions): string[] {
  return lines.map(line => paintLine(clipSegments(line, width), color))
}

function fitTurns(turns: readonly (readonly Line[])[], maxLines: number, word: string): Line[] {
  const lines: Line[] = []
  for (const [index, turn] of turns.entries()) {
    const isLast = index === turns.length - 1
    if (lines.length + turn.length > maxLines - (isLast ? 0 : 1)) {
      lines.push([segment('dim', `  … and ${turns.length - index} more ${word}`)])
      break
    }
    lines.push(...turn)
  }
  return lines
}

const STATES: {
  readonly [State in OpenState]: { readonly tone: Tone; readonly text: string; readonly count: string }
} = {
  hung: { tone: 'error', text: 'hung', count: 'hung' },
  waiting: { tone: 'approval', text: 'waiting for approval', count: 'waiting for approval' },
  running: { tone: 'ok', text: 'running', count: 'running' },
  'owner-dead': { tone: 'dim', text: 'process exited', count: 'with an exited process' },
}

function countLine(turns: readonly OpenTurn[]): Line {
  if (turns.length === 0) return [segment('dim', 'No open turns.')]
  const counts = (Object.keys(STATES) as OpenState[]).map(state => {
    const count = turns.filter(turn => turn.state === state).length
    return segment(STATES[state].tone, count === 0 ? '' : `${humanCount(count)} ${STATES[state].count}`)
  })
  return [segment('strong', `${humanCount(turns.length)} open: `), ...joinSegments(counts, ', ')]
}

function stateOf({ state }: OpenTurn): TextSegment {
  return segment(STATES[state].tone, STATES[state].text)
}

function turnLines(turn: OpenTurn, { now, width }: OpenTurnsOptions, status: Line, isSelected = false): Line[] {
  const shown = turn.doing.slice(0, MAX_SPANS).map(row => {
    const lasted = humanAge(now - row.step.node.span.startAt)
    return alignEnds([segment('dim', '  └─ '), ...rowTitle(row)], [segment('plain', lasted)], width)
  })
  const hidden = turn.doing.length - shown.length
  const rest = hidden === 0 ? [] : [[segment('dim', `     and ${hidden} more in parallel`)]]
  const isBelow = turn.prompt === '' || turn.doing.some(({ facts }) => facts.kind === 'session')
  const prompt = isBelow ? [] : [[segment('plain', `  ${turn.prompt}`)]]
  return [titleLine(turn, status, { now, width, isSelected }), ...prompt, ...shown, ...rest]
}

function titleLine(
  { state, summary, traceId, sinceAt }: OpenTurn,
  status: Line,
  { now, width, isSelected }: Pick<OpenTurnsOptions, 'now' | 'width'> & { readonly isSelected: boolean },
): Line {
  const isTold = status.length > 0
  const lasted = `${isTold ? 'open' : 'running for'} ${humanAge(now - sinceAt)}`
  const ages = joinSegments(
    [
      ...status,
      segment('plain', lasted),
      segment('warn', silenceText(summary.silentMillis, humanAge)),
      segment('dim', summary.sessionId === '' || (isTold && width < ID_FROM_WIDTH) ? '' : shortTraceId(traceId)),
    ],
    ' · ',
  )
  return alignEnds(
    [segment(isTold ? STATES[state].tone : 'warn', isSelected ? SELECTED : '○ '), ...headerTitle(summary, traceId)],
    ages,
    width,
  )
}
