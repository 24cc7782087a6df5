import { dropUndefined } from '../../reading/attribute-value.ts'
import { failureTail } from '../../reading/failure-tail.ts'
import { namespaceOfTree, type SpanAttributes, walkSpans } from '../../reading/span-attributes.ts'
import { cachedTokensOf, factsOf, isApprovalWait } from '../../reading/span-facts.ts'
import { PARALLEL_KINDS, parallelGroups } from '../../reading/time-ranges.ts'
import type { TraceNode, TraceTree } from '../../reading/trace-forest.ts'
import { answerOf } from '../../reading/trajectory.ts'
import type { Mutable } from '../../reading/turn-steps.ts'
import type { ChildTraces } from '../trace-index/answers.ts'
import type { SpanState, Transcript, TranscriptStep } from './api.ts'
import { spanFields } from './trace-view.ts'
import { type ValueCutter, valueCutter } from './value-cutter.ts'

/**
 * Characters of a text sent at once; the span panel has the rest. Beyond `TRANSCRIPT_CHARS` in total, each further text is cut to
 * a line.
 */
const TEXT_CHARS = 20_000
const TRANSCRIPT_CHARS = 1_000_000
const SHORT_CHARS = 300
const MAX_STEPS = 5_000
/** Agents below this depth share the card of the deepest one: nested JSON must not overflow the stack. */
const MAX_AGENT_DEPTH = 16

type GrowingTranscript = Mutable<Omit<Transcript, 'steps'>> & Readonly<{ steps: TranscriptStep[] }>

interface Position {
  readonly transcript: GrowingTranscript
  readonly depth: number
  /** The next session span below is the agent of this transcript, and not a child of it. */
  readonly awaitsSession: boolean
}

/** @param now the provisional end of open spans */
export function transcriptOf(tree: TraceTree, openState: SpanState, now: number, children: ChildTraces): Transcript {
  const namespace = namespaceOfTree(tree)
  const root: GrowingTranscript = { steps: [], hasContent: false }
  const top: Position = { transcript: root, depth: 0, awaitsSession: true }
  const positions = new Map<TraceNode, Position>()
  const cut = valueCutter({ whole: TEXT_CHARS, short: SHORT_CHARS, total: TRANSCRIPT_CHARS })
  const siblings = new Map<TraceNode | undefined, Mutable<TranscriptStep>[]>()
  let stepCount = 0
  for (const { node, parent, attributes } of walkSpans(tree, namespace)) {
    const above = (parent && positions.get(parent.node)) ?? top
    positions.set(node, positionOf(node, attributes, above, parent?.node))
    root.hasContent ||= attributes.rawText('input.value', 'output.value') !== ''
  }
  for (const steps of siblings.values()) markParallel(steps, now)
  return root

  function positionOf(node: TraceNode, attributes: SpanAttributes, above: Position, parent?: TraceNode): Position {
    const { kind } = attributes
    if (kind === 'other') addStep(above, stepOf(node, attributes))
    if (kind === 'other') return above
    const isChild = kind === 'subagent' || (kind === 'session' && !above.awaitsSession)
    const agent = isChild && above.depth < MAX_AGENT_DEPTH ? { steps: [], hasContent: true } : undefined
    const isLoop = kind === 'session' || kind === 'llm'
    const isQuiet = kind === 'hook' && factsOf(node, namespace).outcome?.tone === 'dim'
    if (agent !== undefined || !(isLoop || isQuiet)) {
      const step = { ...stepOf(node, attributes), ...(agent && { agent }) }
      addStep(above, step)
      if (PARALLEL_KINDS.has(kind)) siblings.set(parent, [...(siblings.get(parent) ?? []), step])
    }
    const transcript = agent ?? above.transcript
    if (isLoop || agent !== undefined) addQuestionAndAnswer(transcript, attributes, cut)
    return { transcript, depth: above.depth + (agent ? 1 : 0), awaitsSession: kind === 'subagent' }
  }

  function addStep({ transcript }: Position, step: TranscriptStep): void {
    if (++stepCount > MAX_STEPS) root.cutCount = stepCount - MAX_STEPS
    else transcript.steps.push(step)
  }

  function stepOf(node: TraceNode, attributes: SpanAttributes): TranscriptStep {
    const { span, kind } = attributes
    const facts = factsOf(node, namespace)
    const { text, reasoning } = kind === 'api' ? answerOf(attributes) : NO_ANSWER
    const said = text || (kind === 'api' ? plainText(attributes.rawText('output.value')) : '')
    const result = attributes.rawText('gen_ai.tool.call.result', 'output.value')
    const failure = facts.isError ? failureTail(span.statusMessage ?? '', result) : ''
    return {
      ...spanFields(node, facts, openState),
      ...(kind === 'tool' && { name: attributes.text('gen_ai.tool.name', 'tool.name') || facts.name }),
      hint: facts.hint,
      ...(kind === 'approval' && { decidedBy: decidedBy(attributes) }),
      ...dropUndefined({ cached: cachedTokensOf(attributes), childTraces: children.get(span.spanId) }),
      ...(said !== '' && { text: cut(said) }),
      ...(reasoning !== '' && { reasoning: cut(reasoning) }),
      ...(failure !== '' && { failure: cut(failure) }),
    }
  }

  function decidedBy(attributes: SpanAttributes): string {
    const by = attributes.text('.approval.decided_by')
    return by || (isApprovalWait(attributes.span, namespace) ? 'you' : 'a guardian model')
  }
}

const NO_ANSWER = { text: '', reasoning: '' } as const

/** A JSON value holds the calls of a request, which are steps of their own. */
function plainText(output: string): string {
  return /^\s*[[{]/.test(output) ? '' : output
}

/** A turn knows its own question and answer best. Its loop repeats them, and its sub-agent span may have a summary only. */
function addQuestionAndAnswer(transcript: GrowingTranscript, attributes: SpanAttributes, cut: ValueCutter): void {
  const { kind, span } = attributes
  const texts = {
    question: attributes.rawText('input.value', '.subagent.goal'),
    answer: attributes.rawText('output.value', '.subagent.summary'),
  }
  for (const name of ['question', 'answer'] as const) {
    if (texts[name] === '' || (transcript[name] !== undefined && kind !== 'session')) continue
    transcript[name] = { id: span.spanId, ...cut(texts[name]) }
  }
}

function markParallel(steps: readonly Mutable<TranscriptStep>[], now: number): void {
  const ranges = steps.map(step => ({ step, startAt: step.startAt, endAt: step.state === 'ended' ? step.endAt : now }))
  for (const { members, millis, sumMillis } of parallelGroups(ranges)) {
    for (const { step } of members) step.isParallel = true
    if (members[0] !== undefined) members[0].step.parallel = { count: members.length, millis, sumMillis }
  }
}
