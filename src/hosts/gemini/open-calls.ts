import { idOf, peek, textOf } from '../../contract/foreign.ts'
import { LimitedMap } from '../base/limited-map.ts'
import { toolKey } from '../base/tool-key.ts'
import { callIdOf } from './call-id.ts'

const SESSIONS_LIMIT = 1000
const CALLS_LIMIT = 1000

interface OpenCall {
  key: string
  readonly id: string
}

interface OpenSession {
  turnId: string | undefined
  /** What a turn was sent on with, and how often. */
  sentOn: { readonly by: string; readonly times: number } | undefined
  readonly calls: OpenCall[]
}

/** Turns and calls of Gemini CLI under the ids that they have in the trace: its hooks name neither. */
export class OpenCalls {
  readonly #sessions = new LimitedMap<string, OpenSession>(SESSIONS_LIMIT)

  /** `BeforeAgent` */
  prompted(body: unknown): void {
    const sessionId = idOf(peek(body, 'session_id'))
    const at = firedAt(body)
    if (sessionId === undefined) return
    const before = this.#sessions.get(sessionId)?.sentOn
    const sentOn = before?.by === peek(body, 'prompt') ? before : undefined
    this.#sessions.set(sessionId, { turnId: at === undefined ? undefined : `${sessionId}:${at}`, sentOn, calls: [] })
  }

  /** `AfterAgent`, which a hook has held back: Gemini CLI goes on with this as a prompt, and soon forgets that it is none. */
  sentOn(body: unknown, by: string): void {
    this.#sessionOf(idOf(peek(body, 'session_id')) ?? '').sentOn = { by, times: this.attemptOf(body) + 1 }
  }

  attemptOf(body: unknown): number {
    return this.#sessions.get(idOf(peek(body, 'session_id')) ?? '')?.sentOn?.times ?? 0
  }

  turnOf(body: unknown): string | undefined {
    return this.#sessions.get(idOf(peek(body, 'session_id')) ?? '')?.turnId
  }

  /** `BeforeTool` @returns its id, which it has in the trace */
  began(body: unknown): string | undefined {
    const sessionId = idOf(peek(body, 'session_id'))
    const at = firedAt(body)
    if (sessionId === undefined || at === undefined) return undefined
    const key = keyOf(body)
    const id = callIdOf(sessionId, key, at)
    const calls = this.#callsOf(sessionId)
    calls.push({ key, id })
    if (calls.length > CALLS_LIMIT) calls.shift()
    return id
  }

  /** From here on it is told of with another input. */
  rewritten(body: unknown, input: unknown): void {
    const key = keyOf(body)
    const call = this.#callsOf(idOf(peek(body, 'session_id')) ?? '').findLast(one => one.key === key)
    if (call !== undefined) call.key = toolKey(peek(body, 'tool_name'), input)
  }

  /** `AfterTool`: of equal ones, the first, as in the trace. */
  ended(body: unknown): string | undefined {
    const key = keyOf(body)
    const calls = this.#callsOf(idOf(peek(body, 'session_id')) ?? '')
    const at = calls.findIndex(one => one.key === key)
    return at < 0 ? undefined : calls.splice(at, 1)[0]?.id
  }

  #callsOf(sessionId: string): OpenCall[] {
    return this.#sessionOf(sessionId).calls
  }

  #sessionOf(sessionId: string): OpenSession {
    let session = this.#sessions.get(sessionId)
    if (session === undefined) {
      session = { turnId: undefined, sentOn: undefined, calls: [] }
      this.#sessions.set(sessionId, session)
    }
    return session
  }
}

function keyOf(body: unknown): string {
  return toolKey(peek(body, 'tool_name'), peek(body, 'tool_input'))
}

/** Epoch milliseconds; as Gemini CLI says. */
function firedAt(body: unknown): number | undefined {
  const at = Date.parse(textOf(peek(body, 'timestamp')) ?? '')
  return Number.isFinite(at) ? at : undefined
}
