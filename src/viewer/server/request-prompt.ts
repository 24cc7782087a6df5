import { argumentLines, type DiffLine, diffLines } from '../../reading/argument-lines.ts'
import { isRecord, parseJson } from '../../reading/attribute-value.ts'
import { type SpanAttributes, walkSpans } from '../../reading/span-attributes.ts'
import type { TraceNode, TraceTree } from '../../reading/trace-forest.ts'
import type { PromptDiff } from './api.ts'

export interface RequestPrompt {
  readonly previousId?: string
  readonly sameCount: number
  readonly fresh: readonly unknown[]
}

/** The messages of a request that the previous one of the same agent did not have. Undefined if none are stored. */
export function promptOf(node: TraceNode, tree: TraceTree): RequestPrompt | undefined {
  const { request, previous } = requestsOf(node, tree)
  const messages = request === undefined ? [] : messagesOf(request)
  if (messages.length === 0) return undefined
  const before = previous === undefined ? [] : messagesOf(previous).map(message => JSON.stringify(message))
  const changedAt = messages.findIndex((message, index) => JSON.stringify(message) !== before[index])
  const sameCount = changedAt === -1 ? messages.length : changedAt
  const previousId = previous?.span.spanId
  return { ...(previousId !== undefined && { previousId }), sameCount, fresh: messages.slice(sameCount) }
}

const MAX_DIFF_LINES = 1_000
const CONTEXT_LINES = 2

/** Instructions and messages of a request, compared with those of the previous one. Long unchanged parts are left out. */
export function promptDiff(node: TraceNode, tree: TraceTree): PromptDiff {
  const { request, previous } = requestsOf(node, tree)
  if (request === undefined || previous === undefined) return { lines: [] }
  const lines = diffLines(promptLines(previous), promptLines(request))
  const isNear = lines.map(() => false)
  for (const [index, { sign }] of lines.entries()) {
    if (sign !== ' ') isNear.fill(true, Math.max(0, index - CONTEXT_LINES), index + CONTEXT_LINES + 1)
  }
  const shown = lines.flatMap((line, index): DiffLine[] => {
    if (isNear[index]) return [line]
    return isNear[index - 1] ? [{ sign: ' ', text: '…' }] : []
  })
  const cutCount = shown.length - MAX_DIFF_LINES
  return { lines: shown.slice(0, MAX_DIFF_LINES), ...(cutCount > 0 && { cutCount }) }
}

function promptLines(request: SpanAttributes): string[] {
  const instructions = argumentLines(request.rawText(INSTRUCTIONS))
  return [...instructions, ...messagesOf(request).flatMap(message => argumentLines(JSON.stringify(message)))]
}

const INSTRUCTIONS = 'gen_ai.system_instructions'

/** The instructions are shown once: as such, and not as the first message too. */
function messagesOf(request: SpanAttributes): readonly unknown[] {
  const value = parseJson(request.rawText('gen_ai.input.messages', 'input.value'))
  const messages = Array.isArray(value) ? (value as unknown[]) : []
  const hasInstructions = request.rawText(INSTRUCTIONS) !== ''
  return messages.filter(message => isRecord(message) && !(hasInstructions && message['role'] === 'system'))
}

interface Requests {
  readonly request: SpanAttributes | undefined
  readonly previous: SpanAttributes | undefined
}

/** A request, and the one before it in the same turn of the same agent. */
function requestsOf(node: TraceNode, tree: TraceTree): Requests {
  const agents = new Map<TraceNode, TraceNode | undefined>()
  const last = new Map<TraceNode | undefined, SpanAttributes>()
  for (const { node: each, parent, attributes } of walkSpans(tree)) {
    const agent = parent && (agents.get(parent.node) ?? parent.node)
    agents.set(each, attributes.kind === 'session' ? each : agent)
    if (attributes.kind !== 'api') continue
    if (each === node) return { request: attributes, previous: last.get(agent) }
    last.set(agent, attributes)
  }
  return { request: undefined, previous: undefined }
}
