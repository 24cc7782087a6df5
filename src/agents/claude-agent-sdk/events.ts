import { idOf, peek, textOf } from '../../contract/foreign.ts'
import type { EventHandler, EventHandlers, TimedEvent } from '../base/event-machine.ts'
import { EventMachine, eventHandlers, handlersByName } from '../base/event-machine.ts'
import { LimitedMap, SessionStates } from '../base/limited-map.ts'
import { handlePermissionDenied, handlePreToolUse, handleToolBatch, handleToolEnd } from '../claude-code/calls.ts'
import { HOOK_NAMES } from '../claude-code/events.ts'
import type { ClaudeCall } from '../claude-code/session.ts'
import { loopOfAgent, turnFor } from '../claude-code/turns.ts'
import { handleApprovalRequest, handleApprovalResponse } from './calls.ts'
import { handleAssistantMessage, handleRetry, handleStreamEvent, isSynthetic } from './requests.ts'
import { type SdkLoop, SdkSession } from './session.ts'
import {
  endChildren,
  endWithoutResult,
  handleResult,
  noteDelegationResult,
  OF_SESSION,
  openPendingTurn,
} from './turns.ts'

const HOOK = 'hook.'
const PROMPT = 'hook.UserPromptSubmit'
const START = 'hook.SessionStart'
const INIT = 'msg.system.init'

const QUIET_MESSAGES: readonly string[] = [
  ...['active_goal', 'conversation_reset', 'tool_progress', 'tool_use_summary', 'auth_status', 'rate_limit_event'],
  ...['prompt_suggestion', 'system.background_tasks_changed', 'system.commands_changed'],
  ...['system.control_request_progress', 'system.elicitation_complete', 'system.files_persisted'],
  ...['system.hook_progress', 'system.hook_response', 'system.hook_started', 'system.informational'],
  ...['system.local_command_output', 'system.memory_recall', 'system.mirror_error', 'system.notification'],
  ...['system.model_refusal_fallback', 'system.model_refusal_no_fallback', 'system.plugin_install'],
  ...['system.session_state_changed', 'system.session_writes_lost', 'system.status', 'system.task_progress'],
  ...['system.task_updated', 'system.thinking_tokens', 'system.worker_shutting_down'],
]

const WAITING_LIMIT = 1000
const WAITING_MILLIS = 300_000

type LoopHandler = (loop: SdkLoop, at: number, data: unknown, callId: string | undefined) => unknown

const OF_LOOP: Readonly<Record<string, LoopHandler>> = {
  'hook.PreToolUse': handlePreToolUse,
  'hook.PostToolUse': handleToolHook,
  'hook.PostToolUseFailure': handleToolHook,
  'hook.PostToolBatch': (loop, at, data) => {
    loop.askedAt = at
    handleToolBatch(loop, at, data)
  },
  'hook.PermissionRequest': (loop, at, data, callId = '') => {
    const call = loop.session.calls.get(callId)
    if (call !== undefined) handleApprovalRequest(call, at, data, 'PermissionRequest')
  },
  'hook.PermissionDenied': handlePermissionDenied,
  'hook.Stop': (loop, at, data) => {
    loop.stopped = { at, text: peek(data, 'last_assistant_message') }
    // Another hook may make the agent go on with a new request.
    loop.askedAt ??= at
  },
  'hook.StopFailure': (loop, _at, data) => {
    loop.failure = textOf(peek(data, 'error')) ?? 'unknown'
  },
  'msg.assistant': handleAssistantMessage,
  'msg.stream_event': handleStreamEvent,
  'msg.system.api_retry': handleRetry,
  'msg.system.permission_denied': handlePermissionDenied,
}

const HANDLED: readonly string[] = [PROMPT, START, INIT, ...Object.keys(OF_SESSION), ...Object.keys(OF_LOOP)]

/**
 * The hooks with a tracing callback, each of which is a round trip between two processes. Not among them: a `WorktreeCreate` hook
 * would have to create the worktree, and `MessageDisplay` fires for every piece of text.
 */
export const TRACED_HOOKS: readonly string[] = HANDLED.filter(event => event.startsWith(HOOK)).map(event =>
  event.slice(HOOK.length),
)

function handleToolHook(loop: SdkLoop, at: number, data: unknown): void {
  handleToolEnd(loop, at, data)
  const call = loop.session.calls.get(idOf(peek(data, 'tool_use_id')) ?? '')
  if (call !== undefined) noteDelegationResult(call, at, peek(data, 'tool_response'))
}

/**
 * Translates the events of the Claude Agent SDK. Its hooks are those of Claude Code and fire at once. Messages, which have the
 * requests, arrive later, when the application reads them. `canUseTool` is the third source. Hooks of the next turn are buffered
 * until the result of the current turn has been read.
 *
 * The subset of `@anthropic-ai/claude-agent-sdk` that this adapter uses, read from 0.3.330 (`sdk.d.ts`, and the events of real
 * runs). Structural: the package is not imported, and every value may be missing.
 *
 * Raw events in captures (`HostEvent`):
 *
 * - `hook.<HookEvent>`: `data` is the input of the hook callback, `tool_use_id` its second argument.
 * - `msg.<type>` or `msg.<type>.<subtype>`: `data` is a message of the query, as the application reads it.
 * - `canUseTool`: `data` is `{n: tool name, i: its input}` and the details of the call (`toolUseID`, `title`, …).
 * - `canUseTool.end`: `data` is `{toolUseID, r: the answer}`; without `r` if the callback threw.
 * - `iterator.end`, `iterator.error` (`data` is `{name, aborted}`), `iterator.return` (the application left): no more messages.
 *
 * `context` is `{query}`, an id generated by this package. Events without a session id are matched by it.
 */
export class ClaudeAgentSdkMachine extends EventMachine {
  readonly #sessions = new SessionStates(id => new SdkSession(this.records, id))
  readonly #ended = new LimitedMap<string, true>(1000)
  readonly #handler: EventHandler = moment => this.#handle(moment)
  protected readonly events: EventHandlers = eventHandlers(
    {
      ...handlersByName(HANDLED, () => this.#handler),
      canUseTool: moment => this.#approval(moment, handleApprovalRequest),
      'canUseTool.end': moment => this.#approval(moment, handleApprovalResponse),
      'iterator.end': moment => this.#endQuery(moment, 'ended'),
      'iterator.error': moment => this.#endQuery(moment, 'error'),
      'iterator.return': moment => this.#endQuery(moment, 'closed'),
    },
    [...HOOK_NAMES.map(name => HOOK + name), ...QUIET_MESSAGES.map(name => `msg.${name}`)],
  )

  protected override handlerOf(event: string): EventHandler | undefined {
    return isResult(event) ? this.#handler : super.handlerOf(event)
  }

  protected endSessions(at: number): void {
    for (const session of this.#sessions.values()) this.#endSession(session, Math.max(at, this.now), 'ended')
  }

  #handle(moment: TimedEvent): void {
    const { event, at, data, tool_use_id } = moment
    const session = this.#sessionOf(moment)
    const messageId = idOf(peek(data, 'uuid'))
    if (session === undefined || (messageId !== undefined && !session.isNew(messageId))) return
    if (event === INIT || event === START) session.model = textOf(peek(data, 'model')) ?? session.model
    if (event === PROMPT) this.#prompt(session, moment)
    if (event === PROMPT || event === START) return
    openPendingTurn(session)
    if (isOfNextTurn(session, data)) this.#buffer(session, moment)
    else if (isResult(event)) {
      handleResult(session, at, data)
      this.#handleBuffered(session)
    } else if (OF_SESSION[event] !== undefined) OF_SESSION[event](session, at, data)
    else {
      const loop = OF_LOOP[event] && loopOf(session, moment)
      if (loop === undefined) return
      loop.lastAt = at
      OF_LOOP[event]?.(loop, at, data, tool_use_id)
    }
  }

  /** Returns the session of an event. One that has ended goes on only with an event that can start it, for example after a resume. */
  #sessionOf(moment: TimedEvent): SdkSession | undefined {
    const { event, data, context } = moment
    const id = idOf(peek(data, 'session_id'))
    const starts = event === PROMPT || event === START || (event === INIT && context !== undefined)
    if (id === undefined || (this.#ended.has(id) && !starts)) return undefined
    this.#ended.delete(id)
    const session = this.#sessions.get(id)
    session.query = queryOf(moment) ?? session.query
    session.noteWorkspace(data)
    return session
  }

  /** Returns the session of a query, or several if the conversation was cleared; of an unnamed query, all sessions. */
  #ofQuery(query: string | undefined): SdkSession[] {
    return this.#sessions.values().filter(session => query === undefined || session.query === query)
  }

  #prompt(session: SdkSession, moment: TimedEvent): void {
    const id = idOf(peek(moment.data, 'prompt_id'))
    if (session.prompt !== undefined && idOf(peek(session.prompt.data, 'prompt_id')) === id) return
    openPendingTurn(session)
    const { main } = session
    // A prompt with the id of a running or ended turn is a message that joined that turn.
    if (main === undefined) session.prompt = moment
    else if (id === undefined ? main.stopped !== undefined : !main.promptIds.has(id)) this.#buffer(session, moment)
  }

  #buffer(session: SdkSession, moment: TimedEvent): void {
    const { waiting } = session
    const { at: since } = waiting[0] ?? moment
    waiting.push(moment)
    if (waiting.length <= WAITING_LIMIT && moment.at - since <= WAITING_MILLIS) return
    endWithoutResult(session, moment.at, 'superseded')
    this.#handleBuffered(session)
  }

  #handleBuffered(session: SdkSession): void {
    const { waiting } = session
    session.waiting = []
    for (const moment of waiting) this.handlerOf(moment.event)?.(moment)
  }

  /** Handles `canUseTool`, which has no session id. It waits if the hook of its tool does. */
  #approval(moment: TimedEvent, handle: (call: ClaudeCall, at: number, data: unknown) => void): void {
    for (const session of this.#ofQuery(queryOf(moment))) {
      const call = session.calls.get(idOf(peek(moment.data, 'toolUseID')) ?? '')
      if (call !== undefined) handle(call, moment.at, moment.data)
      else if (session.waiting.length > 0) this.#buffer(session, moment)
    }
  }

  #endQuery(moment: TimedEvent, reason: string): void {
    const query = queryOf(moment)
    const isAborted = peek(moment.data, 'aborted') === true
    if (query === undefined) return
    for (const session of this.#ofQuery(query)) this.#endSession(session, moment.at, isAborted ? 'aborted' : reason)
  }

  #endSession(session: SdkSession, at: number, reason: string): void {
    openPendingTurn(session)
    while (session.main !== undefined || session.waiting.length > 0) {
      endWithoutResult(session, at, reason)
      this.#handleBuffered(session)
      openPendingTurn(session)
    }
    endChildren(session, at)
    this.#sessions.delete(session.id)
    this.#ended.set(session.id, true)
    // Skips sessions without records, for example one with only the answer to a command.
    if (!session.isAnnounced && session.children.size + session.compactions === 0) return
    this.records.addRecord('on_session_finalize', at, { session_id: session.id, reason })
  }
}

function isResult(event: unknown): boolean {
  return textOf(event)?.startsWith('msg.result') ?? false
}

function queryOf({ context }: TimedEvent): string | undefined {
  return idOf(peek(context, 'query'))
}

/** Returns true for a hook of the next turn. A turn whose prompt was not received gets its id from its first hook. */
function isOfNextTurn({ main }: SdkSession, data: unknown): boolean {
  const promptId = idOf(peek(data, 'prompt_id'))
  if (main === undefined || promptId === undefined || peek(data, 'agent_id') !== undefined) return false
  if (main.promptIds.delete(undefined)) main.promptIds.add(promptId)
  return !main.promptIds.has(promptId)
}

/** Returns the loop of an event, and begins it if its first event was not received. Returns undefined for a late event. */
function loopOf(session: SdkSession, { event, at, data }: TimedEvent): SdkLoop | undefined {
  const callId = idOf(peek(data, 'parent_tool_use_id'))
  const known = callId === undefined ? undefined : [...session.children.values()].find(one => one.callId === callId)
  const agentId = idOf(peek(data, 'agent_id')) ?? known?.agentId ?? callId
  if (agentId !== undefined) {
    if (callId !== undefined && !session.children.has(agentId)) session.callOfAgent.set(agentId, callId)
    const child = loopOfAgent(session, at, agentId, data) as SdkLoop
    return child.hasEnded ? undefined : child
  }
  // A synthetic message, for example the answer to a command, starts no turn.
  const begins = event === 'hook.PreToolUse' || (event.startsWith('msg.') && !isSynthetic(data))
  const loop = session.main ?? (begins ? turnFor(session, at, idOf(peek(data, 'prompt_id'))) : undefined)
  return loop?.hasEnded === true ? undefined : (loop as SdkLoop | undefined)
}
