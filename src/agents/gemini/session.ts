import { AgentLoop, AgentSession } from '../base/agent-loop.ts'
import { NewerFindings } from '../base/findings.ts'
import { LimitedMap } from '../base/limited-map.ts'
import type { Records } from '../base/records.ts'
import { Tool } from '../base/tool.ts'

export const PROVIDER = 'gemini'
const PLATFORM = 'gemini-cli'

const CHILDREN_LIMIT = 1000
const FOUND_LIMIT = 10_000

export class GeminiCall extends Tool<GeminiLoop> {
  /** Name and input, the only identification of a call in hooks. */
  key: string
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

export class GeminiLoop extends AgentLoop<GeminiSession> {
  sentAt: number | undefined
  readonly requestIdByAnswer: LimitedMap<string, string> = new LimitedMap(FOUND_LIMIT)
  /** Calls that were not found in the file yet, in order. */
  readonly calls: Set<GeminiCall> = new Set()
  toolCount = 0
  answer: unknown
  delegatingCall: GeminiCall | undefined
}

export class GeminiSession extends AgentSession {
  /** The session's end, which fires several times, has been emitted. */
  isFinalized = false
  main: GeminiLoop | undefined
  readonly newer: NewerFindings = new NewerFindings()
  newestAt: number = Number.POSITIVE_INFINITY
  readonly children: LimitedMap<string, GeminiLoop> = new LimitedMap(CHILDREN_LIMIT)
  readonly unassignedCalls: Set<UnassignedCall> = new Set()

  constructor(records: Records, id: string) {
    super(records, id, PLATFORM, PROVIDER)
  }

  get openChildren(): GeminiLoop[] {
    return [...this.children.values()].filter(({ hasEnded }) => !hasEnded)
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
