import { textOf } from '../../contract/foreign.ts'
import { AgentLoop, AgentSession, type LoopIds } from '../base/agent-loop.ts'
import { LimitedMap } from '../base/limited-map.ts'
import type { Records } from '../base/records.ts'
import type { ModelRequest } from '../base/requests.ts'
import { Tool } from '../base/tool.ts'
import type { UsageCounts } from '../base/usage.ts'

export interface Dialect {
  readonly platform: string
  readonly provider?: string
  usageOf(said: unknown): UsageCounts | undefined
  /** Each tool runs after the answer that requested it. A tool that no transcript names therefore belongs to the last request. */
  readonly asksLast?: boolean
}

export const DELEGATING: ReadonlySet<unknown> = new Set(['Agent', 'Task', 'agent'])

export class ClaudeCall extends Tool<ClaudeLoop> {
  isDenied = false
  /**
   * The end according to the batch, until the transcript has a more precise one. `sentOnAt`: when the results were sent to the
   * model; the call had ended by then.
   */
  batchEnd: { readonly at: number; readonly result: unknown } | undefined
  sentOnAt: number | undefined
}

type RequestedCall = Pick<ClaudeCall, 'name' | 'args' | 'requestId' | 'startAt'>

export interface ClaudeLoopIds extends LoopIds {
  readonly promptId: string | undefined
}

/** Claude Code reports the end of a background agent as a prompt. */
export function isNotification(prompt: unknown): boolean {
  return textOf(prompt)?.startsWith('<task-notification>') ?? false
}

/** The prompt is emitted once the model is known, which no hook reports for a first prompt. */
export class ClaudeLoop extends AgentLoop<ClaudeSession> {
  /** All prompt ids of the turn: prompts that wait together are answered together. */
  readonly promptIds: Set<string | undefined>
  readonly isNotified: boolean
  open: ModelRequest | undefined
  readonly calls: Set<ClaudeCall> = new Set()
  answeredAt = 0
  isInterrupted = false
  /** The call that has started this child agent, and how often the agent was started. */
  callId: string | undefined
  runs = 1

  constructor(session: ClaudeSession, ids: ClaudeLoopIds, at: number, text: unknown) {
    super(session, ids, at, text)
    this.promptIds = new Set([ids.promptId])
    this.isNotified = isNotification(text)
  }

  get provider(): string | undefined {
    return this.session.provider
  }

  beforeTool(_call: ClaudeCall, _at: number): void {
    this.emitPrompt()
  }
}

export class ClaudeSession extends AgentSession {
  readonly dialect: Dialect
  /** W3C `traceparent` of the span in which the agent's process was started. */
  callerTraceparent: string | undefined
  turns = 0
  main: ClaudeLoop | undefined
  previous: ClaudeLoop | undefined
  compactions = 0
  compaction: ModelRequest | undefined
  readonly children: LimitedMap<string, ClaudeLoop> = new LimitedMap(1000)
  readonly callOfAgent: LimitedMap<string, string> = new LimitedMap(1000)
  /** Calls with a hook or result; `requestedCalls`: those that only an answer of the model contains. */
  readonly calls: LimitedMap<string, ClaudeCall> = new LimitedMap(10_000)
  readonly requestedCalls: LimitedMap<string, RequestedCall> = new LimitedMap(10_000)

  constructor(records: Records, id: string, dialect: Dialect) {
    super(records, id, dialect.platform, dialect.provider)
    this.dialect = dialect
  }

  createLoop(ids: ClaudeLoopIds, at: number, text: unknown): ClaudeLoop {
    return new ClaudeLoop(this, ids, at, text)
  }

  callOf(loop: ClaudeLoop, id: string, at: number): ClaudeCall {
    const known = this.calls.get(id)
    if (known !== undefined) return known
    const asked = this.requestedCalls.get(id)
    const last = this.dialect.asksLast === true ? loop.requests.lastId : undefined
    // The call belongs to the loop that runs it: an answer may be read before the hook that starts a second run of its agent.
    const call = new ClaudeCall(loop, id, asked?.name, asked?.startAt ?? at)
    call.args = asked?.args
    call.requestId = asked?.requestId ?? loop.open?.id ?? last
    this.requestedCalls.delete(id)
    this.calls.set(id, call)
    loop.calls.add(call)
    return call
  }
}
