/**
 * The hook payloads and transcript findings of Claude Code, read from 2.1.330 (real runs).
 *
 * Raw events in captures (`HostEvent`):
 *
 * - The name of a hook (`PreToolUse`, …): `data` is the hook's payload, with the session in `session_id`. `context` is
 *   `{traceparent}` if the process was started inside a span.
 * - `transcript:…`: findings of `receiver-adapter.ts` in the session's files. They follow the hook that triggered the read.
 *
 * All findings have `session_id`, `agent_id` for a child agent, and `prompt_id`. Times are epoch milliseconds, from the
 * transcript; `at` or `ended_at` is also the time of the event.
 *
 * - `transcript:prompt` {at, prompt}: the beginning of a turn whose hook was not received, for example before the receiver
 *   started.
 * - `transcript:request` {started_at, start_is_guessed, model}: a request without an answer. Its tools may already run: answers
 *   are written when they are complete. `started_at` is absent if no time was recorded since the turn began.
 * - `transcript:response`, `transcript:result`: see below.
 * - `transcript:failure` {line_id, started_at, at, model, status, error, message, retry_in_ms, max_retries}: `retry_in_ms` is
 *   absent if the attempt is not retried.
 * - `transcript:interrupted` {line_id, at, started_at, model}: the user has stopped the turn, which no hook reports.
 * - `transcript:stopped` {at, last_assistant_message}: the end of the turn, in case its hook was not received.
 * - `transcript:agent` {agent_id, tool_use_id}: the tool call that a child agent belongs to.
 * - `transcript:read` {goes_on}: the end of the findings.
 */

import { idOf, numberOf, peek, textOf } from '../../contract/foreign.ts'
import type { TimedEvent } from '../base/event-machine.ts'
import { FileMachine, type SessionHandlers } from '../base/file-machine.ts'
import type { FindingOwner } from '../base/findings.ts'
import { anthropicUsage } from '../base/usage.ts'
import * as calls from './calls.ts'
import { handleFailure, handleRequest, handleResponse } from './requests.ts'
import { type ClaudeLoop, ClaudeSession, type Dialect } from './session.ts'
import * as turns from './turns.ts'

export interface TranscriptOwner extends FindingOwner {
  readonly prompt_id?: string | undefined
}

/**
 * `transcript:response`: one complete answer of the model, merged from all its lines. `usage` is Anthropic's object, repeated
 * on each line; `content` lacks the model's thinking. `start_is_guessed`: the start is the time of the preceding prompt or
 * result, because the transcript lacks the time of sending.
 */
export interface TranscriptResponse extends TranscriptOwner {
  readonly message_id: string
  readonly model?: unknown
  stop_reason?: unknown
  usage?: unknown
  readonly content: unknown[]
  readonly started_at?: number | undefined
  readonly start_is_guessed?: boolean | undefined
  ended_at: number
}

/**
 * `transcript:result`: the result of a tool call whose end no hook has reported. `started_at`: when the start hook was fired,
 * if it timed out. `denial`: `permission-rule`, `user-rejected`, `automode-…`, `interrupted`, `cancelled`; undefined if it was
 * not denied.
 */
export interface TranscriptToolResult extends TranscriptOwner {
  readonly tool_use_id: string
  readonly at: number
  readonly started_at?: number | undefined
  readonly is_error?: boolean | undefined
  readonly denial?: unknown
  readonly response: unknown
}

/** Hooks before which the files are read. `READS_IF_UNKNOWN`: the same for a tool whose start was not received. */
export const READS_FIRST: ReadonlySet<string> = new Set([
  ...['SessionStart', 'UserPromptSubmit', 'PreToolUse', 'PostToolBatch', 'SubagentStart', 'SubagentStop'],
  ...['Stop', 'StopFailure', 'SessionEnd'],
])

export const READS_IF_UNKNOWN: ReadonlySet<string> = new Set(['PostToolUse', 'PostToolUseFailure'])

const QUIET_HOOKS: readonly string[] = [
  ...['Setup', 'InstructionsLoaded', 'UserPromptExpansion', 'MessageDisplay', 'Notification', 'PreModelSwitch'],
  ...['TeammateIdle', 'TaskCreated', 'TaskCompleted', 'Elicitation', 'ElicitationResult', 'ConfigChange'],
  ...['CwdChanged', 'FileChanged', 'DirectoryAdded', 'WorktreeCreate', 'WorktreeRemove'],
]

type LoopHandler = (loop: ClaudeLoop, at: number, data: unknown) => unknown
type ClaudeHandlers = SessionHandlers<ClaudeSession>

/** Wraps a handler of model and tool hooks: it receives the loop of the turn, or of the child that the hook names. */
function ofLoop(handle: LoopHandler): ClaudeHandlers[string] {
  return (session, at, data) => {
    const agentId = idOf(peek(data, 'agent_id'))
    const known = session.calls.get(idOf(peek(data, 'tool_use_id')) ?? '')?.turn
    const loop =
      known ??
      (agentId === undefined
        ? turns.turnFor(session, at, promptOf(data))
        : turns.loopOfAgent(session, at, agentId, data))
    loop.lastAt = Math.max(loop.lastAt, at)
    handle(loop, at, data)
  }
}

function promptOf(data: unknown): string | undefined {
  return idOf(peek(data, 'prompt_id'))
}

const HOOKS: ClaudeHandlers = {
  SessionStart: turns.handleSessionStart,
  UserPromptSubmit: turns.handlePrompt,
  PreToolUse: ofLoop(calls.handlePreToolUse),
  PermissionRequest: ofLoop(calls.handlePermissionRequest),
  PermissionDenied: ofLoop(calls.handlePermissionDenied),
  PostToolUse: ofLoop(handleToolHook),
  PostToolUseFailure: ofLoop(handleToolHook),
  PostToolBatch: ofLoop(calls.handleToolBatch),
  SubagentStart: turns.handleSubagentStart,
  SubagentStop: turns.handleSubagentStop,
  Stop: turns.handleStop,
  StopFailure: turns.handleStopFailure,
  PreCompact: turns.beginCompaction,
  PostCompact: (session, at) => turns.finishCompaction(session, at),
  PostModelSwitch: (session, _at, data) => {
    session.model = textOf(peek(data, 'to_model')) ?? session.model
  },
  SessionEnd: turns.handleSessionEnd,
}

/** All hooks of Claude Code and of the Claude Agent SDK. */
export const HOOK_NAMES: readonly string[] = [...Object.keys(HOOKS), ...QUIET_HOOKS]

function handleToolHook(loop: ClaudeLoop, at: number, data: unknown): void {
  const call = calls.handleToolEnd(loop, at, data)
  const hasFailed = peek(data, 'hook_event_name') === 'PostToolUseFailure'
  if (call !== undefined) turns.endDelegatedChildren(call, at, peek(data, 'tool_response'), hasFailed)
}

function handleResultInTranscript(loop: ClaudeLoop, at: number, data: unknown): void {
  const call = calls.handleFoundResult(loop, at, data)
  if (call === undefined) return
  loop.lastAt = Math.max(loop.lastAt, at)
  if (peek(data, 'denial') === undefined)
    turns.endDelegatedChildren(call, at, peek(data, 'response'), peek(data, 'is_error') === true)
}

const TURN_HOOKS: ReadonlySet<string> = new Set([
  ...['PreToolUse', 'PostToolUse', 'PostToolUseFailure', 'PostToolBatch', 'Stop', 'StopFailure'],
])

function ofFinding(handle: LoopHandler): ClaudeHandlers[string] {
  return (session, at, data) => {
    const known = session.calls.get(idOf(peek(data, 'tool_use_id')) ?? '')?.turn
    const loop = known ?? loopOfFound(session, numberOf(peek(data, 'started_at')) ?? at, data)
    if (loop !== undefined) handle(loop, at, data)
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
    const { event = '', data: hook } = bufferedHook ?? {}
    const isFirst = TURN_HOOKS.has(event) && idOf(peek(hook, 'agent_id')) === agentId
    const begins = isFirst || session.callOfAgent.has(agentId)
    return begins ? turns.loopOfAgent(session, at, agentId, hook) : session.children.get(agentId)
  }
  const promptId = promptOf(data)
  return isHeldForTurn(session, promptId) ? turns.turnFor(session, at, promptId) : turns.turnOf(session, promptId)
}

/** Returns true if the buffered hook belongs to a turn. Commands such as `/compact` have a prompt, too, and are no turns. */
function isHeldForTurn({ bufferedHook }: ClaudeSession, promptId: string | undefined): boolean {
  return TURN_HOOKS.has(bufferedHook?.event ?? '') && promptOf(bufferedHook?.data) === promptId
}

const FINDINGS: ClaudeHandlers = {
  'transcript:agent': turns.linkAgent,
  'transcript:prompt': (session, at, data) => {
    if (isHeldForTurn(session, promptOf(data))) turns.handlePrompt(session, at, data)
  },
  // Matters if the hook was not received.
  'transcript:stopped': (session, at, data) => {
    if (at >= (turns.turnOf(session, promptOf(data))?.startAt ?? 0)) turns.handleStop(session, at, data)
  },
  'transcript:interrupted': turns.handleInterruption,
  'transcript:request': ofFinding(handleRequest),
  'transcript:response': ofFinding(handleResponse),
  'transcript:failure': ofFinding(handleFailure),
  'transcript:result': ofFinding(handleResultInTranscript),
}

const CLAUDE_CODE: Dialect = { platform: 'claude-code', provider: 'anthropic', usageOf: anthropicUsage }

export class ClaudeCodeMachine extends FileMachine<ClaudeSession> {
  constructor(dialect: Dialect = CLAUDE_CODE) {
    const tables = { hooks: HOOKS, findings: FINDINGS, quiet: QUIET_HOOKS }
    super((records, id) => new ClaudeSession(records, id, dialect), {
      ...tables,
      readsFirst: READS_FIRST,
      readEnd: 'transcript:read',
    })
  }

  /** Drops a repetition of the buffered hook, which must not wait for itself. */
  protected override receiveHook(session: ClaudeSession, moment: TimedEvent): void {
    const { bufferedHook: hook } = session
    const isSame = hook?.event === moment.event && hook.at === moment.at
    if (!isSame || JSON.stringify(hook.data) !== JSON.stringify(moment.data)) super.receiveHook(session, moment)
  }

  /** Also the end of a tool whose start was not received: its request has not been read yet. */
  protected override isReadFirst(session: ClaudeSession, moment: TimedEvent): boolean {
    const isUnknown = !session.calls.has(idOf(peek(moment.data, 'tool_use_id')) ?? '')
    return super.isReadFirst(session, moment) || (isUnknown && READS_IF_UNKNOWN.has(moment.event))
  }
}
