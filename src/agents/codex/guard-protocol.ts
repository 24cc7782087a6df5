import { idOf, peek, textOf } from '../../contract/foreign.ts'
import {
  type Capabilities,
  type HookIds,
  type Outcome,
  type Phase,
  type RawToolCall,
  toolCallOf,
} from '../../guards/index.ts'
import { argumentsOf, injectedText, reasonOf } from '../base/guard-text.ts'
import type { GuardProtocol, GuardRequest, HookReply } from '../guard-protocol.ts'

/** Codex cannot ask the user: `ask` becomes `block`. */
const CAPABILITIES: Capabilities = {
  beforeTurn: ['block', 'inject'],
  beforeTool: ['block', 'rewrite', 'inject'],
  afterTool: ['block', 'rewrite', 'inject'],
  afterTurn: ['retry'],
}

/** Tools for which hooks receive one string, and can return only that. */
const COMMANDS: ReadonlySet<unknown> = new Set(['Bash', 'apply_patch'])
const ENDS: ReadonlySet<unknown> = new Set(['Stop', 'SubagentStop', 'Interrupt'])
/** The exit code that makes Codex block and use the standard error as the reason. */
const BLOCK_EXIT_CODE = 2
/** Replaces a blank reason, which Codex ignores: the original result would stay. */
const EMPTY_REASON = '(empty)'

const REQUESTS: Readonly<Record<string, (ids: HookIds, body: unknown) => GuardRequest>> = {
  UserPromptSubmit: (ids, body) => {
    return { phase: 'beforeTurn', ids, event: { prompt: textOf(peek(body, 'prompt')) ?? '' } }
  },
  PreToolUse: (ids, body) => ({ phase: 'beforeTool', ids, event: { tool: toolCallOf(rawTool(body)) } }),
  PostToolUse: (ids, body) => {
    const tool = toolCallOf(rawTool(body))
    // The hook has no status.
    return { phase: 'afterTool', ids, event: { tool, result: peek(body, 'tool_response'), isError: false, attempt: 0 } }
  },
  Stop: stopRequest,
  SubagentStop: stopRequest,
}

function stopRequest(ids: HookIds, body: unknown): GuardRequest {
  const answer = textOf(peek(body, 'last_assistant_message')) ?? ''
  return { phase: 'afterTurn', ids, event: { answer, attempt: peek(body, 'stop_hook_active') === true ? 1 : 0 } }
}

function rawTool(body: unknown): RawToolCall {
  return {
    name: textOf(peek(body, 'tool_name')) ?? '',
    arguments: argumentsOf(peek(body, 'tool_input')),
    id: idOf(peek(body, 'tool_use_id')),
    cwd: textOf(peek(body, 'cwd')),
  }
}

function eventOf(body: unknown): string {
  return textOf(peek(body, 'hook_event_name')) ?? ''
}

/** A child agent has its own turns in the trace, with its id as the session id. */
function idsOf(body: unknown): HookIds {
  return {
    sessionId: idOf(peek(body, 'agent_id')) ?? idOf(peek(body, 'session_id')),
    turnId: idOf(peek(body, 'turn_id')),
    toolCallId: idOf(peek(body, 'tool_use_id')),
  }
}

/** An unknown key makes Codex drop the whole response, even a block, and run the tool. */
const REPLIES: Readonly<Record<string, (outcome: Outcome<Phase>, body: unknown) => object | undefined>> = {
  UserPromptSubmit: outcome => feedback(outcome) ?? addedContext('UserPromptSubmit', outcome),
  PreToolUse: beforeTool,
  PostToolUse: afterTool,
  Stop: feedback,
  SubagentStop: feedback,
}

/** At the end of a turn, the agent goes on with this reason as its input. */
function feedback(outcome: Outcome<Phase>): object | undefined {
  return outcome.decision === 'pass' ? undefined : { decision: 'block', reason: reasonOf(outcome) }
}

/** The reason replaces the result verbatim, so a rewritten text is sent as a reason. */
function afterTool(outcome: Outcome<Phase>): object | undefined {
  const reply = feedback(outcome) ?? (outcome.isRewritten ? { decision: 'block', reason: textFor(outcome.value) } : {})
  const body = { ...reply, ...(outcome.decision === 'pass' && addedContext('PostToolUse', outcome)) }
  return Object.keys(body).length === 0 ? undefined : body
}

function textFor(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '')
  return textOf(text) ?? EMPTY_REASON
}

function addedContext(hookEventName: string, outcome: Outcome<Phase>): object | undefined {
  const additionalContext = injectedText(outcome)
  return additionalContext === undefined ? undefined : { hookSpecificOutput: { hookEventName, additionalContext } }
}

function beforeTool(outcome: Outcome<Phase>, body: unknown): object | undefined {
  const hookEventName = 'PreToolUse'
  if (outcome.decision !== 'pass') {
    const denied = { permissionDecision: 'deny', permissionDecisionReason: reasonOf(outcome) }
    return { hookSpecificOutput: { hookEventName, ...denied } }
  }
  if (!outcome.isRewritten) return addedContext(hookEventName, outcome)
  const additionalContext = injectedText(outcome)
  const rewritten = { permissionDecision: 'allow', updatedInput: inputOf(peek(body, 'tool_name'), outcome.value) }
  return { hookSpecificOutput: { hookEventName, ...rewritten, ...(additionalContext && { additionalContext }) } }
}

function inputOf(name: unknown, value: unknown): unknown {
  return COMMANDS.has(name) ? { command: peek(value, 'command') } : value
}

export const codexGuardProtocol: GuardProtocol = {
  capabilities: CAPABILITIES,
  requestIn: body => {
    const event = eventOf(body)
    return Object.hasOwn(REQUESTS, event) ? REQUESTS[event]?.(idsOf(body), body) : undefined
  },
  reply: (body, outcome) => {
    const event = eventOf(body)
    return Object.hasOwn(REPLIES, event) ? { body: REPLIES[event]?.(outcome, body) } : {}
  },
  // The end of a turn cannot fail closed: blocking it makes the agent go on.
  failClosedReply: (body, reason): HookReply => {
    const phase = codexGuardProtocol.requestIn(body)?.phase
    return phase === undefined || phase === 'afterTurn' ? {} : { exitCode: BLOCK_EXIT_CODE, error: reason }
  },
  isEndOfTurn: body => ENDS.has(eventOf(body)),
}
