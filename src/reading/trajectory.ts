import { parseJson } from './attribute-value.ts'
import { type SpanAttributes, walkSpans } from './span-attributes.ts'
import type { TraceNode, TraceTree } from './trace-forest.ts'

/** The activity of an agent in a session, in the shape of evaluation and training formats: turns, requests and tool calls. */
export type Trajectory = Readonly<{ sessionId: string; agent: string; agentVersion: string; turns: TrajectoryTurn[] }>

export interface TrajectoryTurn {
  readonly span: SpanAttributes
  readonly input: string
  readonly output: string
  readonly requests: TrajectoryRequest[]
  readonly calls: TrajectoryCall[]
  readonly children: Trajectory[]
}

export type TrajectoryRequest = Readonly<{ span: SpanAttributes; failed: boolean; calls: TrajectoryCall[] }>

export interface TrajectoryCall extends Readonly<Record<'id' | 'name' | 'arguments' | 'result', string>> {
  readonly span: SpanAttributes
  readonly children: Trajectory[]
}

type Position = Readonly<{ turn?: TrajectoryTurn; request?: TrajectoryRequest | undefined; call?: TrajectoryCall }>

export function trajectoriesOf(trees: readonly TraceTree[]): readonly Trajectory[] {
  const sessions: Trajectory[] = []
  for (const tree of trees) {
    const places = new Map<TraceNode, Position>()
    for (const { node, parent, attributes } of walkSpans(tree)) {
      places.set(node, positionOf(attributes, (parent && places.get(parent.node)) ?? {}, sessions))
    }
  }
  return sessions
}

function positionOf(span: SpanAttributes, above: Position, sessions: Trajectory[]): Position {
  if (span.kind !== 'session' && above.turn !== undefined) return positionInTurn(span, above, above.turn)
  const [input, output] = [span.rawText('input.value'), span.rawText('output.value')]
  const turn: TrajectoryTurn = { span, input, output, requests: [], calls: [], children: [] }
  // A trace without an agent: its root becomes the turn, so that the spans below it are kept.
  ownerOf(span, above, sessions).turns.push(turn)
  return span.kind === 'session' ? { turn } : positionInTurn(span, { turn }, turn)
}

function positionInTurn(span: SpanAttributes, above: Position, turn: TrajectoryTurn): Position {
  if (span.kind === 'api') {
    const request = { span, failed: span.span.status === 'error', calls: [] }
    turn.requests.push(request)
    return { turn, request }
  }
  if (span.kind !== 'tool') return above
  const call = callOf(span)
  // Some agents put tools beside the requests. Then the last answer before the tool asked for it.
  const asking = above.request ?? turn.requests.findLast(({ failed }) => !failed)
  const calls = asking === undefined ? turn.calls : asking.calls
  calls.push(call)
  return { turn, request: above.request, call }
}

function ownerOf(span: SpanAttributes, { turn, call }: Position, sessions: Trajectory[]): Trajectory {
  const among = call?.children ?? turn?.children ?? sessions
  const sessionId = span.rawText('.session.id', 'gen_ai.conversation.id', 'session.id') || span.span.traceId
  const known = among.find(each => each.sessionId === sessionId)
  if (known !== undefined) return known
  const { resource } = span.span
  const version = resource['telemetry.distro.version'] ?? resource['service.version']
  const made = {
    sessionId,
    agent: span.rawText('gen_ai.agent.name') || String(resource['service.name'] ?? 'agent'),
    agentVersion: typeof version === 'string' ? version : 'unknown',
    turns: [],
  }
  among.push(made)
  return made
}

function callOf(span: SpanAttributes): TrajectoryCall {
  return {
    span,
    id: span.rawText('gen_ai.tool.call.id', 'tool.id') || span.span.spanId,
    name: span.rawText('gen_ai.tool.name', 'tool.name') || span.span.name,
    arguments: span.rawText('gen_ai.tool.call.arguments', 'input.value'),
    result: span.rawText('gen_ai.tool.call.result', 'output.value'),
    children: [],
  }
}

type MessagePart = Readonly<{ type?: unknown; content?: unknown }>

/** The text and the reasoning of a model's answer. Only `content_capture: full` stores them. */
export function answerOf(span: SpanAttributes): { readonly text: string; readonly reasoning: string } {
  const messages = parseJson(span.rawText('gen_ai.output.messages'))
  const parts = (Array.isArray(messages) ? messages : []).flatMap((message: { parts?: unknown } | null) =>
    Array.isArray(message?.parts) ? (message.parts as readonly (MessagePart | null)[]) : [],
  )
  const joined = (type: string): string =>
    parts.flatMap(part => (part?.type === type && typeof part.content === 'string' ? [part.content] : [])).join('\n')
  return { text: joined('text'), reasoning: joined('reasoning') }
}

export function systemPromptOf({ turns }: Trajectory): string {
  for (const { span } of turns[0]?.requests ?? []) {
    const parts = parseJson(span.rawText('gen_ai.system_instructions'))
    const texts = Array.isArray(parts) ? parts.map((part: MessagePart | null) => part?.content) : []
    const text = texts.filter(content => typeof content === 'string').join('\n')
    if (text !== '') return text
  }
  return ''
}
