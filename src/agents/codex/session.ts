import { AgentLoop, AgentSession } from '../base/agent-loop.ts'
import type { DelegatedTask } from '../base/delegation.ts'
import { LimitedMap } from '../base/limited-map.ts'
import type { Records } from '../base/records.ts'
import type { ModelRequest } from '../base/requests.ts'
import { Tool } from '../base/tool.ts'

const PLATFORM = 'codex'

const LOOPS_LIMIT = 1000
const CALLS_LIMIT = 10_000

export interface RecordedToolEnd {
  readonly at: number
  readonly status: unknown
  readonly exitCode: number | undefined
  readonly ranAt: number | undefined
}

export class CodexCall extends Tool<CodexLoop> {
  recordedEnd: RecordedToolEnd | undefined
  backgroundNotice: { readonly at: number; readonly result: unknown } | undefined
}

/** The prompt is emitted with the first activity: earlier work, such as a compaction, does not belong to it. */
export class CodexLoop extends AgentLoop<CodexSession> {
  pendingRequest: ModelRequest | undefined
  readonly calls: LimitedMap<string, CodexCall> = new LimitedMap(CALLS_LIMIT)
  compaction: { readonly at: number } | undefined

  callOf(id: string, at: number): CodexCall {
    const known = this.calls.get(id)
    if (known !== undefined) return known
    const call = new CodexCall(this, id, undefined, at)
    call.requestId = this.pendingRequest?.id ?? this.requests.lastId
    this.calls.set(id, call)
    return call
  }
}

export class CodexSession extends AgentSession {
  readonly loops: LimitedMap<string, CodexLoop> = new LimitedMap(LOOPS_LIMIT)
  main: CodexLoop | undefined
  /** Tasks of child agents that have not begun, by agent id. */
  readonly tasks: LimitedMap<string, DelegatedTask> = new LimitedMap(LOOPS_LIMIT)
  readonly delegatingCalls: LimitedMap<string, true> = new LimitedMap(CALLS_LIMIT)

  constructor(records: Records, id: string) {
    super(records, id, PLATFORM)
  }

  findLoop(agentId: string | undefined, turnId: string): CodexLoop | undefined {
    return this.loops.get(loopKey(agentId, turnId))
  }

  addLoop(loop: CodexLoop): void {
    this.loops.set(loopKey(loop.agentId, loop.turnId ?? ''), loop)
  }
}

function loopKey(agentId: string | undefined, turnId: string): string {
  return `${agentId ?? ''}/${turnId}`
}
