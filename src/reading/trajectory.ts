import { parsed } from './attribute-value.ts'
import { drawnKind, namespaceOfTree, SpanAttributes } from './span-attributes.ts'
import type { SpanNode, TraceTree } from './trace-forest.ts'
import { walkTree } from './trace-forest.ts'

/** The activity of an agent in a session, in the shape of evaluation and training formats: turns, requests and tool calls. */
export interface Trajectory {
  readonly sessionId: string
  readonly agent: string
  /** Version of the plugin that recorded it. */
  readonly agentVersion: string
  readonly turns: Turn[]
}

export interface Turn {
  readonly span: SpanAttributes
  readonly input: string
  readonly output: string
  readonly requests: Request[]
  /** Tools that no request can have asked for. */
  readonly calls: Call[]
  readonly children: Trajectory[]
}

export interface Request {
  readonly span: SpanAttributes
  readonly failed: boolean
  readonly calls: Call[]
}

export interface Call {
  readonly span: SpanAttributes
  readonly id: string
  readonly name: string
  readonly arguments: string
  readonly result: string
  readonly children: Trajectory[]
}

interface Place {
  readonly turn: Turn | undefined
  readonly request: Request | undefined
  readonly call: Call | undefined
}

const NOWHERE: Place = { turn: undefined, request: undefined, call: undefined }

export function trajectoriesOf(trees: readonly TraceTree[]): readonly Trajectory[] {
  const sessions: Trajectory[] = []
  for (const tree of trees) addTree(sessions, tree)
  return sessions
}

/** Not recursive: a trace may be any depth. */
function addTree(sessions: Trajectory[], tree: TraceTree): void {
  const namespace = namespaceOfTree(tree)
  const places = new Map<SpanNode, Place>()
  for (const { node, parent } of walkTree(tree)) {
    const above = (parent && places.get(parent.node)) ?? NOWHERE
    places.set(node, placed(new SpanAttributes(node.span, namespace), above, sessions))
  }
}

function placed(span: SpanAttributes, above: Place, sessions: Trajectory[]): Place {
  const kind = drawnKind(span)
  if (kind === 'session' || above.turn === undefined) {
    const turn = turnOf(span)
    // A trace without an agent: its root becomes the turn, so that the spans below it are kept.
    ownerOf(span, above, sessions).turns.push(turn)
    const place = { turn, request: undefined, call: undefined }
    return kind === 'session' ? place : (within(span, kind, place) ?? place)
  }
  return within(span, kind, above) ?? above
}

function within(span: SpanAttributes, kind: string, { turn, request }: Place): Place | undefined {
  if (turn === undefined) return undefined
  if (kind === 'api') {
    const begun = { span, failed: span.span.status === 'error', calls: [] }
    turn.requests.push(begun)
    return { turn, request: begun, call: undefined }
  }
  if (kind !== 'tool') return undefined
  const call = callOf(span)
  // Some agents put tools beside the requests. Then the last answer before the tool asked for it.
  const asking = request ?? turn.requests.findLast(({ failed }) => !failed)
  const calls = asking === undefined ? turn.calls : asking.calls
  calls.push(call)
  return { turn, request, call }
}

function ownerOf(span: SpanAttributes, { turn, call }: Place, sessions: Trajectory[]): Trajectory {
  const among = call?.children ?? turn?.children ?? sessions
  const sessionId = span.whole('.session.id', 'gen_ai.conversation.id', 'session.id') || span.span.traceId
  const known = among.find(each => each.sessionId === sessionId)
  if (known !== undefined) return known
  const { resource } = span.span
  const version = resource['telemetry.distro.version'] ?? resource['service.version']
  const made = {
    sessionId,
    agent: span.whole('gen_ai.agent.name') || String(resource['service.name'] ?? 'agent'),
    agentVersion: typeof version === 'string' ? version : 'unknown',
    turns: [],
  }
  among.push(made)
  return made
}

function turnOf(span: SpanAttributes): Turn {
  const [input, output] = [span.whole('input.value'), span.whole('output.value')]
  return { span, input, output, requests: [], calls: [], children: [] }
}

function callOf(span: SpanAttributes): Call {
  return {
    span,
    id: span.whole('gen_ai.tool.call.id', 'tool.id') || span.span.spanId,
    name: span.whole('gen_ai.tool.name', 'tool.name') || span.span.name,
    arguments: span.whole('gen_ai.tool.call.arguments', 'input.value'),
    result: span.whole('gen_ai.tool.call.result', 'output.value'),
    children: [],
  }
}

interface Part {
  readonly type?: unknown
  readonly content?: unknown
}

/** The text and the reasoning of a model's answer. Only `content_capture: full` stores them. */
export function answerOf({ span }: Request): { readonly text: string; readonly reasoning: string } {
  const messages = parsed(span.whole('gen_ai.output.messages'))
  const parts = (Array.isArray(messages) ? messages : []).flatMap((message: { parts?: unknown } | null) =>
    Array.isArray(message?.parts) ? (message.parts as readonly (Part | null)[]) : [],
  )
  const joined = (type: string): string =>
    parts.flatMap(part => (part?.type === type && typeof part.content === 'string' ? [part.content] : [])).join('\n')
  return { text: joined('text'), reasoning: joined('reasoning') }
}

export function systemPromptOf({ requests }: Turn): string {
  for (const { span } of requests) {
    const parts = parsed(span.whole('gen_ai.system_instructions'))
    const texts = Array.isArray(parts) ? parts.map((part: Part | null) => part?.content) : []
    const text = texts.filter(content => typeof content === 'string').join('\n')
    if (text !== '') return text
  }
  return ''
}
