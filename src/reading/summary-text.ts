import { criticalPath, pathText } from './critical-path.ts'
import { displayText } from './display-text.ts'
import { clipToWidth, wrapToWidth } from './display-width.ts'
import { humanCost, humanDuration } from './human-figures.ts'
import { paintLine, segment } from './segments.ts'
import { namespaceOfTree, SpanAttributes, walkSpans } from './span-attributes.ts'
import { costOf, isRequest } from './span-facts.ts'
import type { StoredSpan } from './stored-span.ts'
import { asOf, type TraceTree } from './trace-forest.ts'
import { mainRoot, summarize } from './trace-summary.ts'
import { costText, usageText } from './tree-header.ts'
import type { TreeTextOptions } from './tree-text.ts'

const MAX_LINES = 2
const MAX_ANSWER_LINES = 4
const LABEL_WIDTH = 12
const MIN_WIDTH = 20

/**
 * The question, the answer, the cost and the critical path of a trace:
 *
 *     Question  Why does CI fail?
 *     Answer    The cache is cold: …
 *     Cost      $0.0251 (claude-sonnet-4-6 $0.0186, claude-haiku-4-5 $0.0065)
 */
export function renderSummary(stored: TraceTree, { color = false, now, ...options }: TreeTextOptions = {}): string {
  const tree = asOf(stored, now)
  const namespace = namespaceOfTree(tree)
  const root = mainRoot(tree)
  const attributes = root && new SpanAttributes(root.span, namespace)
  const summary = summarize(tree)
  const path = pathTexts(tree)
  const width = Math.max(MIN_WIDTH, (options.width ?? 100) - LABEL_WIDTH)
  const rows = [
    ['Question', attributes?.text('input.value') ?? '', MAX_LINES],
    ['Answer', attributes?.text('output.value') ?? '', MAX_ANSWER_LINES],
    ['Cost', costText(summary.cost) + modelCosts(tree, namespace), MAX_LINES],
    ['Usage', usageText(summary), MAX_LINES],
    ['Time', path.parts, MAX_LINES],
    ['Slowest', path.slowest, MAX_LINES],
  ] as const
  const lines = rows.flatMap(([label, text, maxLines]) =>
    boundedLines(text, width, maxLines).map((line, index) => [
      segment('dim', `  ${index === 0 ? label : ''}`.padEnd(LABEL_WIDTH)),
      segment('plain', line),
    ]),
  )
  return lines.map(line => paintLine(line, color)).join('\n')
}

function boundedLines(text: string, width: number, maxLines: number): string[] {
  const lines = text === '' ? [] : wrapToWidth(text, width)
  const [last = '', next] = lines.slice(maxLines - 1)
  return next === undefined ? lines : [...lines.slice(0, maxLines - 1), clipToWidth(`${last} ${next}`, width)]
}

/** ` (claude-sonnet-4-6 $0.0186, claude-haiku-4-5 $0.0065)`; empty for one model. */
function modelCosts(tree: TraceTree, namespace: string): string {
  const costs = new Map<string, number>()
  for (const { attributes } of walkSpans(tree, namespace)) {
    const cost = isRequest(attributes.kind) ? costOf(attributes) : undefined
    const model = attributes.text('gen_ai.response.model', 'gen_ai.request.model', 'llm.model_name')
    if (cost !== undefined) costs.set(model, (costs.get(model) ?? 0) + cost)
  }
  const parts = [...costs].sort(([, a], [, b]) => b - a).map(([model, cost]) => `${model} ${humanCost(cost)}`)
  return parts.length < 2 ? '' : ` (${parts.join(', ')})`
}

/** `17.6 s: model 5.2 s, you 12.2 s` and `approval.rm_rf 12.2 s`, on the critical path. */
function pathTexts(tree: TraceTree): { readonly parts: string; readonly slowest: string } {
  const path = criticalPath(tree)
  const steps = new Map<StoredSpan, number>()
  for (const { span, part, startAt, endAt } of path) {
    if (part !== 'untraced') steps.set(span, (steps.get(span) ?? 0) + endAt - startAt)
  }
  const [longest] = [...steps].sort(([, a], [, b]) => b - a)
  if (longest === undefined) return { parts: '', slowest: '' }
  const total = path.reduce((sum, { startAt, endAt }) => sum + endAt - startAt, 0)
  const [{ name }, millis] = longest
  return {
    parts: `${humanDuration(total)}: ${pathText(path)}`,
    slowest: `${displayText(name)} ${humanDuration(millis)}`,
  }
}
