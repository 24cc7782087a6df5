import { idOf, numberOf, peek, textOf } from '../../contract/foreign.ts'
import { tokensOf } from '../base/anthropic-usage.ts'
import { type EventHandlers, EventMachine, eventHandlers, type TimedEvent } from '../base/event-machine.ts'
import type { HostMachine } from '../host-event.ts'
import { SessionStates } from '../session-states.ts'
import { askApproval, batchOver, resultFound, toolDenied, toolEnded, toolStarted } from './calls.ts'
import {
  agentFound,
  delegationReturned,
  loopOfAgent,
  subagentFailed,
  subagentStarted,
  subagentStopped,
} from './children.ts'
import { answered, failed, sent } from './requests.ts'
import { type ClaudeLoop, ClaudeSession, type Dialect } from './session.ts'
import {
  compacted,
  compacting,
  interrupted,
  prompted,
  promptFound,
  sessionEnded,
  sessionStarted,
  stopFound,
  stopped,
  turnFailed,
  turnFor,
  turnOf,
} from './turns.ts'
import { QUIET_HOOKS, READS_FIRST, READS_UNHEARD } from './types.ts'

type Taking = (session: ClaudeSession, at: number, data: unknown, context: unknown) => unknown

/** Wraps a handler of model and tool hooks: it receives the loop of the turn, or of the child that the hook names. */
function ofLoop(take: (loop: ClaudeLoop, at: number, data: unknown) => unknown): Taking {
  return (session, at, data) => {
    const agentId = idOf(peek(data, 'agent_id'))
    const known = session.calls.get(idOf(peek(data, 'tool_use_id')) ?? '')?.turn
    const loop =
      known ?? (agentId === undefined ? turnFor(session, at, promptOf(data)) : loopOfAgent(session, at, agentId, data))
    loop.lastAt = Math.max(loop.lastAt, at)
    take(loop, at, data)
  }
}

function promptOf(data: unknown): string | undefined {
  return idOf(peek(data, 'prompt_id'))
}

const HOOKS: Readonly<Record<string, Taking>> = {
  SessionStart: sessionStarted,
  UserPromptSubmit: prompted,
  PreToolUse: ofLoop(toolStarted),
  PermissionRequest: ofLoop(askApproval),
  PermissionDenied: ofLoop(toolDenied),
  PostToolUse: ofLoop(toolOver),
  PostToolUseFailure: ofLoop(toolOver),
  PostToolBatch: ofLoop(batchOver),
  SubagentStart: subagentStarted,
  SubagentStop: subagentStopped,
  Stop: stopped,
  StopFailure: (session, at, data) =>
    (peek(data, 'agent_id') === undefined ? turnFailed : subagentFailed)(session, at, data),
  PreCompact: compacting,
  PostCompact: compacted,
  PostModelSwitch: (session, _at, data) => {
    session.model = textOf(peek(data, 'to_model')) ?? session.model
  },
  SessionEnd: sessionEnded,
}

function toolOver(loop: ClaudeLoop, at: number, data: unknown): void {
  const call = toolEnded(loop, at, data)
  const hasFailed = peek(data, 'hook_event_name') === 'PostToolUseFailure'
  if (call !== undefined) delegationReturned(call, at, peek(data, 'tool_response'), hasFailed)
}

function resultRead(loop: ClaudeLoop, data: unknown): void {
  const call = resultFound(loop, data)
  const at = numberOf(peek(data, 'at'))
  if (call === undefined || at === undefined) return
  loop.lastAt = Math.max(loop.lastAt, at)
  if (peek(data, 'denial') === undefined)
    delegationReturned(call, at, peek(data, 'response'), peek(data, 'is_error') === true)
}

const OF_A_TURN: ReadonlySet<string> = new Set([
  ...['PreToolUse', 'PostToolUse', 'PostToolUseFailure', 'PostToolBatch', 'Stop', 'StopFailure'],
])

/**
 * Translates Claude Code's hooks and transcripts. Hooks fire at once and lack requests; transcripts have requests and lag. Hooks
 * of `READS_FIRST` are buffered until the transcripts have been read.
 */
class ClaudeCodeMachine extends EventMachine {
  readonly #dialect: Dialect
  readonly #sessions = new SessionStates(id => new ClaudeSession(this.records, id, this.#dialect))
  protected readonly events: EventHandlers = eventHandlers(
    {
      ...Object.fromEntries(Object.keys(HOOKS).map(name => [name, (moment: TimedEvent) => this.#hook(moment)])),
      'transcript:agent': ({ data }) => this.#found(data, session => agentFound(session, data)),
      'transcript:prompt': ({ data }) =>
        this.#found(data, session => {
          if (isAtWork(session, promptOf(data))) promptFound(session, data)
        }),
      'transcript:stopped': ({ data }) => this.#found(data, session => stopFound(session, data)),
      'transcript:interrupted': ({ data }) => this.#found(data, session => interrupted(session, data)),
      'transcript:request': moment => this.#request(moment, sent),
      'transcript:response': moment => this.#request(moment, answered),
      'transcript:failure': moment => this.#request(moment, failed),
      'transcript:result': moment => this.#request(moment, resultRead),
      'transcript:read': ({ data }) => this.#found(data, session => release(session, peek(data, 'goes_on') === true)),
    },
    QUIET_HOOKS,
  )

  constructor(dialect: Dialect) {
    super()
    this.#dialect = dialect
  }

  protected endSessions(): void {
    for (const session of this.#sessions.values()) release(session)
  }

  #hook(moment: TimedEvent): void {
    const id = idOf(peek(moment.data, 'session_id'))
    if (id === undefined) return
    const session = this.#sessions.get(id)
    if (isRepeated(session, moment)) return
    release(session)
    if (READS_FIRST.has(moment.event) || isUnheard(session, moment)) session.held = moment
    else take(session, moment)
  }

  #found(data: unknown, read: (session: ClaudeSession) => void): void {
    const id = idOf(peek(data, 'session_id'))
    if (id !== undefined) read(this.#sessions.get(id))
  }

  #request({ at, data }: TimedEvent, read: (loop: ClaudeLoop, data: unknown) => void): void {
    this.#found(data, session => {
      const since = numberOf(peek(data, 'started_at')) ?? numberOf(peek(data, 'ended_at')) ?? at
      const known = session.calls.get(idOf(peek(data, 'tool_use_id')) ?? '')?.turn
      const loop = known ?? loopOfFound(session, since, data)
      if (loop !== undefined) read(loop, data)
    })
  }
}

/**
 * Returns the loop of a finding. The finding starts a turn or child only if it was read for one of their hooks, or if the child's
 * call is known.
 */
function loopOfFound(session: ClaudeSession, at: number, data: unknown): ClaudeLoop | undefined {
  const { held } = session
  const agentId = idOf(peek(data, 'agent_id'))
  if (agentId !== undefined) {
    const isFirst = held !== undefined && OF_A_TURN.has(held.event) && idOf(peek(held.data, 'agent_id')) === agentId
    const begins = isFirst || session.callOfAgent.has(agentId)
    return session.children.get(agentId)?.loop ?? (begins ? loopOfAgent(session, at, agentId, held?.data) : undefined)
  }
  const promptId = promptOf(data)
  return isAtWork(session, promptId) ? turnFor(session, at, promptId) : turnOf(session, promptId)
}

/** Returns true if the buffered hook belongs to a turn. Commands such as `/compact` have a prompt, too, and are no turns. */
function isAtWork({ held }: ClaudeSession, promptId: string | undefined): boolean {
  return held !== undefined && OF_A_TURN.has(held.event) && promptOf(held.data) === promptId
}

/** Returns true for a repetition of the buffered hook, which must not wait for itself. */
function isRepeated({ held }: ClaudeSession, { event, at, data }: TimedEvent): boolean {
  return held?.event === event && held.at === at && JSON.stringify(held.data) === JSON.stringify(data)
}

/** Returns true for the end of a tool whose start was not received: its request has not been read yet. */
function isUnheard({ calls }: ClaudeSession, { event, data }: TimedEvent): boolean {
  return READS_UNHEARD.has(event) && !calls.has(idOf(peek(data, 'tool_use_id')) ?? '')
}

/** Processes the buffered hook. @param goesOn true if another hook made the agent go on, so that a stop is dropped */
function release(session: ClaudeSession, goesOn = false): void {
  const { held } = session
  session.held = undefined
  if (held !== undefined && !goesOn) take(session, held)
}

function take(session: ClaudeSession, { event, at, data, context }: TimedEvent): void {
  HOOKS[event]?.(session, at, data, context)
}

const CLAUDE_CODE: Dialect = { platform: 'claude-code', provider: 'anthropic', usageOf: tokensOf }

/** @param dialect of an agent with Claude Code's hook protocol */
export function createClaudeCodeMachine(dialect: Dialect = CLAUDE_CODE): HostMachine {
  return new ClaudeCodeMachine(dialect)
}
