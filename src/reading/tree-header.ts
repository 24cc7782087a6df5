import { displayText } from './display-text.ts'
import { countOf, humanCost, humanCount, humanDuration } from './human-figures.ts'
import { joinSegments, segment, type TextSegment } from './segments.ts'
import { type KnownCost, sumCosts, type TraceSummary } from './trace-summary.ts'
import { tokensText } from './tree-rows.ts'

export function headerTitle(summary: TraceSummary, traceId: string): TextSegment[] {
  const id = summary.sessionId === '' ? `trace ${displayText(traceId)}` : summary.sessionId
  const numbered = summary.turnNumber === undefined ? '' : `turn ${humanCount(summary.turnNumber)}`
  const turn = summary.isBackground ? 'background' : numbered
  return joinSegments([segment('strong', summary.agent), segment('plain', id), segment('dim', turn)], ' · ')
}

export function shortTraceId(traceId: string): string {
  return displayText(traceId).slice(0, 8)
}

/** @param isShort without the shares of sub-agents and side calls, which would push the cost out of a narrow line */
export function headerFigures(summary: TraceSummary, isShort = false): TextSegment[] {
  const { outcome, errorCount, spanCount, runningCount } = summary
  const running = runningCount === 0 ? '' : `, ${humanCount(runningCount)} running`
  const figures = [
    outcome ?? segment('dim', ''),
    segment('plain', humanDuration(summary.durationMillis)),
    segment('warn', silenceText(summary.silentMillis)),
    segment('plain', usageText(summary, isShort)),
    segment('plain', costText(summary.cost)),
    segment('plain', countOf(spanCount, 'span') + running),
    segment('error', errorCount === 0 ? '' : countOf(errorCount, 'error')),
    segment('dim', summary.model),
  ]
  return joinSegments(figures, ' · ')
}

const SILENT_FROM_MILLIS = 10_000

export function silenceText(millis: number, duration: (millis: number) => string = humanDuration): string {
  return millis < SILENT_FROM_MILLIS ? '' : `silent for ${duration(millis)}`
}

export function costText({ dollars, paidCount, unknownCount }: KnownCost): string {
  if (paidCount === 0) return ''
  const of =
    unknownCount === 0 ? '' : ` for ${humanCount(paidCount)} of ${countOf(paidCount + unknownCount, 'request')}`
  return `${humanCost(dollars)}${of}`
}

type Usage = Pick<TraceSummary, 'tokens' | 'subagentTokens' | 'auxiliaryTokens'>

export function usageText({ tokens, subagentTokens, auxiliaryTokens }: Usage, isShort = false): string {
  if (tokens === undefined) return ''
  const parts = [
    subagentTokens === 0 ? '' : `${humanCount(subagentTokens)} in sub-agents`,
    auxiliaryTokens === 0 ? '' : `${humanCount(auxiliaryTokens)} in side calls`,
  ].filter(part => part !== '')
  const apart = isShort || parts.length === 0 ? '' : `, of which ${parts.join(' and ')}`
  return `${tokensText(tokens)} tokens${apart}`
}

export function totalFigures(summaries: readonly TraceSummary[], isShort = false): TextSegment[] {
  const sum = (figure: (summary: TraceSummary) => number | undefined): number =>
    summaries.reduce((total, summary) => total + (figure(summary) ?? 0), 0)
  const errorCount = sum(summary => summary.errorCount)
  const spanCount = sum(summary => summary.spanCount)
  const tokens = { input: sum(({ tokens }) => tokens?.input), output: sum(({ tokens }) => tokens?.output) }
  const usage = {
    tokens,
    subagentTokens: sum(summary => summary.subagentTokens),
    auxiliaryTokens: sum(summary => summary.auxiliaryTokens),
  }
  const parts = [
    segment('dim', countOf(summaries.length, 'trace')),
    segment('dim', humanDuration(sum(summary => summary.durationMillis))),
    segment('dim', tokens.input + tokens.output === 0 ? '' : usageText(usage, isShort)),
    segment('dim', costText(sumCosts(summaries.map(({ cost }) => cost)))),
    segment('dim', countOf(spanCount, 'span')),
    segment('error', errorCount === 0 ? '' : countOf(errorCount, 'error')),
  ]
  return joinSegments(parts, ' · ')
}
