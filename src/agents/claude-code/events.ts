import { idOf, numberOf, peek, textOf } from '../../contract/foreign.ts'
import {
  type EventHandlers,
  EventMachine,
  eventHandlers,
  handlersByName,
  type TimedEvent,
} from '../base/event-machine.ts'
import { anthropicUsage } from '../base/usage.ts'
import { SessionStates } from '../session-states.ts'
import {
  handleFoundResult,
  handlePermissionDenied,
  handlePermissionRequest,
  handlePreToolUse,
  handleToolBatch,
  handleToolEnd,
} from './calls.ts'
import {
  endDelegatedChildren,
  handleSubagentFailure,
  handleSubagentStart,
  handleSubagentStop,
  linkAgent,
  loopOfAgent,
} from './children.ts'
import { handleFailure, handleRequest, handleResponse } from './requests.ts'
import { type ClaudeLoop, ClaudeSession, type Dialect } from './session.ts'
import {
  beginCompaction,
  finishCompaction,
  handleFoundPrompt,
  handleFoundStop,
  handleInterruption,
  handlePrompt,
  handleSessionEnd,
  handleSessionStart,
  handleStop,
  handleStopFailure,
  turnFor,
  turnOf,
} from './turns.ts'
import { QUIET_HOOKS, READS_FIRST, READS_IF_UNKNOWN } from './types.ts'

type HookHandler = (session: ClaudeSession, at: number, data: unknown, context: unknown) => unknown

/** Wraps a handler of model and tool hooks: it receives the loop of the turn, or of the child that the hook names. */
function ofLoop(take: (loop: ClaudeLoop, at: number, data: unknown) => unknown): HookHandler {
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

const HOOKS: Readonly<Record<string, HookHandler>> = {
  SessionStart: handleSessionStart,
  UserPromptSubmit: handlePrompt,
  PreToolUse: ofLoop(handlePreToolUse),
  PermissionRequest: ofLoop(handlePermissionRequest),
  PermissionDenied: ofLoop(handlePermissionDenied),
  PostToolUse: ofLoop(handleToolHook),
  PostToolUseFailure: ofLoop(handleToolHook),
  PostToolBatch: ofLoop(handleToolBatch),
  SubagentStart: handleSubagentStart,
  SubagentStop: handleSubagentStop,
  Stop: handleStop,
  StopFailure: (session, at, data) =>
    (peek(data, 'agent_id') === undefined ? handleStopFailure : handleSubagentFailure)(session, at, data),
  PreCompact: beginCompaction,
  PostCompact: finishCompaction,
  PostModelSwitch: (session, _at, data) => {
    session.model = textOf(peek(data, 'to_model')) ?? session.model
  },
  SessionEnd: handleSessionEnd,
}

function handleToolHook(loop: ClaudeLoop, at: number, data: unknown): void {
  const call = handleToolEnd(loop, at, data)
  const hasFailed = peek(data, 'hook_event_name') === 'PostToolUseFailure'
  if (call !== undefined) endDelegatedChildren(call, at, peek(data, 'tool_response'), hasFailed)
}

function handleResultInTranscript(loop: ClaudeLoop, data: unknown): void {
  const call = handleFoundResult(loop, data)
  const at = numberOf(peek(data, 'at'))
  if (call === undefined || at === undefined) return
  loop.lastAt = Math.max(loop.lastAt, at)
  if (peek(data, 'denial') === undefined)
    endDelegatedChildren(call, at, peek(data, 'response'), peek(data, 'is_error') === true)
}

const TURN_HOOKS: ReadonlySet<string> = new Set([
  ...['PreToolUse', 'PostToolUse', 'PostToolUseFailure', 'PostToolBatch', 'Stop', 'StopFailure'],
])

/**
 * Translates Claude Code's hooks and transcripts. Hooks fire at once and lack requests; transcripts have requests and lag. Hooks
 * of `READS_FIRST` are buffered until the transcripts have been read.
 */
export class ClaudeCodeMachine extends EventMachine {
  readonly #dialect: Dialect
  readonly #sessions = new SessionStates(id => new ClaudeSession(this.records, id, this.#dialect))
  protected readonly events: EventHandlers = eventHandlers(
    {
      ...handlersByName(Object.keys(HOOKS), () => moment => this.#hook(moment)),
      'transcript:agent': ({ data }) => this.#found(data, session => linkAgent(session, data)),
      'transcript:prompt': ({ data }) =>
        this.#found(data, session => {
          if (isHeldForTurn(session, promptOf(data))) handleFoundPrompt(session, data)
        }),
      'transcript:stopped': ({ data }) => this.#found(data, session => handleFoundStop(session, data)),
      'transcript:interrupted': ({ data }) => this.#found(data, session => handleInterruption(session, data)),
      'transcript:request': moment => this.#request(moment, handleRequest),
      'transcript:response': moment => this.#request(moment, handleResponse),
      'transcript:failure': moment => this.#request(moment, handleFailure),
      'transcript:result': moment => this.#request(moment, handleResultInTranscript),
      'transcript:read': ({ data }) =>
        this.#found(data, session => {
          session.noteWorkspace(data)
          handleBufferedHook(session, peek(data, 'goes_on') === true)
        }),
    },
    QUIET_HOOKS,
  )

  constructor(dialect: Dialect = CLAUDE_CODE) {
    super()
    this.#dialect = dialect
  }

  protected endSessions(): void {
    for (const session of this.#sessions.values()) handleBufferedHook(session)
  }

  #hook(moment: TimedEvent): void {
    const id = idOf(peek(moment.data, 'session_id'))
    if (id === undefined) return
    const session = this.#sessions.get(id)
    session.noteWorkspace(moment.data)
    if (isRepeated(session, moment)) return
    handleBufferedHook(session)
    if (READS_FIRST.has(moment.event) || isUnknown(session, moment)) session.bufferedHook = moment
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
  const { bufferedHook } = session
  const agentId = idOf(peek(data, 'agent_id'))
  if (agentId !== undefined) {
    const isFirst =
      bufferedHook !== undefined &&
      TURN_HOOKS.has(bufferedHook.event) &&
      idOf(peek(bufferedHook.data, 'agent_id')) === agentId
    const begins = isFirst || session.callOfAgent.has(agentId)
    return begins ? loopOfAgent(session, at, agentId, bufferedHook?.data) : session.children.get(agentId)
  }
  const promptId = promptOf(data)
  return isHeldForTurn(session, promptId) ? turnFor(session, at, promptId) : turnOf(session, promptId)
}

/** Returns true if the buffered hook belongs to a turn. Commands such as `/compact` have a prompt, too, and are no turns. */
function isHeldForTurn({ bufferedHook }: ClaudeSession, promptId: string | undefined): boolean {
  return bufferedHook !== undefined && TURN_HOOKS.has(bufferedHook.event) && promptOf(bufferedHook.data) === promptId
}

/** Returns true for a repetition of the buffered hook, which must not wait for itself. */
function isRepeated({ bufferedHook }: ClaudeSession, { event, at, data }: TimedEvent): boolean {
  return (
    bufferedHook?.event === event &&
    bufferedHook.at === at &&
    JSON.stringify(bufferedHook.data) === JSON.stringify(data)
  )
}

/** Returns true for the end of a tool whose start was not received: its request has not been read yet. */
function isUnknown({ calls }: ClaudeSession, { event, data }: TimedEvent): boolean {
  return READS_IF_UNKNOWN.has(event) && !calls.has(idOf(peek(data, 'tool_use_id')) ?? '')
}

/** Processes the buffered hook. @param goesOn true if another hook made the agent go on, so that a stop is dropped */
function handleBufferedHook(session: ClaudeSession, goesOn = false): void {
  const hook = session.takeBufferedHook()
  if (hook !== undefined && !goesOn) take(session, hook)
}

function take(session: ClaudeSession, { event, at, data, context }: TimedEvent): void {
  HOOKS[event]?.(session, at, data, context)
}

const CLAUDE_CODE: Dialect = { platform: 'claude-code', provider: 'anthropic', usageOf: anthropicUsage }
