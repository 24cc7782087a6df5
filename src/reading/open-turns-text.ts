import { countOf, humanAge, humanCost, humanCount, humanDuration } from './human-figures.ts'
import { type OpenState, type OpenTurn, openTurns, promptIn } from './open-turns.ts'
import type { Line, TextSegment, Tone } from './segments.ts'
import { alignEnds, clipSegments, joinSegments, paintLine, segment } from './segments.ts'
import type { TraceTree } from './trace-forest.ts'
import { summarize } from './trace-summary.ts'
import { headerTitle, shortTraceId, silenceText } from './tree-header.ts'
import { rowTitle, tokensText, treeRows } from './tree-rows.ts'

export type OpenTurnsOptions = Readonly<{ width: number; color: boolean; now: number; maxLines: number }>

/** The selected turn of an interactive list, and what is listed below the open turns. */
export type TopOptions = OpenTurnsOptions & Readonly<{ selectedId?: string | undefined; ended?: readonly TraceTree[] }>

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
  const selected = turns.findIndex(({ traceId }) => traceId === selectedId)
  const lines = fitTurns(drawn.slice(firstShown(selected, drawn, maxLines)), maxLines, 'open')
  return paintLines([countLine(turns), ...(lines.length === 0 ? [] : [[], ...lines]), ...below], options)
}

function firstShown(selected: number, drawn: readonly (readonly Line[])[], maxLines: number): number {
  let first = Math.max(0, selected)
  let rows = drawn[first]?.length ?? 0
  // One line is left for the count of those that do not fit.
  while (first > 0 && rows + (drawn[first - 1]?.length ?? 0) < maxLines) rows += drawn[--first]?.length ?? 0
  return first
}

function endedLine(tree: TraceTree, { now, width, selectedId }: TopOptions): Line {
  const summary = summarize(tree)
  const { outcome, durationMillis, cost, errorCount } = summary
  const figures = [
    outcome ?? segment('dim', ''),
    segment('error', errorCount === 0 ? '' : countOf(errorCount, 'error')),
    segment('plain', humanDuration(durationMillis)),
    segment('plain', cost.paidCount === 0 ? '' : humanCost(cost.dollars)),
    segment('dim', `${humanAge(now - tree.endAt)} ago`),
  ]
  const isSelected = tree.traceId === selectedId
  const title = [segment(outcome?.tone ?? 'dim', isSelected ? SELECTED : '● '), ...headerTitle(summary, tree.traceId)]
  const prompt = promptIn(treeRows(tree))
  const left = prompt === '' ? title : [...title, segment('plain', `  ${prompt}`)]
  return alignEnds(left, joinSegments(figures, ' · '), width)
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

const STATES: { readonly [State in OpenState]: { readonly tone: Tone; readonly text: string } } = {
  hung: { tone: 'error', text: 'hung' },
  waiting: { tone: 'approval', text: 'waiting for approval' },
  running: { tone: 'ok', text: 'running' },
  'owner-dead': { tone: 'dim', text: 'process exited' },
}

function countLine(turns: readonly OpenTurn[]): Line {
  if (turns.length === 0) return [segment('dim', 'No open turns.')]
  const counts = (Object.keys(STATES) as OpenState[]).map(state => {
    const count = turns.filter(turn => turn.state === state).length
    const text = state === 'owner-dead' ? 'with an exited process' : STATES[state].text
    return segment(STATES[state].tone, count === 0 ? '' : `${humanCount(count)} ${text}`)
  })
  return [segment('strong', `${humanCount(turns.length)} open: `), ...joinSegments(counts, ', ')]
}

function stateOf({ state }: OpenTurn): TextSegment {
  return segment(STATES[state].tone, STATES[state].text)
}

function turnLines(turn: OpenTurn, { now, width }: OpenTurnsOptions, status: Line, isSelected = false): Line[] {
  const { state, summary, traceId, sinceAt } = turn
  const hasStatus = status.length > 0
  const isUnnamed = summary.sessionId === '' || (hasStatus && width < ID_FROM_WIDTH)
  const ages = [
    ...status,
    segment('plain', `${hasStatus ? 'open' : 'running for'} ${humanAge(now - sinceAt)}`),
    segment('warn', silenceText(summary.silentMillis, humanAge)),
    segment('dim', isUnnamed ? '' : shortTraceId(traceId)),
  ]
  const mark = segment(hasStatus ? STATES[state].tone : 'warn', isSelected ? SELECTED : '○ ')
  const title = alignEnds([mark, ...headerTitle(summary, traceId)], joinSegments(ages, ' · '), width)
  const shown = turn.doing.slice(0, MAX_SPANS).map(row => {
    const lasted = humanAge(now - row.step.node.span.startAt)
    return alignEnds([segment('dim', '  └─ '), ...rowTitle(row)], [segment('plain', lasted)], width)
  })
  const hidden = turn.doing.length - shown.length
  const rest = hidden === 0 ? [] : [[segment('dim', `     and ${hidden} more in parallel`)]]
  const isBelow = turn.prompt === '' || turn.doing.some(({ facts }) => facts.kind === 'session')
  const prompt = isBelow ? [] : [[segment('plain', `  ${turn.prompt}`)]]
  return [title, ...prompt, ...shown, ...rest]
}
