import { displayText } from './display-text.ts'
import { countOf, humanCount, humanDuration, humanInstant } from './human-figures.ts'
import { type Segment, segment, spaced } from './segments.ts'
import type { TraceSummary } from './trace-summary.ts'
import { tokensText } from './tree-rows.ts'

/** Agent, session and turn; the trace's id where nothing else is known. */
export function headerTitle(summary: TraceSummary, traceId: string): Segment[] {
  const id = summary.sessionId === '' ? `trace ${displayText(traceId)}` : summary.sessionId
  const numbered = summary.turnNumber === undefined ? '' : `turn ${humanCount(summary.turnNumber)}`
  const turn = summary.isBackground ? 'background' : numbered
  return spaced([segment('strong', summary.agent), segment('plain', id), segment('dim', turn)], ' · ')
}

export function headerTime(summary: TraceSummary): string {
  return humanInstant(summary.startAt)
}

/** `completed · 14.2 s · 5 230 → 302 tokens, of which 1 176 in sub-agents · 13 spans · 1 error`. */
export function headerFigures(summary: TraceSummary): Segment[] {
  const { outcome, errorCount } = summary
  return spaced(
    [
      outcome ?? segment('dim', ''),
      segment('plain', humanDuration(summary.durationMillis)),
      segment('plain', usageText(summary)),
      segment('plain', spansText(summary)),
      segment('error', errorCount === 0 ? '' : countOf(errorCount, 'error')),
      segment('dim', summary.model),
    ],
    ' · ',
  )
}

function spansText({ spanCount, runningCount }: TraceSummary): string {
  return `${countOf(spanCount, 'span')}${runningCount === 0 ? '' : `, ${humanCount(runningCount)} of them running`}`
}

/** All tokens, and what of them other agents and the host's side calls used. */
function usageText({
  tokens,
  subagentTokens,
  auxiliaryTokens,
}: Pick<TraceSummary, 'tokens' | 'subagentTokens' | 'auxiliaryTokens'>): string {
  if (tokens === undefined) return ''
  const parts = [
    subagentTokens === 0 ? '' : `${humanCount(subagentTokens)} in sub-agents`,
    auxiliaryTokens === 0 ? '' : `${humanCount(auxiliaryTokens)} in side calls`,
  ].filter(part => part !== '')
  const apart = parts.length === 0 ? '' : `, of which ${parts.join(' and ')}`
  return `${tokensText(tokens)} tokens${apart}`
}

export function totalFigures(summaries: readonly TraceSummary[]): Segment[] {
  const sum = (figure: (summary: TraceSummary) => number | undefined): number =>
    summaries.reduce((total, summary) => total + (figure(summary) ?? 0), 0)
  const errorCount = sum(summary => summary.errorCount)
  const tokens = { input: sum(({ tokens }) => tokens?.input), output: sum(({ tokens }) => tokens?.output) }
  const usage = {
    tokens,
    subagentTokens: sum(summary => summary.subagentTokens),
    auxiliaryTokens: sum(summary => summary.auxiliaryTokens),
  }
  const parts = [
    segment('dim', countOf(summaries.length, 'trace')),
    segment('dim', humanDuration(sum(summary => summary.durationMillis))),
    segment('dim', tokens.input + tokens.output === 0 ? '' : usageText(usage)),
    segment(
      'dim',
      countOf(
        sum(summary => summary.spanCount),
        'span',
      ),
    ),
    segment('error', errorCount === 0 ? '' : countOf(errorCount, 'error')),
  ]
  return spaced(parts, ' · ')
}
