import { idOf, peek, textOf } from '../../contract/foreign.ts'
import { plausibleTime, type TimedEvent } from '../base/event-machine.ts'
import { LimitedMap } from '../base/limited-map.ts'
import { countOf, plainText, type ToolCallPart, toolCallsOf } from '../base/messages.ts'
import type { Records } from '../base/records.ts'
import { ModelRequest } from '../base/requests.ts'
import { type Approval, DelegatedTask, Tool } from '../base/tool.ts'
import { HostTurn } from '../base/turn.ts'

interface OpenClawMessage {
  readonly role: unknown
  readonly content: unknown
  readonly tool_calls?: readonly ToolCallPart[]
  readonly tool_call_id?: string
}

export const MESSAGES_LIMIT = 100

export function messageOf(message: unknown): OpenClawMessage {
  const content = peek(message, 'content')
  const calls = toolCallsOf(content)
  const toolCallId = idOf(peek(message, 'toolCallId'))
  const role = peek(message, 'role')
  return {
    role: role === 'toolResult' ? 'tool' : role,
    content: plainText(content) ?? (calls.length > 0 || countOf(content) === 0 ? undefined : content),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
    ...(toolCallId === undefined ? {} : { tool_call_id: toolCallId }),
  }
}

/** The ids of an event. Hooks have them in the event or the context, agent events in both. */
export interface Facts {
  readonly at: number
  readonly data: unknown
  readonly context: unknown
  readonly runId: string | undefined
  readonly sessionKey: string | undefined
  readonly sessionId: string | undefined
}

/** The name of events from the agent event stream (`api.runtime.events.onAgentEvent`), beside the hooks. */
export const AGENT_EVENT = 'AGENT_EVENT'

export function factsOf({ event, at, data, context }: TimedEvent): Facts {
  const id = (key: string): string | undefined => idOf(peek(data, key)) ?? idOf(peek(context, key))
  return {
    at,
    data: event === AGENT_EVENT ? peek(data, 'data') : data,
    context,
    runId: id('runId'),
    sessionKey: id('sessionKey'),
    sessionId: id('sessionId'),
  }
}

const IDS_LIMIT = 10_000

/** A conversation. The host names it by a permanent key, and by an id that a reset replaces. */
export class OpenClawSession {
  key: string | undefined
  id: string | undefined
  /** The open run. Runs are sequential: the host queues further input. */
  run: Run | undefined
  lastRun: Run | undefined
  delegation: DelegatedTask | undefined
  parentName: string | undefined
  compaction: { readonly request: ModelRequest; readonly run: Run | undefined } | undefined
  compactionCount = 0

  /** The session id in records. A sub-agent's session uses its key, because the parent emits it before an id exists. */
  get name(): string | undefined {
    return textOf(this.delegation?.ids.child_session_id) ?? this.id ?? this.key
  }
}

/** One run of the agent: a user turn. All attempts of the run share OpenClaw's run id. */
export class Run extends HostTurn {
  readonly session: OpenClawSession
  model: unknown
  provider: unknown
  /** True if the host permits access to the conversation. Otherwise no message text is recorded, from any hook. */
  seesConversation = false
  messages: OpenClawMessage[] = []
  system: unknown
  toolCount: number | undefined
  /** Newest calls by the host's call id, which a retry reuses. Ended ones are emitted later, because more facts may follow. */
  readonly calls: Map<string, OpenClawCall> = new LimitedMap(IDS_LIMIT)
  endedCalls: OpenClawCall[] = []
  lastCall: OpenClawCall | undefined
  hasUsage = false
  readonly tools: Map<string, RunTool> = new LimitedMap(IDS_LIMIT)
  readonly openTools: Set<RunTool> = new Set()
  readonly requestingCalls: Map<string, OpenClawCall> = new LimitedMap(IDS_LIMIT)
  readonly approvals: Map<string, Approval> = new Map()
  answer: string | undefined
  ending: RunEnding = {}

  constructor(records: Records, id: string, session: OpenClawSession, { at, data, context }: Facts) {
    // Fixed here: the session id can change during the run.
    super(records, session.name, id, at)
    this.session = session
    this.model = textOf(peek(data, 'model')) ?? textOf(peek(context, 'modelId'))
    this.provider = textOf(peek(data, 'provider')) ?? textOf(peek(context, 'modelProviderId'))
  }

  addMessage(message: OpenClawMessage): void {
    if (!this.seesConversation) return
    this.messages.push(message)
    if (this.messages.length > 2 * MESSAGES_LIMIT) this.messages = this.messages.slice(-MESSAGES_LIMIT)
  }

  releaseContent(): void {
    this.messages = []
    this.system = undefined
    this.lastCall = undefined
    this.answer = undefined
    for (const kept of [this.calls, this.tools, this.openTools, this.requestingCalls, this.approvals]) kept.clear()
  }
}

/** Reported facts about the end, before it is certain that the run has ended. */
interface RunEnding {
  agentFailed?: boolean
  failed?: boolean
  interrupted?: boolean
  reason?: string
}

export class OpenClawCall extends ModelRequest {
  endAt: number | undefined
  end: unknown
  /** The answer or error message, which usually arrives after the end. */
  message: unknown
  reply: OpenClawMessage | undefined
  hasFailed = false
  asksForTools = false

  get sentAt(): number | undefined {
    return this.isStartEmitted ? this.startAt : undefined
  }
}

export class RunTool extends Tool<Run> {
  isWritten = false
  endAt: number | undefined
  result: unknown
  error: unknown
  isError: boolean | undefined
  status: unknown
  durationMillis: unknown
}

const SESSIONS_LIMIT = 1000

/** Sessions by key and by id: some events have both, `before_message_write` only the key. */
export class Sessions {
  readonly #byKey = new LimitedMap<string, OpenClawSession>(SESSIONS_LIMIT)
  readonly #byId = new LimitedMap<string, OpenClawSession>(SESSIONS_LIMIT)
  #newest: OpenClawSession | undefined

  of({ sessionKey, sessionId }: Pick<Facts, 'sessionKey' | 'sessionId'>): OpenClawSession | undefined {
    if (sessionKey === undefined && sessionId === undefined) return undefined
    const newest = this.#newest
    // Fast path: consecutive events usually belong to the same session.
    if (newest !== undefined && newest.key === sessionKey && newest.id === sessionId) return newest
    const session = this.#byKey.get(sessionKey ?? '') ?? this.#byId.get(sessionId ?? '') ?? new OpenClawSession()
    session.key ??= sessionKey
    session.id = sessionId ?? session.id
    if (sessionKey !== undefined) this.#byKey.recall(sessionKey, () => session)
    if (sessionId !== undefined) this.#byId.recall(sessionId, () => session)
    this.#newest = session
    return session
  }

  values(): OpenClawSession[] {
    return [...new Set([...this.#byKey.values(), ...this.#byId.values()])]
  }
}

const SPAWN_TOOL = 'sessions_spawn'
/** Hooks overlap: a run may have ended here while the host still emits its events. */
const OVERLAP_MILLIS = 10_000

/**
 * Handles `subagent_spawned`. It precedes the id of the child's session, so that session is named by its key from here on. The
 * child's turns are found by the name emitted here.
 *
 * @param parent the session that spawned the child
 */
export function startDelegation(parent: OpenClawSession, child: OpenClawSession, { at, data }: Facts): void {
  if (child.delegation?.hasEnded === false) return
  const { lastRun } = parent
  const isRecent = lastRun !== undefined && at - lastRun.lastAt < OVERLAP_MILLIS
  const run = parent.run ?? (isRecent ? lastRun : undefined)
  if (run === undefined) {
    // The user spawned it by hand: it belongs to no turn of the parent.
    child.parentName = parent.name
    return
  }
  const label = textOf(peek(data, 'label'))
  const tool = spawningTool(parent, label)
  child.delegation = new DelegatedTask(run, at, {
    child_session_id: child.key,
    child_subagent_id: peek(data, 'runId'),
    child_role: peek(data, 'agentId'),
    tool_call_id: tool?.id,
  })
  child.delegation.emitStart(peek(tool?.args, 'task') ?? label, tool === undefined ? undefined : 'inferred')
}

/** Guesses the spawning call, which the event does not name: the only open one, or the one with the same label. */
function spawningTool({ run }: OpenClawSession, label: string | undefined): RunTool | undefined {
  const open = [...(run?.openTools ?? [])].filter(tool => tool.name === SPAWN_TOOL)
  const [only, ...others] = open
  if (others.length === 0) return only
  const labelled = open.filter(tool => label !== undefined && peek(tool.args, 'label') === label)
  return labelled.length === 1 ? labelled[0] : undefined
}

/** Handles `subagent_ended`, emitted only after the parent has received the result. It contains the time of the actual end. */
export function endDelegation({ delegation }: OpenClawSession, at: number, data?: unknown): void {
  const status = idOf(peek(data, 'outcome')) ?? 'unknown'
  delegation?.emitEnd(plausibleTime(peek(data, 'endedAt'), at), { status, summary: textOf(peek(data, 'error')) })
}
