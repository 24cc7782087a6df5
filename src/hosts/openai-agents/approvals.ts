import type { Correlation } from '../../contract/index.ts'
import type { AskedCall } from './model-spans.ts'
import type { Records } from './records.ts'
import type { Choice, Decision, Trace, Turn, Waiting } from './state.ts'

/** Calls of one trace that wait at once. */
const WAITING_LIMIT = 200

/**
 * Calls that wait for a person. The host ends the run, and another one goes on in the same trace when somebody has
 * decided; the wait lies between the two, below the turn that asked.
 */
export class Approvals {
  readonly #records: Records

  constructor(records: Records) {
    this.#records = records
  }

  /** Remembers the calls that a run ended without having made. */
  wait(turn: Turn, calls: readonly AskedCall[]): Waiting[] {
    return calls.map(call => this.#remember(turn, call))
  }

  ask(waiting: Waiting, at: number, correlation?: Correlation): void {
    if (waiting.isAsked) return
    waiting.isAsked = true
    this.#records.add('pre_approval_request', at, request(waiting), correlation)
  }

  answer(waiting: Waiting, at: number, choice: Choice, correlation?: Correlation): void {
    if (waiting.isAnswered) return
    waiting.isAnswered = true
    this.#records.add('post_approval_response', at, { ...request(waiting), choice }, correlation)
  }

  /** Decided before this process knew that there was something to decide: all of it at once, without the wait. */
  decided(turn: Turn, { call, choice }: Decision, at: number): void {
    const waiting = this.#remember(turn, call)
    this.ask(waiting, at, 'inferred')
    this.answer(waiting, at, choice)
  }

  /** The call is made now, or was refused: nobody waits for it any longer. */
  settle(trace: Trace, callId: string, at: number, choice: Choice): void {
    const waiting = trace.waiting.get(callId)
    if (waiting === undefined) return
    trace.waiting.delete(callId)
    if (waiting.isAsked) this.answer(waiting, at, choice, 'inferred')
  }

  /** A call that is made again when the run goes on: nobody was asked about the call itself. */
  again(turn: Turn, call: AskedCall): void {
    const waiting = this.#remember(turn, call)
    waiting.isAsked = true
    waiting.isAnswered = true
  }

  #remember(turn: Turn, call: AskedCall): Waiting {
    const { waiting } = turn.trace
    const known = waiting.get(call.id)
    if (known !== undefined && known.turn === turn) return known
    const added = { call, turn, isAsked: false, isAnswered: false }
    waiting.set(call.id, added)
    const [oldest] = waiting.keys()
    if (waiting.size > WAITING_LIMIT && oldest !== undefined) waiting.delete(oldest)
    return added
  }
}

function request({ call, turn }: Waiting): object {
  return {
    session_id: turn.sessionId,
    turn_id: turn.id,
    tool_call_id: call.id,
    pattern_key: call.name,
    command: call.args,
    surface: 'interruption',
  }
}
