import { idOf, peek, textOf } from '../../contract/foreign.ts'
import {
  type EventHandler,
  type EventHandlers,
  EventMachine,
  eventHandlers,
  type TimedEvent,
} from '../base/event-machine.ts'
import { batchOver, toolDenied, toolEnded, toolStarted } from '../claude-code/calls.ts'
import { subagentStarted } from '../claude-code/children.ts'
import type { HostMachine } from '../host-event.ts'
import { askApproval, SdkApprovals, toolResults } from './calls.ts'
import { delegationReturned, endChild, loopOfAgent, subagentStopped, taskNotified, taskStarted } from './children.ts'
import { LiveSessions } from './live-sessions.ts'
import { assistantMessage, retried, SYNTHETIC, streamEvent, syntheticMessage } from './requests.ts'
import type { SdkLoop, SdkSession } from './session.ts'
import {
  emitCompaction,
  endCompaction,
  endWithoutResult,
  resultArrived,
  settlePrompt,
  startCompaction,
  startTurn,
} from './turns.ts'

/** Hooks of the SDK (0.3.330). */
const HOOKS: readonly string[] = [
  ...['PreToolUse', 'PostToolUse', 'PostToolUseFailure', 'PostToolBatch', 'Notification', 'UserPromptSubmit'],
  ...['UserPromptExpansion', 'SessionStart', 'SessionEnd', 'Stop', 'StopFailure', 'SubagentStart'],
  ...['SubagentStop', 'PreCompact', 'PostCompact', 'PreModelSwitch', 'PostModelSwitch', 'PermissionRequest'],
  ...['PermissionDenied', 'Setup', 'TeammateIdle', 'TaskCreated', 'TaskCompleted', 'Elicitation'],
  ...['ElicitationResult', 'ConfigChange', 'WorktreeCreate', 'WorktreeRemove', 'InstructionsLoaded'],
  ...['CwdChanged', 'FileChanged', 'DirectoryAdded', 'MessageDisplay'],
]

/** Messages of the SDK: `type` or `type.subtype`. For `result`, any subtype is accepted. */
const MESSAGES: readonly string[] = [
  ...['assistant', 'user', 'stream_event', 'active_goal', 'conversation_reset', 'tool_progress'],
  ...['tool_use_summary', 'auth_status', 'rate_limit_event', 'prompt_suggestion', 'system.api_retry'],
  ...['system.background_tasks_changed', 'system.commands_changed', 'system.compact_boundary'],
  ...['system.control_request_progress', 'system.elicitation_complete', 'system.files_persisted'],
  ...['system.hook_progress', 'system.hook_response', 'system.hook_started', 'system.informational'],
  ...['system.init', 'system.local_command_output', 'system.memory_recall', 'system.mirror_error'],
  ...['system.model_refusal_fallback', 'system.model_refusal_no_fallback', 'system.notification'],
  ...['system.permission_denied', 'system.plugin_install', 'system.session_state_changed'],
  ...['system.session_writes_lost', 'system.status', 'system.task_notification', 'system.task_progress'],
  ...['system.task_started', 'system.task_updated', 'system.thinking_tokens', 'system.worker_shutting_down'],
]

/** Limits on hooks of the next turn that are buffered until the result of this one arrives. */
const WAITING_LIMIT = 1000
const WAITING_MILLIS = 300_000
const SEEN_LIMIT = 200

const HOOK = 'hook.'
const MESSAGE = 'msg.'

type LoopReading = (loop: SdkLoop, at: number, data: unknown) => unknown

const LOOP_MESSAGES: ReadonlyMap<string, LoopReading> = new Map([
  ['assistant', (loop, at, data) => (isSynthetic(data) ? syntheticMessage : assistantMessage)(loop, at, data)],
  ['stream_event', streamEvent],
  ['system.api_retry', retried],
  ['system.permission_denied', toolDenied],
])

type SessionReading = (session: SdkSession, at: number, data: unknown) => void

const SESSION_MESSAGES: ReadonlyMap<string, SessionReading> = new Map<string, SessionReading>([
  ['user', toolResults],
  ['system.task_started', taskStarted],
  ['system.task_notification', taskNotified],
  ['system.compact_boundary', endCompaction],
])

function isSynthetic(data: unknown): boolean {
  return peek(peek(data, 'message'), 'model') === SYNTHETIC
}

/**
 * Translates the events of the Claude Agent SDK. Hooks fire at once. Messages arrive later, when the application reads them.
 * `canUseTool` is the third source. Hooks of the next turn are buffered until the result of the current turn has been read.
 */
class ClaudeAgentSdkMachine extends EventMachine {
  readonly #sessions = new LiveSessions(this.records)
  readonly #approvals = new SdkApprovals(this.#sessions)
  protected readonly events: EventHandlers = eventHandlers({
    ...named(HOOK, HOOKS, hook => moment => this.#hook(hook, moment)),
    ...named(MESSAGE, MESSAGES, kind => moment => this.#message(kind, moment)),
    canUseTool: moment => this.#approvals.handleEvent(moment),
    'canUseTool.end': moment => this.#approvals.handleEvent(moment),
    'iterator.end': moment => this.#endQuery(moment, 'ended'),
    'iterator.error': moment => this.#endQuery(moment, 'error'),
    'iterator.return': moment => this.#endQuery(moment, 'closed'),
  })

  protected override handlerOf(event: string): EventHandler | undefined {
    const isResult = typeof event === 'string' && event.startsWith('msg.result')
    return isResult ? moment => this.#message('result', moment) : super.handlerOf(event)
  }

  protected endSessions(at: number): void {
    for (const session of this.#sessions.all()) this.#endSession(session, Math.max(at, this.now), 'ended')
  }

  #hook(hook: string, moment: TimedEvent): void {
    const session = this.#sessions.findSession(moment, hook === 'UserPromptSubmit' || hook === 'SessionStart')
    if (session === undefined) return
    const { data } = moment
    if (hook === 'UserPromptSubmit') this.#prompt(session, moment)
    else if (hook === 'SessionStart') session.model = textOf(peek(data, 'model')) ?? session.model
    // Messages may still be pending: the session ends when the query does.
    else if (hook === 'SessionEnd') return
    else if (peek(data, 'agent_id') !== undefined) this.#childHook(hook, moment, session)
    else this.#mainHook(hook, moment, session)
  }

  #childHook(hook: string, moment: TimedEvent, session: SdkSession): void {
    const { at, data } = moment
    settlePrompt(session)
    const agentId = idOf(peek(data, 'agent_id'))
    if (hook === 'SubagentStart') subagentStarted(session, at, data)
    else if (hook === 'SubagentStop') subagentStopped(session, at, data)
    else if (agentId !== undefined) {
      const loop = loopOfAgent(session, at, agentId, data)
      if (loop !== undefined) this.#loopHook(hook, moment, loop)
    }
  }

  #prompt(session: SdkSession, moment: TimedEvent): void {
    const id = idOf(peek(moment.data, 'prompt_id'))
    if (session.prompt !== undefined) {
      if (session.prompt.id === id) return
      settlePrompt(session)
    }
    const { main } = session
    const isNext = main !== undefined && (id === undefined ? main.stopped !== undefined : main.promptId !== id)
    if (isNext) this.#bufferHook(session, moment)
    // A prompt with the id of a running or ended turn is a message that joined that turn.
    else if (main === undefined && (id === undefined || id !== session.endedPromptId)) {
      session.prompt = { at: moment.at, id, text: peek(moment.data, 'prompt') }
    }
  }

  #mainHook(hook: string, moment: TimedEvent, session: SdkSession): void {
    const promptId = idOf(peek(moment.data, 'prompt_id'))
    settlePrompt(session)
    const { main } = session
    if (main !== undefined) main.promptId ??= promptId
    if (main !== undefined && promptId !== undefined && main.promptId !== promptId) this.#bufferHook(session, moment)
    else if (hook === 'PreCompact') startCompaction(session, moment.at)
    else if (hook === 'PostCompact') endCompaction(session, moment.at)
    else {
      const loop = main ?? (hook === 'PreToolUse' ? turnFor(session, moment.at, promptId) : undefined)
      if (loop !== undefined) this.#loopHook(hook, moment, loop)
    }
  }

  #loopHook(hook: string, moment: TimedEvent, loop: SdkLoop): void {
    const { at, data } = moment
    loop.lastAt = at
    if (hook === 'PreToolUse') {
      const call = toolStarted(loop, at, data)
      if (call !== undefined) this.#approvals.emitBuffered(call, moment)
    } else if (hook === 'PostToolUse' || hook === 'PostToolUseFailure') {
      toolEnded(loop, at, data)
      delegationReturned(loop, at, data)
    } else if (hook === 'PostToolBatch') {
      loop.askedAt = at
      batchOver(loop, at, data)
    } else if (hook === 'PermissionRequest') {
      const call = loop.session.calls.get(moment.tool_use_id ?? '')
      if (call !== undefined) askApproval(call, at, 'PermissionRequest', data)
    } else if (hook === 'PermissionDenied') toolDenied(loop, at, data)
    else if (hook === 'StopFailure') loop.failure = textOf(peek(data, 'error')) ?? 'unknown'
    else if (hook === 'Stop') {
      loop.stopped = { at, text: peek(data, 'last_assistant_message') }
      // Another hook may make the agent go on with a new request.
      loop.askedAt ??= at
    }
  }

  #bufferHook(session: SdkSession, moment: TimedEvent): void {
    const [first] = session.waiting
    const isLong = session.waiting.length >= WAITING_LIMIT || moment.at - (first?.at ?? moment.at) > WAITING_MILLIS
    session.waiting.push(moment)
    if (!isLong) return
    endWithoutResult(session, moment.at, 'superseded')
    this.#handleBuffered(session)
  }

  /** Processes the hooks that were buffered until the end of the turn. */
  #handleBuffered(session: SdkSession): void {
    const { waiting } = session
    session.waiting = []
    for (const moment of waiting) this.#hook(moment.event.slice(HOOK.length), moment)
  }

  #message(kind: string, moment: TimedEvent): void {
    const session = this.#sessions.findSession(moment, kind === 'system.init' && moment.context !== undefined)
    if (session === undefined || isRepeated(session, moment)) return
    const { at, data } = moment
    if (kind === 'system.init') session.model = textOf(peek(data, 'model')) ?? session.model
    settlePrompt(session)
    const read = LOOP_MESSAGES.get(kind)
    if (read !== undefined) {
      const loop = loopOf(session, at, kind, data)
      if (loop === undefined) return
      loop.lastAt = at
      read(loop, at, data)
    } else if (kind === 'result') {
      resultArrived(session, at, data)
      this.#handleBuffered(session)
    } else SESSION_MESSAGES.get(kind)?.(session, at, data)
  }

  #endQuery({ at, data, context }: TimedEvent, reason: string): void {
    const query = idOf(peek(context, 'query'))
    if (query === undefined) return
    const isAborted = peek(data, 'aborted') === true
    for (const session of this.#sessions.closeQuery(query))
      this.#endSession(session, at, isAborted ? 'aborted' : reason)
  }

  #endSession(session: SdkSession, at: number, reason: string): void {
    settlePrompt(session)
    while (session.main !== undefined || session.waiting.length > 0) {
      endWithoutResult(session, at, reason)
      this.#handleBuffered(session)
      settlePrompt(session)
    }
    for (const child of session.children.values()) endChild(child, at)
    emitCompaction(session, at)
    this.#sessions.closeSession(session)
    // Skips sessions without records, for example one with only the answer to a command.
    if (!session.isAnnounced && session.children.size + session.compactions === 0) return
    this.records.addRecord('on_session_finalize', at, { session_id: session.id, reason })
  }
}

function named(
  prefix: string,
  names: readonly string[],
  read: (name: string) => EventHandler,
): Record<string, EventHandler> {
  return Object.fromEntries(names.map(name => [`${prefix}${name}`, read(name)]))
}

/** Returns the turn of an event whose prompt was not received, and starts it if necessary. Returns undefined for a late event. */
function turnFor(session: SdkSession, at: number, promptId: string | undefined): SdkLoop | undefined {
  settlePrompt(session)
  if (session.main !== undefined) return session.main
  if (promptId !== undefined && promptId === session.endedPromptId) return undefined
  return startTurn(session, at, promptId)
}

function loopOf(session: SdkSession, at: number, kind: string, data: unknown): SdkLoop | undefined {
  const callId = idOf(peek(data, 'parent_tool_use_id'))
  const agentId = idOf(peek(data, 'agent_id')) ?? childOf(session, callId) ?? callId
  if (agentId !== undefined) return loopOfAgent(session, at, agentId, data)
  // A synthetic message, for example the answer to a command, starts no turn.
  return session.main ?? (kind === 'assistant' && isSynthetic(data) ? undefined : turnFor(session, at, undefined))
}

function childOf(session: SdkSession, callId: string | undefined): string | undefined {
  if (callId === undefined) return undefined
  for (const child of session.children.values()) if (child.callId === callId) return child.agentId
  return undefined
}

function isRepeated({ seen }: SdkSession, { data }: TimedEvent): boolean {
  const id = idOf(peek(data, 'uuid'))
  if (id === undefined) return false
  if (seen.has(id)) return true
  if (seen.size >= SEEN_LIMIT) seen.clear()
  seen.add(id)
  return false
}

export function createClaudeAgentSdkMachine(): HostMachine {
  return new ClaudeAgentSdkMachine()
}
