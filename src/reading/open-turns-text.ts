import { humanAge, humanCount } from './human-figures.ts'
import { type OpenState, type OpenTurn, openTurns } from './open-turns.ts'
import { alignEnds, clipSegments, joinSegments, paintLine, segment, type TextSegment, type Tone } from './segments.ts'
import type { TraceTree } from './trace-forest.ts'
import { headerTitle, shortTraceId, silenceText } from './tree-header.ts'
import { rowTitle, tokensText } from './tree-rows.ts'

export interface OpenTurnsOptions {
  readonly width: number
  readonly color: boolean
  readonly now: number
  readonly maxLines: number
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
  const drawn = turns.map(turn => turnLines(turn, options, turn.state === 'owner-dead' ? stateOf(turn) : []))
  return paintLines(fitTurns(drawn, options.maxLines, 'running'), options)
}

export function renderTop(turns: readonly OpenTurn[], options: OpenTurnsOptions): string[] {
  const drawn = turns.map(turn => turnLines(turn, options, statusOf(turn)))
  const lines = fitTurns(drawn, options.maxLines - 2, 'open')
  return paintLines([countLine(turns), ...(lines.length === 0 ? [] : [[], ...lines])], options)
}

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
  waiting: { tone: 'approval', text: 'waits for a person', count: 'waiting for a person' },
  running: { tone: 'ok', text: 'running', count: 'running' },
  'owner-dead': { tone: 'dim', text: 'its process is gone', count: 'left by a dead process' },
}

function countLine(turns: readonly OpenTurn[]): Line {
  if (turns.length === 0) return [segment('dim', 'Nothing is open.')]
  const counts = (Object.keys(STATES) as OpenState[]).map(state => {
    const count = turns.filter(turn => turn.state === state).length
    return segment(STATES[state].tone, count === 0 ? '' : `${humanCount(count)} ${STATES[state].count}`)
  })
  return [segment('strong', `${humanCount(turns.length)} open: `), ...joinSegments(counts, ', ')]
}

function stateOf({ state }: OpenTurn): Line {
  const { tone, text } = STATES[state]
  return [segment(tone, text)]
}

function statusOf(turn: OpenTurn): Line {
  const { tokens } = turn.summary
  return [...stateOf(turn), segment('plain', tokens === undefined ? '' : tokensText(tokens))]
}

function turnLines(turn: OpenTurn, { now, width }: OpenTurnsOptions, status: Line): Line[] {
  const shown = turn.doing.slice(0, MAX_SPANS).map(row => {
    const lasted = humanAge(now - row.step.node.span.startAt)
    return alignEnds([segment('dim', '  └─ '), ...rowTitle(row)], [segment('plain', lasted)], width)
  })
  const hidden = turn.doing.length - shown.length
  const rest = hidden === 0 ? [] : [[segment('dim', `     and ${hidden} more at once`)]]
  const isBelow = turn.prompt === '' || turn.doing.some(({ facts }) => facts.kind === 'session')
  const prompt = isBelow ? [] : [[segment('plain', `  ${turn.prompt}`)]]
  return [titleLine(turn, status, { now, width }), ...prompt, ...shown, ...rest]
}

function titleLine(
  { state, summary, traceId, sinceAt }: OpenTurn,
  status: Line,
  { now, width }: Pick<OpenTurnsOptions, 'now' | 'width'>,
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
  return alignEnds([segment(isTold ? STATES[state].tone : 'warn', '○ '), ...headerTitle(summary, traceId)], ages, width)
}
