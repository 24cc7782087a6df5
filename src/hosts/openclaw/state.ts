import { peek, textOf } from '../../contract/foreign.ts'
import type { Approval } from '../base/approval.ts'
import type { Delegation } from '../base/delegation.ts'
import type { Records } from '../base/records.ts'
import { ModelRequest, Requests } from '../base/requests.ts'
import { Tool } from '../base/tool.ts'
import { Turn } from '../base/turn.ts'
import { SessionStates } from '../session-states.ts'
import type { Facts } from './facts.ts'
import { MESSAGES_LIMIT, type Message } from './messages.ts'

/** Tools and calls of one run that are remembered. */
const IDS_LIMIT = 10_000

/** A conversation. The host names it by a key that stays, and by an id that a reset replaces. */
export class Session {
  key: string | undefined
  id: string | undefined
  /** The run that is under way. One after the other: the host queues what comes in the meantime. */
  run: Run | undefined
  lastRun: Run | undefined
  /** Whose work it is, where it is that of a sub-agent. */
  delegation: Delegation | undefined
  /** Session that it came from, where no run of that one asked for it. */
  parentName: string | undefined
  /** Of the conversation, while it is under way: a side call of the host. */
  compaction: { readonly request: ModelRequest; readonly run: Run | undefined } | undefined
  compactionCount = 0

  /** What its records call it. A sub-agent's session goes by its key: its parent tells it before it has an id. */
  get name(): string | undefined {
    return textOf(this.delegation?.ids.child_session_id) ?? this.id ?? this.key
  }
}

/** One run of the agent: a user turn. OpenClaw gives it an id of its own, which all attempts of the run share. */
export class Run extends Turn {
  readonly session: Session
  /** When it last showed a sign of life, epoch milliseconds. */
  lastAt: number
  model: unknown
  provider: unknown
  /** Whether the host lets us see the conversation. Without its permission we take no message's text, from no hook. */
  seesConversation = false
  messages: Message[] = []
  system: unknown
  toolCount: number | undefined
  readonly requests: Requests = new Requests(this)
  /** By the host's call id, which it uses again for a retry: the newest. */
  readonly calls: Map<string, Call> = new Map()
  /** Calls that ended, and may not be told yet because more can be learned of them. */
  waiting: Call[] = []
  lastCall: Call | undefined
  hasUsage = false
  readonly tools: Map<string, RunTool> = new Map()
  /** Those of them whose end was not told. */
  readonly openTools: Set<RunTool> = new Set()
  /** Which call asked for a tool. */
  readonly askedBy: Map<string, Call> = new Map()
  /** Those that nobody has answered. */
  readonly approvals: Map<string, Approval> = new Map()
  answer: string | undefined
  ending: Ending = {}
  /** Whether the host tells the life of its runs, which says for certain when one is over. */
  hasLifecycle: boolean
  isOver = false

  constructor(records: Records, id: string, session: Session, { at, data, context }: Facts, hasLifecycle: boolean) {
    // The session can get another id in the middle of it.
    super(records, session.name, id)
    this.session = session
    this.hasLifecycle = hasLifecycle
    this.lastAt = at
    this.model = textOf(peek(data, 'model')) ?? textOf(peek(context, 'modelId'))
    this.provider = textOf(peek(data, 'provider')) ?? textOf(peek(context, 'modelProviderId'))
  }

  addMessage(message: Message): void {
    if (!this.seesConversation) return
    this.messages.push(message)
    if (this.messages.length > 2 * MESSAGES_LIMIT) this.messages = this.messages.slice(-MESSAGES_LIMIT)
  }

  /** A run that is over is remembered by its id; its conversation is not. */
  forgetDetails(): void {
    this.messages = []
    this.system = undefined
    this.lastCall = undefined
    this.answer = undefined
    for (const kept of [this.calls, this.tools, this.openTools, this.askedBy, this.approvals]) kept.clear()
  }
}

/** What was said of the run's end before we know that it is one. */
interface Ending {
  finalized?: boolean
  agentFailed?: boolean
  /** From the lifecycle of the run. */
  failed?: boolean
  interrupted?: boolean
  reason?: string
}

/** One attempt at a model call. The host's id comes again when it tries again. */
export class Call extends ModelRequest {
  endAt: number | undefined
  /** The host's event of the end. */
  end: unknown
  /** What the model answered, or how the call failed: told apart from the end, mostly after it. */
  message: unknown
  /** The same, as spans read it. */
  reply: Message | undefined
  hasFailed = false
  asksForTools = false
}

/** One tool call, and what has been said of its end so far. */
export class RunTool extends Tool<Run> {
  /** Its result is in the conversation. */
  isWritten = false
  endAt: number | undefined
  result: unknown
  error: unknown
  isError: boolean | undefined
  /** The host's own word: completed, failed, or blocked when it never ran. */
  status: unknown
  durationMillis: unknown
}

/** Adds to a map of a run, within its limit. */
export function remember<Value>(map: Map<string, Value>, key: string, value: Value): void {
  if (map.size < IDS_LIMIT || map.has(key)) map.set(key, value)
}

/** Sessions by their keys and by their ids: some events have both, `before_message_write` has the key alone. */
export class Sessions {
  readonly #sessions = new SessionStates(() => new Session())
  /** Which of their names they are kept under. */
  readonly #ofKey = new SessionStates(name => ({ name }))
  readonly #ofId = new SessionStates(name => ({ name }))

  /** The session that an event is about; undefined where it names none. */
  of({ sessionKey, sessionId }: Pick<Facts, 'sessionKey' | 'sessionId'>): Session | undefined {
    const name = this.#nameOf(sessionKey, sessionId)
    if (name === undefined) return undefined
    const session = this.#sessions.get(name)
    session.key ??= sessionKey
    session.id = sessionId ?? session.id
    return session
  }

  #nameOf(key: string | undefined, id: string | undefined): string | undefined {
    const known = (key && this.#ofKey.look(key)?.name) ?? (id && this.#ofId.look(id)?.name)
    const name = known ?? key ?? id
    if (name === undefined) return undefined
    if (key !== undefined && this.#ofKey.look(key) === undefined) this.#ofKey.get(key).name = name
    if (id !== undefined && this.#ofId.look(id) === undefined) this.#ofId.get(id).name = name
    return name
  }

  values(): Session[] {
    return this.#sessions.values()
  }
}
