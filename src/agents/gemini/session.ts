import type { Approval } from '../base/approval.ts'
import type { DelegatedTask } from '../base/delegation.ts'
import type { TimedEvent } from '../base/event-machine.ts'
import { LimitedMap } from '../base/limited-map.ts'
import { NewerFindings } from '../base/newer-findings.ts'
import type { Records } from '../base/records.ts'
import { RequestCounter } from '../base/requests.ts'
import { Tool } from '../base/tool.ts'
import { HostTurn } from '../base/turn.ts'

export const PROVIDER = 'gemini'
export const PLATFORM = 'gemini-cli'

const CHILDREN_LIMIT = 1000
const FOUND_LIMIT = 10_000

export class GeminiCall extends Tool<GeminiLoop> {
  /** Name and input, the only identification of a call in hooks. */
  key: string
  approval: Approval | undefined
  isFound = false

  constructor(
    turn: GeminiLoop,
    id: string,
    { key, name, args }: Pick<UnassignedCall, 'key' | 'name' | 'args'>,
    startAt: number,
  ) {
    super(turn, id, name, startAt)
    this.key = key
    this.args = args
  }
}

/** A running tool whose loop is not known yet: hooks do not name the agent. Times are epoch milliseconds. */
export interface UnassignedCall {
  key: string
  readonly name: unknown
  readonly args: unknown
  readonly startAt: number
  askedAt?: number
  end?: { readonly at: number; readonly response: unknown }
}

/** A model and its tools, from a prompt to the answer: a turn of the session, or the work of a child agent. */
export class GeminiLoop extends HostTurn {
  readonly session: GeminiSession
  readonly startAt: number
  /** Emitted once the model is known, which no hook reports. */
  prompt: { readonly text: unknown } | undefined
  model: string | undefined
  readonly requests: RequestCounter = new RequestCounter(this)
  sentAt: number | undefined
  readonly requestIdByAnswer: LimitedMap<string, string> = new LimitedMap(FOUND_LIMIT)
  /** Calls that were not found in the file yet, in order. */
  readonly calls: Set<GeminiCall> = new Set()
  toolCount = 0
  answer: unknown
  lastAt: number
  hasEnded = false

  constructor(session: GeminiSession, ids: Pick<GeminiLoop, 'sessionId' | 'turnId'>, at: number, text: unknown) {
    super(session.records, ids.sessionId, ids.turnId)
    this.session = session
    this.startAt = at
    this.lastAt = at
    this.prompt = { text }
    this.model = session.model
  }

  emitPrompt(model?: string): void {
    this.model = model ?? this.model
    if (this.prompt === undefined) return
    const { text } = this.prompt
    this.prompt = undefined
    const facts = { user_message: text, model: this.model, provider: PROVIDER, platform: PLATFORM }
    this.emit('pre_llm_call', this.startAt, facts)
  }
}

export interface GeminiChild {
  readonly agentId: string
  readonly loop: GeminiLoop
  readonly task: DelegatedTask
  readonly call: GeminiCall | undefined
}

export class GeminiSession {
  readonly records: Records
  readonly id: string
  model: string | undefined
  isAnnounced = false
  /** The session's end, which fires several times, has been emitted. */
  isFinalized = false
  turns = 0
  main: GeminiLoop | undefined
  bufferedHook: TimedEvent | undefined
  readonly newer: NewerFindings = new NewerFindings()
  newestAt: number = Number.POSITIVE_INFINITY
  readonly children: LimitedMap<string, GeminiChild> = new LimitedMap(CHILDREN_LIMIT)
  readonly unassignedCalls: Set<UnassignedCall> = new Set()
  /** Ids of emitted findings: files are read again when a receiver starts. */
  readonly emittedIds: LimitedMap<string, true> = new LimitedMap(FOUND_LIMIT)

  constructor(records: Records, id: string) {
    this.records = records
    this.id = id
  }

  isNew(id: string): boolean {
    if (this.emittedIds.has(id)) return false
    this.emittedIds.set(id, true)
    return true
  }

  get openChildren(): GeminiChild[] {
    return [...this.children.values()].filter(({ loop }) => !loop.hasEnded)
  }
}

/** Builds the id of a call from its start, because no hook has an id. @param at when `BeforeTool` fired */
export function callIdOf(sessionId: string, key: string, at: number): string {
  return `${sessionId}:tool:${at}:${digestOf(key)}`
}

/** FNV-1a: distinguishes two calls of the same millisecond. */
function digestOf(text: string): string {
  let hash = 0x811c9dc5
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  return (hash >>> 0).toString(36)
}
