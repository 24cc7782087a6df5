import { booleanOf, idOf, peek, textOf } from '../../contract/foreign.ts'
import { type EventHandlers, EventMachine, eventHandlers, type TimedEvent } from '../base/event-machine.ts'
import { SessionStates } from '../base/limited-map.ts'
import { isAborted } from './messages.ts'
import { PiCompaction } from './requests.ts'
import { PiSession, type PiTurn, SessionChain } from './session.ts'

type Reading = (pi: PiMachine, session: PiSession, moment: TimedEvent) => void

/** Handlers of Pi's events. Read from `@earendil-works/pi-coding-agent` 0.87.1; 0.58 to 1.5 lack some events. */
export const READINGS: Readonly<Record<string, Reading>> = {
  session_start: (pi, session, moment) => pi.sessionStarted(session, moment),
  session_switch: (pi, session, moment) => pi.sessionSwitched(session, moment),
  session_fork: (pi, session, moment) => pi.sessionSwitched(session, moment),
  session_shutdown: (pi, session, moment) => pi.sessionEnded(session, moment),
  before_agent_start: (pi, session, moment) => pi.prompted(session, moment),
  agent_start: (pi, session, moment) => pi.runStarted(session, moment),
  agent_end: (pi, session, moment) => pi.runEnded(session, moment),
  agent_settled: (pi, session, moment) => pi.settled(session, moment),
  turn_start: (_, session) => session.setWarming(false),
  cache_warming_decision: (_, session) => session.setWarming(true),
  before_provider_headers: (pi, session, moment) => pi.headersMade(session, moment),
  before_provider_request: (_, session, moment) => {
    if (!session.isWarming) turnOf(session, moment).requests.sendRequest(moment)
  },
  message_start: (pi, session, moment) => pi.messageStarted(session, moment),
  message_update: (_, { turn }, { at, data }) => {
    if (peek(peek(data, 'message'), 'role') === 'assistant') turn?.requests.receiveContent(at)
  },
  message_end: (pi, session, moment) => pi.messageEnded(session, moment),
  tool_execution_start: (_, session, moment) => {
    const turn = turnOf(session, moment)
    turn.tools.start(moment, turn.requests.lastId)
  },
  tool_call: (_, { turn }, moment) => turn?.tools.markCalled(moment),
  tool_result: (_, { turn }, moment) => turn?.tools.markReturned(moment),
  tool_execution_end: (_, { turn }, moment) => turn?.tools.end(moment, peek(moment.data, 'result')),
  ui_prompt_start: (_, { turn }, moment) => turn?.tools.startQuestion(moment),
  ui_prompt_end: (_, { turn }, moment) => turn?.tools.endQuestion(moment),
  session_before_compact: (pi, session, moment) => pi.startCompaction(session, moment),
  session_compact: (_, session, moment) => session.removeCompaction()?.endCompaction(moment),
  session_compact_failed: (_, session, moment) => session.removeCompaction()?.failCompaction(moment),
}

/** Known events of Pi 0.58 to 1.5 that add nothing to others, so that they are not counted as ignored. */
const QUIET = [
  ...['project_trust', 'resources_discover', 'session_directory', 'session_info_changed', 'session_before_switch'],
  ...['session_before_fork', 'session_before_tree', 'session_tree', 'input', 'turn_end', 'context'],
  ...['context_with_system', 'after_provider_response', 'provider_stream_event', 'tool_execution_update'],
  ...['agent_before_settle', 'model_select', 'thinking_level_select', 'user_bash', 'mcp_servers_change'],
]

export class PiMachine extends EventMachine {
  protected readonly events: EventHandlers = eventHandlers(
    Object.fromEntries(Object.entries(READINGS).map(([event, read]) => [event, moment => this.#read(read, moment)])),
    QUIET,
  )
  readonly #sessions = new SessionStates(id => new PiSession(this.records, id))
  readonly #chain = new SessionChain(this.records)
  /** True if this Pi emits `agent_settled` (since 0.80.4). Before, the end of a run ends the turn. */
  #settles = false

  #read(read: Reading, moment: TimedEvent): void {
    const id = idOf(peek(moment.context, 'sessionId'))
    if (id === undefined) return
    const session = this.#sessions.get(id)
    if (isAborted(moment.context)) session.turn?.abort()
    read(this, session, moment)
  }

  protected endSessions(at: number): void {
    for (const session of this.#sessions.values()) session.endAll({ event: 'end', at })
  }

  sessionStarted(session: PiSession, { at, data }: TimedEvent): void {
    session.isAnnounced = true
    const [reason, file] = [textOf(peek(data, 'reason')), textOf(peek(data, 'previousSessionFile'))]
    this.#chain.joinSession(session.id, at, reason, file)
  }

  /** Handles a switch, with which older versions of Pi end one session and start another. A fork has no reason. */
  sessionSwitched(session: PiSession, moment: TimedEvent): void {
    const previousSessionFile = textOf(peek(moment.data, 'previousSessionFile')) ?? ''
    const reason = textOf(peek(moment.data, 'reason')) ?? 'fork'
    const old = this.#sessions.values().find(({ id }) => id !== session.id && previousSessionFile.includes(id))
    if (old !== undefined) this.#leaveSession(old, moment, reason)
    this.sessionStarted(session, { ...moment, data: { reason, previousSessionFile } })
  }

  /** A reload continues the conversation; any other reason ends it. */
  sessionEnded(session: PiSession, moment: TimedEvent): void {
    const reason = textOf(peek(moment.data, 'reason'))
    if (reason === 'reload') session.endAll(moment)
    else this.#leaveSession(session, moment, reason)
  }

  prompted(session: PiSession, moment: TimedEvent): void {
    session.isWarming = false
    if (session.turn?.openedAt === moment.at) return
    session.closeTurn(moment, false)
    session.openTurn(moment).emitPrompt(moment, peek(moment.data, 'prompt') ?? '')
  }

  /** Handles `agent_start`: for a prompt, for a message of an extension (without a prompt), or again after a failure. */
  runStarted(session: PiSession, moment: TimedEvent): void {
    session.isWarming = false
    const turn = session.turn ?? session.openTurn(moment)
    turn.startRun()
  }

  /** Handles `agent_end`, once per run. Without `agent_settled`, a run that did not fail counts as the last one. */
  runEnded(session: PiSession, moment: TimedEvent): void {
    session.turn?.endRun(moment.at)
    if (!this.#settles && session.turn?.isAnswered === true) session.closeTurn(moment, true)
  }

  settled(session: PiSession, moment: TimedEvent): void {
    this.#settles = true
    if (booleanOf(peek(moment.data, 'aborted')) === true) session.turn?.abort()
    session.closeTurn(moment, true)
  }

  headersMade(session: PiSession, moment: TimedEvent): void {
    // Pi introduced this event together with `agent_settled`.
    this.#settles = true
    if (session.compaction !== undefined) session.compaction.emitRequestStart(moment)
    else if (!session.isWarming) session.turn?.requests.prepareHeaders(moment.at)
  }

  messageStarted({ turn }: PiSession, moment: TimedEvent): void {
    const message = peek(moment.data, 'message')
    const role = peek(message, 'role')
    if (role === 'assistant') turn?.requests.beginAnswer(moment)
    else if (role === 'user' || role === 'custom') turn?.emitPrompt(moment, peek(message, 'content'))
  }

  messageEnded({ turn }: PiSession, moment: TimedEvent): void {
    const message = peek(moment.data, 'message')
    const role = peek(message, 'role')
    if (role === 'assistant') turn?.receiveAnswer(moment, message)
    // Repeats the tool's result; used if the tool's own end was not received.
    else if (role === 'toolResult') turn?.tools.end({ ...moment, data: message }, message)
  }

  startCompaction(session: PiSession, moment: TimedEvent): void {
    session.compaction?.failCompaction(moment)
    session.turn?.requests.forgetHeaders()
    session.compaction = new PiCompaction(session.scope, moment.at)
  }

  #leaveSession(session: PiSession, moment: TimedEvent, reason: string | undefined): void {
    session.endAll(moment)
    this.#sessions.delete(session.id)
    if (!session.hadTurns) return
    if (reason === 'new' || reason === 'resume' || reason === 'fork') this.#chain.addLeftSession(session.id, reason)
    else this.records.addRecord('on_session_finalize', moment.at, { session_id: session.id, reason })
  }
}

function turnOf(session: PiSession, moment: TimedEvent): PiTurn {
  const turn = session.turn ?? session.openTurn(moment)
  turn.emitPrompt(moment)
  return turn
}
