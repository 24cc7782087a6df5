import { idOf, peek } from '../../contract/foreign.ts'
import { timestampOf } from '../base/event-machine.ts'
import { LimitedMap } from '../base/limited-map.ts'
import { toolKey } from '../base/tool-key.ts'
import { callIdOf } from './session.ts'

const SESSIONS_LIMIT = 1000
const CALLS_LIMIT = 1000

interface OpenCall {
  key: string
  readonly id: string
}

interface OpenSession {
  turnId: string | undefined
  retry: { readonly by: string; readonly times: number } | undefined
  readonly calls: OpenCall[]
}

/** Maps turns and calls of Gemini CLI to their ids in the trace, which its hooks lack. */
export class OpenCalls {
  readonly #sessions = new LimitedMap<string, OpenSession>(SESSIONS_LIMIT)

  startTurn(body: unknown): void {
    const sessionId = idOf(peek(body, 'session_id'))
    const at = timestampOf(body)
    if (sessionId === undefined) return
    const before = this.#sessions.get(sessionId)?.retry
    const noteRetry = before?.by === peek(body, 'prompt') ? before : undefined
    this.#sessions.set(sessionId, {
      turnId: at === undefined ? undefined : `${sessionId}:${at}`,
      retry: noteRetry,
      calls: [],
    })
  }

  /**
   * Handles `AfterAgent` that a hook has blocked. Gemini CLI continues with the reason as a prompt, and later treats it as an
   * ordinary prompt.
   */
  sentOn(body: unknown, by: string): void {
    this.#sessionOf(idOf(peek(body, 'session_id')) ?? '').retry = { by, times: this.attemptOf(body) + 1 }
  }

  attemptOf(body: unknown): number {
    return this.#sessions.get(idOf(peek(body, 'session_id')) ?? '')?.retry?.times ?? 0
  }

  turnOf(body: unknown): string | undefined {
    return this.#sessions.get(idOf(peek(body, 'session_id')) ?? '')?.turnId
  }

  startCall(body: unknown): string | undefined {
    const sessionId = idOf(peek(body, 'session_id'))
    const at = timestampOf(body)
    if (sessionId === undefined || at === undefined) return undefined
    const key = keyOf(body)
    const id = callIdOf(sessionId, key, at)
    const calls = this.#callsOf(sessionId)
    calls.push({ key, id })
    if (calls.length > CALLS_LIMIT) calls.shift()
    return id
  }

  rewriteCall(body: unknown, input: unknown): void {
    const key = keyOf(body)
    const call = this.#callsOf(idOf(peek(body, 'session_id')) ?? '').findLast(one => one.key === key)
    if (call !== undefined) call.key = toolKey(peek(body, 'tool_name'), input)
  }

  /** Handles `AfterTool`. Of identical calls, the first ends, as in the trace. */
  endCall(body: unknown): string | undefined {
    const key = keyOf(body)
    const calls = this.#callsOf(idOf(peek(body, 'session_id')) ?? '')
    const at = calls.findIndex(one => one.key === key)
    return at < 0 ? undefined : calls.splice(at, 1)[0]?.id
  }

  #callsOf(sessionId: string): OpenCall[] {
    return this.#sessionOf(sessionId).calls
  }

  #sessionOf(sessionId: string): OpenSession {
    return this.#sessions.recall(sessionId, () => ({ turnId: undefined, retry: undefined, calls: [] }))
  }
}

function keyOf(body: unknown): string {
  return toolKey(peek(body, 'tool_name'), peek(body, 'tool_input'))
}
