import { idOf, peek } from '../../contract/foreign.ts'
import type { FindingOwner } from '../base/findings.ts'
import { LimitedMap } from '../base/limited-map.ts'
import type { CancelledHook } from './transcript.ts'

const HOOKS_LIMIT = 20_000
const SUSPECTS_LIMIT = 1000
/** A hook that has timed out does not arrive after this time. */
const LATEST_MILLIS = 2000
const TOLERANCE_MILLIS = 50
const ENDS_OF_TOOL = ['PostToolUse', 'PostToolUseFailure'] as const
const OF_TOOL: ReadonlySet<string> = new Set(['PreToolUse', 'PermissionDenied', ...ENDS_OF_TOOL])
const OUR_COMMAND = /[/ ]claude-code$/

interface TimedOutHook {
  readonly key: string
  readonly firedAt: number
}

/** Tracks received hooks, and counts those that timed out and never arrived. */
export class ReceivedHooks {
  readonly #at = new LimitedMap<string, number>(HOOKS_LIMIT)
  #timedOut: TimedOutHook[] = []
  /** Time of the first hook. Earlier hooks were sent to another process. */
  #since = Number.POSITIVE_INFINITY
  #lost = 0

  /** Hooks lost so far. A hook that arrives late is no longer counted. */
  get lost(): number {
    return this.#lost + this.#missing().length
  }

  noteHook(event: string, at: number, data: unknown): void {
    this.#since = Math.min(this.#since, at)
    const owner = { session_id: idOf(peek(data, 'session_id')) ?? '', agent_id: idOf(peek(data, 'agent_id')) }
    this.#at.set(keyOf(event, owner, idOf(peek(data, 'tool_use_id'))), at)
  }

  hasEnd(owner: FindingOwner, callId: string): boolean {
    return ENDS_OF_TOOL.some(event => this.#at.has(keyOf(event, owner, callId)))
  }

  /** Adds hooks that timed out; they may have arrived, or may still arrive. @param at time of the current hook */
  addTimedOut(cancelled: readonly CancelledHook[], owner: FindingOwner, at: number): void {
    for (const { event, callId, command, firedAt } of cancelled) {
      const isOurs = command === undefined ? OF_TOOL.has(event) : OUR_COMMAND.test(command)
      if (isOurs && firedAt >= this.#since) this.#timedOut.push({ key: keyOf(event, owner, callId), firedAt })
    }
    const missing = this.#missing()
    this.#timedOut = missing.filter(({ firedAt }) => at < firedAt + LATEST_MILLIS).slice(-SUSPECTS_LIMIT)
    this.#lost += missing.length - this.#timedOut.length
  }

  #missing(): readonly TimedOutHook[] {
    return this.#timedOut.filter(({ key, firedAt }) => (this.#at.get(key) ?? 0) < firedAt - TOLERANCE_MILLIS)
  }
}

function keyOf(event: string, { session_id, agent_id = '' }: FindingOwner, callId: string | undefined): string {
  return `${session_id} ${agent_id} ${event} ${OF_TOOL.has(event) ? callId : ''}`
}
