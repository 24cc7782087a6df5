import { booleanOf, idOf, numberOf, peek, textOf } from '../../contract/foreign.ts'
import type { HookRecord } from '../../contract/index.ts'
import { type HostEvent, type HostMachine, hookRecord } from '../host-event.ts'
import { SessionStates } from '../session-states.ts'
import { PiCompaction } from './compaction.ts'
import { isAborted, type Moment } from './moment.ts'
import { QUIET_EVENTS } from './quiet-events.ts'
import { PiSession } from './session.ts'
import { SessionChain } from './session-chain.ts'

type Reading = (this: PiMachine, session: PiSession, moment: Moment) => HookRecord[]

const NOTHING: HookRecord[] = []

/** What the events of Pi mean. Read from `@earendil-works/pi-coding-agent` 0.87.1; 0.58 to 1.5 differ in what they lack. */
export function createPiMachine(): HostMachine {
  return new PiMachine()
}

class PiMachine implements HostMachine {
  readonly #sessions = new SessionStates(id => new PiSession(id))
  readonly #chain = new SessionChain()
  /** Whether this Pi tells when it is idle (`agent_settled`, since 0.80.4). Before, the end of a run must do. */
  #settles = false
  #lastAt = 0

  accept({ event, at, data, context }: HostEvent): HookRecord[] | undefined {
    const read = READINGS.get(event)
    if (read === undefined) return QUIET_EVENTS.has(event) ? NOTHING : undefined
    this.#lastAt = numberOf(at) ?? this.#lastAt
    const id = idOf(peek(context, 'sessionId'))
    if (id === undefined) return NOTHING
    const session = this.#sessions.get(id)
    if (isAborted(context)) session.turn?.aborted()
    return read.call(this, session, { at: this.#lastAt, data, context })
  }

  end(at: number): HookRecord[] {
    const moment = { at, data: undefined, context: undefined }
    return this.#sessions.values().flatMap(session => this.#endAll(session, moment))
  }

  sessionStarted(session: PiSession, { at, data }: Moment): HookRecord[] {
    session.isAnnounced = true
    const [reason, file] = [textOf(peek(data, 'reason')), textOf(peek(data, 'previousSessionFile'))]
    return this.#chain.joined(session.id, at, reason, file)
  }

  /** Both halves in one, as Pi told it until it had `session_shutdown` for that. A fork gives no reason. */
  sessionSwitched(session: PiSession, moment: Moment): HookRecord[] {
    const file = textOf(peek(moment.data, 'previousSessionFile')) ?? ''
    const reason = textOf(peek(moment.data, 'reason')) ?? 'fork'
    const old = this.#sessions.values().find(({ id }) => id !== session.id && file.includes(id))
    const left = old === undefined ? NOTHING : this.#leave(old, moment, reason)
    return [...left, ...this.sessionStarted(session, { ...moment, data: { reason, previousSessionFile: file } })]
  }

  /** After a reload the same conversation goes on; every other reason ends it here. */
  sessionEnded(session: PiSession, moment: Moment): HookRecord[] {
    const reason = textOf(peek(moment.data, 'reason'))
    return reason === 'reload' ? this.#endAll(session, moment) : this.#leave(session, moment, reason)
  }

  /** `before_agent_start`: a prompt. One that is told again begins nothing. */
  prompted(session: PiSession, moment: Moment): HookRecord[] {
    session.isWarming = false
    if (session.turn?.openedAt === moment.at) return NOTHING
    const before = session.close(moment, false)
    return [...before, ...this.#open(session, moment, peek(moment.data, 'prompt') ?? '')]
  }

  /** `agent_start`: of a prompt, of a message of an extension (without any prompt), or again after a failure. */
  runStarted(session: PiSession, moment: Moment): HookRecord[] {
    session.isWarming = false
    const records = session.turn === undefined ? session.open(moment) : NOTHING
    session.turn?.runs()
    return records
  }

  /** `agent_end`: once a run. Without `agent_settled` a run that did not fail is taken for the last one. */
  runEnded(session: PiSession, moment: Moment): HookRecord[] {
    session.turn?.ran(moment.at)
    return this.#settles || session.turn?.isAnswered !== true ? NOTHING : session.close(moment, true)
  }

  settled(session: PiSession, moment: Moment): HookRecord[] {
    this.#settles = true
    if (booleanOf(peek(moment.data, 'aborted')) === true) session.turn?.aborted()
    return session.close(moment, true)
  }

  stepStarted(session: PiSession): HookRecord[] {
    session.isWarming = false
    return NOTHING
  }

  warming(session: PiSession): HookRecord[] {
    session.isWarming = true
    return NOTHING
  }

  headersMade(session: PiSession, moment: Moment): HookRecord[] {
    // It came to Pi together with `agent_settled`.
    this.#settles = true
    if (session.compaction !== undefined) return session.compaction.requested(moment)
    if (!session.isWarming) session.turn?.requests.headers(moment.at)
    return NOTHING
  }

  requestSent(session: PiSession, moment: Moment): HookRecord[] {
    if (session.isWarming) return NOTHING
    return this.#at(session, moment, turn => turn.requests.start(moment))
  }

  messageStarted(session: PiSession, moment: Moment): HookRecord[] {
    const message = peek(moment.data, 'message')
    const role = peek(message, 'role')
    if (role === 'assistant') return session.turn?.requests.answerBegan(moment) ?? NOTHING
    const isAsked = role === 'user' || role === 'custom'
    return isAsked ? (session.turn?.tell(moment, peek(message, 'content')) ?? NOTHING) : NOTHING
  }

  messageGrew(session: PiSession, { at, data }: Moment): HookRecord[] {
    if (peek(peek(data, 'message'), 'role') === 'assistant') session.turn?.requests.contentCame(at)
    return NOTHING
  }

  messageEnded(session: PiSession, moment: Moment): HookRecord[] {
    const message = peek(moment.data, 'message')
    const role = peek(message, 'role')
    if (role === 'assistant') return session.turn?.answered(moment, message) ?? NOTHING
    // The same result once more; it counts where the tool's own end was lost.
    return role === 'toolResult' ? (session.turn?.tools.end({ ...moment, data: message }, message) ?? NOTHING) : NOTHING
  }

  toolStarted(session: PiSession, moment: Moment): HookRecord[] {
    return this.#at(session, moment, turn => turn.tools.start(moment, turn.requests.lastId))
  }

  toolCalled(session: PiSession, moment: Moment): HookRecord[] {
    return session.turn?.tools.called(moment) ?? NOTHING
  }

  toolReturned(session: PiSession, moment: Moment): HookRecord[] {
    return session.turn?.tools.returned(moment) ?? NOTHING
  }

  toolEnded(session: PiSession, moment: Moment): HookRecord[] {
    return session.turn?.tools.end(moment, peek(moment.data, 'result')) ?? NOTHING
  }

  asked(session: PiSession, moment: Moment): HookRecord[] {
    return session.turn?.tools.asked(moment) ?? NOTHING
  }

  replied(session: PiSession, moment: Moment): HookRecord[] {
    return session.turn?.tools.answered(moment) ?? NOTHING
  }

  compacting(session: PiSession, moment: Moment): HookRecord[] {
    const before = session.compaction?.failed(moment) ?? NOTHING
    session.turn?.requests.forgetHeaders()
    session.compaction = new PiCompaction({ session_id: session.id, ...session.turn?.ids }, moment.at)
    return before
  }

  compacted(session: PiSession, moment: Moment): HookRecord[] {
    const compaction = session.compaction
    session.compaction = undefined
    return compaction?.done(moment) ?? NOTHING
  }

  compactionFailed(session: PiSession, moment: Moment): HookRecord[] {
    const compaction = session.compaction
    session.compaction = undefined
    return compaction?.failed(moment) ?? NOTHING
  }

  #open(session: PiSession, moment: Moment, prompt: unknown): HookRecord[] {
    return [...session.open(moment), ...(session.turn?.tell(moment, prompt) ?? NOTHING)]
  }

  /** Something is done in a turn, whose beginning may have been missed. */
  #at(session: PiSession, moment: Moment, take: (turn: NonNullable<PiSession['turn']>) => HookRecord[]): HookRecord[] {
    const begin = session.turn === undefined ? session.open(moment) : NOTHING
    const { turn } = session
    return turn === undefined ? begin : [...begin, ...turn.tell(moment), ...take(turn)]
  }

  #leave(session: PiSession, moment: Moment, reason: string | undefined): HookRecord[] {
    const records = this.#endAll(session, moment)
    this.#sessions.delete(session.id)
    if (!session.hadTurns) return records
    if (reason === 'new' || reason === 'resume' || reason === 'fork') this.#chain.left(session.id, reason)
    else records.push(hookRecord('on_session_finalize', moment.at, { session_id: session.id, reason }))
    return records
  }

  #endAll(session: PiSession, moment: Moment): HookRecord[] {
    return [...this.compactionFailed(session, moment), ...session.close(moment, false)]
  }
}

const READINGS: ReadonlyMap<string, Reading> = new Map<string, Reading>([
  ['session_start', PiMachine.prototype.sessionStarted],
  ['session_switch', PiMachine.prototype.sessionSwitched],
  ['session_fork', PiMachine.prototype.sessionSwitched],
  ['session_shutdown', PiMachine.prototype.sessionEnded],
  ['before_agent_start', PiMachine.prototype.prompted],
  ['agent_start', PiMachine.prototype.runStarted],
  ['agent_end', PiMachine.prototype.runEnded],
  ['agent_settled', PiMachine.prototype.settled],
  ['turn_start', PiMachine.prototype.stepStarted],
  ['cache_warming_decision', PiMachine.prototype.warming],
  ['before_provider_headers', PiMachine.prototype.headersMade],
  ['before_provider_request', PiMachine.prototype.requestSent],
  ['message_start', PiMachine.prototype.messageStarted],
  ['message_update', PiMachine.prototype.messageGrew],
  ['message_end', PiMachine.prototype.messageEnded],
  ['tool_execution_start', PiMachine.prototype.toolStarted],
  ['tool_call', PiMachine.prototype.toolCalled],
  ['tool_result', PiMachine.prototype.toolReturned],
  ['tool_execution_end', PiMachine.prototype.toolEnded],
  ['ui_prompt_start', PiMachine.prototype.asked],
  ['ui_prompt_end', PiMachine.prototype.replied],
  ['session_before_compact', PiMachine.prototype.compacting],
  ['session_compact', PiMachine.prototype.compacted],
  ['session_compact_failed', PiMachine.prototype.compactionFailed],
])
