import { humanDuration } from './human-figures.ts'
import { clipSegments, paintLine, type Segment, segment, segmentsWidth, spaced } from './segments.ts'
import { asOf, type SpanNode, type TraceTree, walkTree } from './trace-forest.ts'
import { summarize } from './trace-summary.ts'
import { GAP } from './tree-columns.ts'
import { headerTitle, shortTraceId, silenceText } from './tree-header.ts'
import { titleOf, treeRows } from './tree-rows.ts'

export interface OpenTurnsOptions {
  /** Cells of a line. */
  readonly width: number
  readonly color: boolean
  /** Epoch milliseconds. */
  readonly now: number
  /** Lines at most. */
  readonly maxLines: number
}

/** Of one trace; a turn with a hundred tools at once must not push the others out of sight. */
const MOST_SPANS = 3

/**
 * What is running, in a few lines: each trace with how long it has been open and silent, and below it what it is at. Those
 * in which something happened last come first; those for which there is no room are counted.
 */
export function renderOpenTurns(trees: readonly TraceTree[], options: OpenTurnsOptions): string[] {
  const running = trees.filter(tree => tree.isRunning).sort((a, b) => b.lastAt - a.lastAt)
  const lines: (readonly Segment[])[] = []
  for (const [index, tree] of running.entries()) {
    const turn = turnLines(tree, options)
    const isLast = index === running.length - 1
    if (lines.length + turn.length > options.maxLines - (isLast ? 0 : 1)) {
      lines.push([segment('dim', `  … and ${running.length - index} more running`)])
      break
    }
    lines.push(...turn)
  }
  return lines.map(line => paintLine(clipSegments(line, options.width), options.color))
}

function turnLines(stored: TraceTree, { now, width }: OpenTurnsOptions): (readonly Segment[])[] {
  const tree = asOf(stored, now)
  const innermost = innermostOpen(tree)
  const rows = treeRows(tree).filter(({ step }) => innermost.has(step.node))
  const shown = rows.slice(0, MOST_SPANS).map(row => {
    const lasted = age(now - row.step.node.span.startAt)
    return apart([segment('dim', '  └─ '), ...titleOf(row)], [segment('plain', lasted)], width)
  })
  const hidden = rows.length - shown.length
  const rest = hidden === 0 ? [] : [[segment('dim', `     and ${hidden} more at once`)]]
  return [titleLine(tree, { now, width }), ...shown, ...rest]
}

function titleLine(tree: TraceTree, { now, width }: Pick<OpenTurnsOptions, 'now' | 'width'>): readonly Segment[] {
  const summary = summarize(tree)
  const since = openSpans(tree).reduce((first, { span }) => Math.min(first, span.startAt), now)
  const ages = spaced(
    [
      segment('plain', `running for ${age(now - since)}`),
      segment('warn', silenceText(summary.silentMillis, age)),
      segment('dim', summary.sessionId === '' ? '' : shortTraceId(tree.traceId)),
    ],
    ' · ',
  )
  return apart([segment('warn', '○ '), ...headerTitle(summary, tree.traceId)], ages, width)
}

/** The left one is cut where there is no room for both. */
function apart(left: readonly Segment[], right: readonly Segment[], width: number): readonly Segment[] {
  const fitting = clipSegments(left, Math.max(0, width - segmentsWidth(right) - GAP.length))
  const gap = segment('plain', ' '.repeat(Math.max(GAP.length, width - segmentsWidth([...fitting, ...right]))))
  return [...fitting, gap, ...right]
}

/** In whole seconds: a line that changes ten times a second is not to be read. */
function age(millis: number): string {
  const whole = Math.floor(Math.max(0, millis) / 1000) * 1000
  return whole < 60_000 ? `${whole / 1000} s` : humanDuration(whole)
}

function openSpans(tree: TraceTree): SpanNode[] {
  return Array.from(walkTree(tree), ({ node }) => node).filter(({ span }) => span.running === true)
}

/** What is running and has nothing below it that is: the others are waiting for it. */
function innermostOpen(tree: TraceTree): ReadonlySet<SpanNode> {
  const innermost = new Set(openSpans(tree))
  const passed = new Set<SpanNode>()
  for (const { node, parent } of walkTree(tree)) {
    if (node.span.running !== true) continue
    for (let outer = parent; outer !== undefined && !passed.has(outer.node); outer = outer.parent) {
      passed.add(outer.node)
      innermost.delete(outer.node)
    }
  }
  return innermost
}
