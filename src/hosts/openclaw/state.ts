import { peek, textOf } from '../../contract/foreign.ts'
import type { Facts } from './facts.ts'
import { MESSAGES_LIMIT, type Message } from './messages.ts'

/** A conversation. The host names it by a key that stays, and by an id that a reset replaces. */
export interface Session {
  key: string | undefined
  id: string | undefined
  /** The run that is under way. One after the other: the host queues what comes in the meantime. */
  run: Run | undefined
  lastRun: Run | undefined
  /** Whose work it is, where it is that of a sub-agent. */
  delegation: Delegation | undefined
  /** Session that it came from, where no run of that one asked for it. */
  parentName: string | undefined
  compaction: Compaction | undefined
  compactionCount: number
}

/** A child agent at work, as its parent sees it. */
export interface Delegation {
  readonly childKey: string
  over: boolean
}

/** A compaction of the conversation that is under way: a side call of the host. */
export interface Compaction {
  readonly requestId: string
  readonly run: Run | undefined
}

/** One run of the agent: a user turn. OpenClaw gives it an id of its own, which all attempts of the run share. */
export interface Run {
  readonly id: string
  readonly session: Session
  /** As it was when the run began; the session can get another id in the middle of it. */
  readonly sessionId: string | undefined
  /** When it last showed a sign of life, epoch milliseconds. */
  lastAt: number
  model: unknown
  provider: unknown
  /** Whether the host lets us see the conversation. Without its permission we take no message's text, from no hook. */
  seesConversation: boolean
  messages: Message[]
  system: unknown
  toolCount: number | undefined
  /** By the host's call id, which it uses again for a retry: the newest. */
  readonly calls: Map<string, Call>
  callCount: number
  /** Calls that ended, and may not be told yet because more can be learned of them. */
  waiting: Call[]
  lastCall: Call | undefined
  failuresInARow: number
  hasUsage: boolean
  readonly tools: Map<string, Tool>
  /** Those of them whose end was not told. */
  readonly openTools: Set<Tool>
  /** Which call asked for a tool. */
  readonly askedBy: Map<string, Call>
  readonly approvals: Set<string>
  answer: string | undefined
  ending: Ending
  /** Whether the host tells the life of its runs, which says for certain when one is over. */
  hasLifecycle: boolean
  over: boolean
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

/** One attempt at a model call. */
export interface Call {
  /** Our own: the host's id comes again when it tries again. */
  readonly id: string
  /** Attempts of the same call before this one. */
  readonly retry: number
  /** Undefined when the start was not seen. */
  readonly startAt: number | undefined
  endAt: number | undefined
  /** The host's event of the end. */
  end: unknown
  /** What the model answered, or how the call failed: told apart from the end, mostly after it. */
  message: unknown
  /** The same, as spans read it. */
  reply: Message | undefined
  failed: boolean
  asksForTools: boolean
}

/** One tool call, and what has been said of its end so far. */
export interface Tool {
  readonly id: string
  readonly name: unknown
  startAt: number
  args: unknown
  startTold: boolean
  endTold: boolean
  /** Its result is in the conversation. */
  isWritten: boolean
  endAt: number | undefined
  result: unknown
  error: unknown
  isError: boolean | undefined
  /** The host's own word: completed, failed, or blocked when it never ran. */
  status: unknown
  durationMillis: unknown
}

/** Tools and calls of one run that are remembered. */
const IDS_LIMIT = 10_000

/** What its records call it. A sub-agent's session goes by its key: its parent tells it before it has an id. */
export function nameOf({ key, id, delegation }: Session): string | undefined {
  return delegation?.childKey ?? id ?? key
}

export function newSession(): Session {
  return {
    key: undefined,
    id: undefined,
    run: undefined,
    lastRun: undefined,
    delegation: undefined,
    parentName: undefined,
    compaction: undefined,
    compactionCount: 0,
  }
}

export function newRun(id: string, session: Session, facts: Facts): Run {
  return {
    id,
    session,
    sessionId: nameOf(session),
    lastAt: facts.at,
    model: textOf(peek(facts.data, 'model')) ?? textOf(peek(facts.context, 'modelId')),
    provider: textOf(peek(facts.data, 'provider')) ?? textOf(peek(facts.context, 'modelProviderId')),
    seesConversation: false,
    messages: [],
    system: undefined,
    toolCount: undefined,
    calls: new Map(),
    callCount: 0,
    waiting: [],
    lastCall: undefined,
    failuresInARow: 0,
    hasUsage: false,
    tools: new Map(),
    openTools: new Set(),
    askedBy: new Map(),
    approvals: new Set(),
    answer: undefined,
    ending: {},
    hasLifecycle: false,
    over: false,
  }
}

export function idsOf(run: Run): { session_id: string | undefined; turn_id: string } {
  return { session_id: run.sessionId, turn_id: run.id }
}

/** Adds to a map of a run, within its limit. */
export function remember<Value>(map: Map<string, Value>, key: string, value: Value): void {
  if (map.size < IDS_LIMIT || map.has(key)) map.set(key, value)
}

export function addMessage(run: Run, message: Message): void {
  if (!run.seesConversation) return
  run.messages.push(message)
  if (run.messages.length > 2 * MESSAGES_LIMIT) run.messages = run.messages.slice(-MESSAGES_LIMIT)
}
