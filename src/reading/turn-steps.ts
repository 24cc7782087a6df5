import { argumentLines } from './argument-lines.ts'
import { displayText } from './display-text.ts'
import type { DisplayKind, TextSegment } from './segments.ts'
import { namespaceOfTree, type SpanAttributes, walkSpans } from './span-attributes.ts'
import { approvalWaitMillis, costOf, factsOf, isRequest, tokensOf } from './span-facts.ts'
import type { StoredSpan } from './stored-span.ts'
import type { TraceNode, TraceTree, TreeStep } from './trace-forest.ts'

export type StepKind = 'turn' | 'request' | 'tool' | 'subagent' | 'side call' | 'other'

type StepText = 'name' | 'model' | 'argumentText' | 'hint' | 'traceId' | 'spanId'
type StepFigure = 'attempts' | 'millis' | 'personMillis' | 'inputTokens' | 'outputTokens' | 'cost' | 'startAt'

export interface TurnStep extends Readonly<Record<StepText, string> & Record<StepFigure, number>> {
  readonly kind: StepKind
  readonly argument: readonly string[]
  readonly outcome: TextSegment | undefined
  readonly isError: boolean
  readonly steps: readonly TurnStep[]
}

interface GrowingStep extends Mutable<Omit<TurnStep, 'steps'>> {
  readonly steps: GrowingStep[]
  readonly spans: StoredSpan[]
  readonly namespace: string
  /** The parent of its span. Attempts of one request share it. */
  readonly parent: TraceNode | undefined
  endAt: number
}

export type Mutable<Shape> = { -readonly [Name in keyof Shape]: Shape[Name] }

const STEP_KINDS: { readonly [Kind in DisplayKind]?: StepKind } = {
  api: 'request',
  tool: 'tool',
  subagent: 'subagent',
  auxiliary: 'side call',
  other: 'other',
}

/** Turns with their steps: the loop as one list, the attempts of a request as one step, and framing spans left out. */
export function turnSteps(tree: TraceTree): TurnStep[] {
  const namespace = namespaceOfTree(tree)
  const turns: GrowingStep[] = []
  const all: GrowingStep[] = []
  const within = new Map<TraceNode, GrowingStep>()
  for (const walked of walkSpans(tree, namespace)) {
    const { node, parent, attributes } = walked
    const outer = parent && within.get(parent.node)
    const { kind } = attributes
    const stepKind = outer === undefined ? 'turn' : STEP_KINDS[kind]
    if (outer !== undefined && stepKind === undefined) {
      within.set(node, outer)
      if (kind === 'approval') outer.spans.push(node.span)
      continue
    }
    const earlier = outer?.steps.at(-1)
    const request = stepKind === 'request' && earlier?.kind === 'request' ? earlier : undefined
    const mayRetry = request?.isError || (attributes.number('.api.attempt') ?? 0) > 0
    const retried = request?.parent === parent?.node && mayRetry ? request : undefined
    const step = retried ?? stepOf(walked, stepKind ?? 'turn', attributes, namespace)
    if (retried) addAttempt(step, node, attributes)
    // The tools that a request asked for run after it, in the same loop.
    within.set(node, outer !== undefined && stepKind === 'request' ? outer : step)
    if (retried) continue
    all.push(step)
    if (outer === undefined) turns.push(step)
    else outer.steps.push(step)
  }
  addInnerTotals(all, namespace)
  return turns
}

function addAttempt(step: GrowingStep, node: TraceNode, attributes: SpanAttributes): void {
  const { outcome, isError } = factsOf(node, step.namespace)
  step.attempts += 1
  step.outcome = outcome
  step.isError = isError
  step.endAt = Math.max(step.endAt, node.span.endAt)
  addUsage(step, attributes)
}

function addUsage(step: GrowingStep, attributes: SpanAttributes): void {
  if (!isRequest(attributes.kind)) return
  const { input = 0, output = 0 } = tokensOf(attributes) ?? {}
  step.inputTokens += input
  step.outputTokens += output
  step.cost += costOf(attributes) ?? 0
}

const ARGUMENT_NAMES: { readonly [Kind in StepKind]?: readonly string[] } = {
  turn: ['input.value', 'gen_ai.input.messages'],
  tool: ['gen_ai.tool.call.arguments', 'input.value', 'tool.parameters', '.tool.command', '.tool.target'],
  subagent: ['.subagent.goal', 'input.value'],
}

const NO_FIGURES = { millis: 0, personMillis: 0, inputTokens: 0, outputTokens: 0, cost: 0 }

function stepOf(step: TreeStep, kind: StepKind, attributes: SpanAttributes, namespace: string): GrowingStep {
  const { node, parent } = step
  const { span } = node
  const { outcome, isError, hint } = factsOf(node, namespace)
  const argumentText = attributes.rawText(...(ARGUMENT_NAMES[kind] ?? []))
  const isModels = kind === 'request' || kind === 'side call'
  const growing: GrowingStep = {
    kind,
    name: nameOf(kind, attributes),
    model: isModels ? attributes.text('gen_ai.request.model', 'llm.model_name', 'gen_ai.response.model') : '',
    argument: argumentLines(argumentText),
    argumentText,
    hint: isModels ? '' : hint || displayText(argumentText),
    outcome,
    isError,
    attempts: 1,
    ...NO_FIGURES,
    traceId: span.traceId,
    spanId: span.spanId,
    startAt: span.startAt,
    endAt: Math.max(span.startAt, span.endAt),
    steps: [],
    spans: [],
    namespace,
    parent: parent?.node,
  }
  addUsage(growing, attributes)
  return growing
}

function nameOf(kind: StepKind, attributes: SpanAttributes): string {
  const name = displayText(attributes.span.name)
  switch (kind) {
    case 'tool':
      return attributes.text('gen_ai.tool.name', 'tool.name') || name.replace(/^(?:tool\.|execute_tool )/, '')
    case 'subagent':
      return attributes.text('gen_ai.agent.name', '.subagent.role') || name.replace(/^(?:subagent\.|invoke_agent )/, '')
    case 'side call':
      return attributes.text('.aux.task') || name.replace(/^aux\./, '')
    case 'other':
      return name
    default:
      return ''
  }
}

/** Adds the totals of inner steps to their outer steps. In reverse, so that inner steps are complete first. */
function addInnerTotals(steps: readonly GrowingStep[], namespace: string): void {
  for (const step of [...steps].reverse()) {
    step.steps.sort((a, b) => a.startAt - b.startAt)
    for (const inner of step.steps) {
      step.inputTokens += inner.inputTokens
      step.outputTokens += inner.outputTokens
      step.cost += inner.cost
      step.spans.push(...inner.spans)
    }
    step.personMillis = approvalWaitMillis(step.spans, namespace)
    step.millis = Math.max(0, step.endAt - step.startAt - step.personMillis)
  }
}
