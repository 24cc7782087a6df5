import { idOf, numberOf, peek, textOf } from '../../contract/foreign.ts'
import type { HookRecord } from '../../contract/index.ts'
import { type HostEvent, type HostMachine, hookRecord } from '../host-event.ts'
import { Approvals } from './approvals.ts'
import { askApproval, toolDenied, toolEnded, toolResults, toolStarted, toolsOver } from './calls.ts'
import {
  delegationReturned,
  endChild,
  loopOfAgent,
  subagentStarted,
  subagentStopped,
  taskNotified,
  taskStarted,
} from './children.ts'
import { LiveSessions } from './live-sessions.ts'
import { HOOKS, MESSAGES } from './names.ts'
import { assistantMessage, retried, SYNTHETIC, syntheticMessage } from './requests.ts'
import type { Loop, Out, Session } from './session.ts'
import { streamEvent } from './stream.ts'
import {
  endCompaction,
  endWithoutResult,
  openTurn,
  resultArrived,
  settlePrompt,
  startCompaction,
  tellCompaction,
} from './turns.ts'

/** Hooks of the next turn that wait for the result of this one: no more than so many, and no longer. */
const WAITING_LIMIT = 1000
const WAITING_MILLIS = 300_000
/** Messages by which a repeated one is known. */
const SEEN_LIMIT = 200

/** How a query came to its end, in words for a turn that it cut off. */
const ENDS: ReadonlyMap<string, string> = new Map([
  ['error', 'error'],
  ['return', 'closed'],
])

const LOOP_MESSAGES: ReadonlySet<string> = new Set([
  'assistant',
  'stream_event',
  'system.api_retry',
  'system.permission_denied',
])

function isSynthetic(data: unknown): boolean {
  return peek(peek(data, 'message'), 'model') === SYNTHETIC
}

/**
 * What the events of the Claude Agent SDK mean. Three sources come together: hooks, which fire at once; messages, which
 * are seen when the application reads them, so later; `canUseTool`. Hooks that belong to the turn behind the one whose
 * result is not read yet wait for it.
 */
class ClaudeAgentSdkMachine implements HostMachine {
  readonly #sessions = new LiveSessions()
  readonly #approvals = new Approvals(this.#sessions)
  #lastAt = 0
  #out: Out = []

  accept(event: HostEvent): HookRecord[] | undefined {
    this.#out = []
    const { event: name } = event
    this.#lastAt = numberOf(event.at) ?? this.#lastAt
    if (name.startsWith('hook.')) {
      const hook = name.slice('hook.'.length)
      if (!HOOKS.has(hook)) return undefined
      this.#hook(hook, event)
    } else if (name.startsWith('msg.')) {
      const kind = name.slice('msg.'.length)
      if (!MESSAGES.has(kind) && !kind.startsWith('result')) return undefined
      this.#message(kind, event)
    } else if (name === 'canUseTool' || name === 'canUseTool.end') this.#approvals.take(this.#out, event, this.#lastAt)
    else if (name.startsWith('iterator.')) this.#iterator(name.slice('iterator.'.length), event)
    else return undefined
    return this.#out
  }

  end(at: number): HookRecord[] {
    this.#out = []
    for (const session of this.#sessions.all()) this.#endSession(session, Math.max(at, this.#lastAt), 'ended')
    return this.#out
  }

  #hook(hook: string, event: HostEvent): void {
    const session = this.#sessions.of(event, hook === 'UserPromptSubmit' || hook === 'SessionStart')
    if (session === undefined) return
    const { data } = event
    if (hook === 'UserPromptSubmit') this.#prompt(session, event)
    else if (hook === 'SessionStart') session.model = textOf(peek(data, 'model')) ?? session.model
    // The messages may still be on their way: the session ends with them.
    else if (hook === 'SessionEnd') return
    else if (peek(data, 'agent_id') !== undefined) this.#childHook(hook, event, session)
    else this.#mainHook(hook, event, session)
  }

  #childHook(hook: string, event: HostEvent, session: Session): void {
    const { data } = event
    const at = this.#lastAt
    const out = this.#settled(session)
    const agentId = idOf(peek(data, 'agent_id'))
    if (hook === 'SubagentStart') subagentStarted(out, session, at, data)
    else if (hook === 'SubagentStop') subagentStopped(session, at, data)
    else if (agentId !== undefined) {
      const loop = loopOfAgent(out, session, at, { agentId, role: textOf(peek(data, 'agent_type')) })
      if (loop !== undefined) this.#loopHook(hook, event, session, loop)
    }
  }

  #prompt(session: Session, event: HostEvent): void {
    const id = idOf(peek(event.data, 'prompt_id'))
    if (session.prompt !== undefined) {
      if (session.prompt.id === id) return
      settlePrompt(this.#out, session)
    }
    const { main } = session
    const isNext = main !== undefined && (id === undefined ? main.stopped !== undefined : main.promptId !== id)
    if (isNext) this.#wait(session, event)
    // With the id of a turn that runs it is a message that was taken up on the way.
    else if (main === undefined && (id === undefined || id !== session.endedPromptId)) {
      session.prompt = { at: this.#lastAt, id, text: peek(event.data, 'prompt') }
    }
  }

  #mainHook(hook: string, event: HostEvent, session: Session): void {
    const promptId = idOf(peek(event.data, 'prompt_id'))
    const out = this.#settled(session)
    const { main } = session
    if (main !== undefined) main.promptId ??= promptId
    if (main !== undefined && promptId !== undefined && main.promptId !== promptId) this.#wait(session, event)
    else if (hook === 'PreCompact') startCompaction(out, session, this.#lastAt)
    else if (hook === 'PostCompact') endCompaction(session, this.#lastAt)
    else {
      const loop = main ?? (hook === 'PreToolUse' ? this.#lazily(session, promptId) : undefined)
      if (loop !== undefined) this.#loopHook(hook, event, session, loop)
    }
  }

  /** The turn of something whose prompt was not seen; none for what comes late. */
  #lazily(session: Session, promptId: string | undefined): Loop | undefined {
    settlePrompt(this.#out, session)
    if (session.main !== undefined) return session.main
    if (promptId !== undefined && promptId === session.endedPromptId) return undefined
    return openTurn(this.#out, session, this.#lastAt, promptId, undefined)
  }

  #loopHook(hook: string, event: HostEvent, session: Session, loop: Loop): void {
    const { data } = event
    const at = this.#lastAt
    const out = this.#out
    loop.lastAt = at
    if (hook === 'PreToolUse') {
      toolStarted(out, session, loop, at, data)
      this.#approvals.started(out, session.calls.get(idOf(peek(data, 'tool_use_id')) ?? ''), event, at)
    } else if (hook === 'PostToolUse' || hook === 'PostToolUseFailure') {
      const call = toolEnded(out, session, loop, at, data)
      if (call !== undefined) delegationReturned(out, session, call, at, data)
    } else if (hook === 'PostToolBatch') toolsOver(out, session, loop, at, data)
    else if (hook === 'PermissionRequest') this.#permissionRequested(session, event)
    else if (hook === 'PermissionDenied') toolDenied(out, session, loop, at, data)
    else if (hook === 'StopFailure') loop.failure = textOf(peek(data, 'error')) ?? 'unknown'
    else if (hook === 'Stop') {
      loop.stopped = { at, text: peek(data, 'last_assistant_message') }
      // Another hook may have it go on, with another request.
      loop.askedAt ??= at
    }
  }

  #wait(session: Session, event: HostEvent): void {
    const [first] = session.waiting
    const isLong =
      session.waiting.length >= WAITING_LIMIT || this.#lastAt - (first?.at ?? this.#lastAt) > WAITING_MILLIS
    session.waiting.push({ ...event, at: this.#lastAt })
    if (!isLong) return
    endWithoutResult(this.#out, session, this.#lastAt, 'superseded')
    this.#goOn(session)
  }

  /** The turn is over: what has waited for that. */
  #goOn(session: Session): void {
    const { waiting } = session
    session.waiting = []
    const now = this.#lastAt
    for (const event of waiting) {
      this.#lastAt = event.at ?? now
      this.#hook(event.event.slice('hook.'.length), event)
    }
    this.#lastAt = now
  }

  #message(kind: string, event: HostEvent): void {
    const session = this.#sessions.of(event, kind === 'system.init' && event.context !== undefined)
    if (session === undefined || isRepeated(session, event)) return
    const { data } = event
    const at = this.#lastAt
    if (kind === 'system.init') session.model = textOf(peek(data, 'model')) ?? session.model
    const out = this.#settled(session)
    if (LOOP_MESSAGES.has(kind)) this.#loopMessage(kind, session, data)
    else if (kind === 'user') toolResults(out, session, at, data)
    else if (kind === 'system.task_started') taskStarted(out, session, at, data)
    else if (kind === 'system.task_notification') taskNotified(out, session, at, data)
    else if (kind === 'system.compact_boundary') endCompaction(session, at)
    else if (kind.startsWith('result')) {
      resultArrived(out, session, at, data)
      this.#goOn(session)
    }
  }

  #loopMessage(kind: string, session: Session, data: unknown): void {
    const at = this.#lastAt
    const loop = this.#loopOf(kind, session, data)
    if (loop === undefined) return
    loop.lastAt = at
    if (kind === 'assistant' && isSynthetic(data)) syntheticMessage(this.#out, loop, at, data)
    else if (kind === 'assistant') assistantMessage(this.#out, session, loop, at, data)
    else if (kind === 'stream_event') streamEvent(this.#out, session, loop, at, data)
    else if (kind === 'system.api_retry') retried(this.#out, loop, at, data)
    else toolDenied(this.#out, session, loop, at, data)
  }

  #loopOf(kind: string, session: Session, data: unknown): Loop | undefined {
    const callId = idOf(peek(data, 'parent_tool_use_id'))
    const agentId = idOf(peek(data, 'agent_id')) ?? this.#childOf(session, callId) ?? callId
    if (agentId !== undefined) {
      const role = textOf(peek(data, 'subagent_type'))
      return loopOfAgent(this.#out, session, this.#lastAt, { agentId, callId, role })
    }
    // What the SDK writes itself, such as the answer to a command, is no turn.
    return session.main ?? (kind === 'assistant' && isSynthetic(data) ? undefined : this.#lazily(session, undefined))
  }

  #childOf(session: Session, callId: string | undefined): string | undefined {
    if (callId === undefined) return undefined
    for (const child of session.children.values()) if (child.callId === callId) return child.agentId
    return undefined
  }

  #permissionRequested(session: Session, event: HostEvent): void {
    const call = session.calls.get(event.tool_use_id ?? '')
    if (call !== undefined) askApproval(this.#out, call, this.#lastAt, 'PermissionRequest', event.data)
  }

  #settled(session: Session): Out {
    settlePrompt(this.#out, session)
    return this.#out
  }

  #iterator(how: string, event: HostEvent): void {
    const query = idOf(peek(event.context, 'query'))
    if (query === undefined) return
    const reason = ENDS.get(how) ?? 'ended'
    const isAborted = peek(event.data, 'aborted') === true
    for (const session of this.#sessions.takeQuery(query))
      this.#endSession(session, this.#lastAt, isAborted ? 'aborted' : reason)
  }

  #endSession(session: Session, at: number, reason: string): void {
    settlePrompt(this.#out, session)
    while (session.main !== undefined || session.waiting.length > 0) {
      endWithoutResult(this.#out, session, at, reason)
      this.#goOn(session)
      settlePrompt(this.#out, session)
    }
    for (const child of session.children.values()) endChild(this.#out, session, child, at)
    tellCompaction(this.#out, session, at)
    this.#sessions.close(session)
    if (isKnown(session)) this.#out.push(hookRecord('on_session_finalize', at, { session_id: session.id, reason }))
  }
}

function isRepeated({ seen }: Session, { data }: HostEvent): boolean {
  const id = idOf(peek(data, 'uuid'))
  if (id === undefined) return false
  if (seen.has(id)) return true
  if (seen.size >= SEEN_LIMIT) seen.clear()
  seen.add(id)
  return false
}

/** Whether anything was told of it: the answer to a command, say, is nothing. */
function isKnown({ isAnnounced, children, compactions }: Session): boolean {
  return isAnnounced || children.size > 0 || compactions > 0
}

export function createClaudeAgentSdkMachine(): HostMachine {
  return new ClaudeAgentSdkMachine()
}
