import { idOf, peek, textOf } from '../../contract/foreign.ts'
import { plainCopy } from '../../guards/frozen-copy.ts'
import type { Capabilities, HookIds, Outcome, Phase } from '../../guards/index.ts'
import { type ToolCall, toolCallOf } from '../../guards/tool-call.ts'
import { resultInShape, resultText } from '../base/tool-response.ts'
import type { GuardProtocol, GuardRequest, HookReply } from '../guard-protocol.ts'

const NOTHING: HookReply = {}
const NO_REASON = 'A hook says so.'

function eventIn(body: unknown): string | undefined {
  return textOf(peek(body, 'hook_event_name'))
}

/** Converts a hook to a guard request. Its ids match those of the agent's machine. */
export function requestIn(
  body: unknown,
  callId: string | undefined = idOf(peek(body, 'tool_use_id')),
): GuardRequest | undefined {
  const ids = idsIn(body)
  switch (eventIn(body)) {
    case 'UserPromptSubmit':
      return { phase: 'beforeTurn', ids, event: { prompt: textIn(body, 'prompt') } }
    case 'PreToolUse': {
      const tool = toolIn(body, callId)
      return tool && { phase: 'beforeTool', ids: { ...ids, toolCallId: tool.id }, event: { tool } }
    }
    case 'PostToolUse': {
      const tool = toolIn(body, callId)
      const event = { result: resultText(peek(body, 'tool_response')), isError: false, attempt: 0 }
      return tool && { phase: 'afterTool', ids: { ...ids, toolCallId: tool.id }, event: { tool, ...event } }
    }
    case 'Stop':
    case 'SubagentStop': {
      const attempt = peek(body, 'stop_hook_active') === true ? 1 : 0
      return { phase: 'afterTurn', ids, event: { answer: textIn(body, 'last_assistant_message'), attempt } }
    }
    default:
      return undefined
  }
}

/** A child agent has its own session in the trace; the hook does not name its turns. */
export function idsIn(body: unknown): HookIds {
  const agentId = idOf(peek(body, 'agent_id'))
  if (agentId !== undefined) return { sessionId: agentId }
  return { sessionId: idOf(peek(body, 'session_id')), turnId: idOf(peek(body, 'prompt_id')) }
}

function toolIn(body: unknown, id: string | undefined): ToolCall | undefined {
  const name = textOf(peek(body, 'tool_name'))
  const input = peek(body, 'tool_input')
  if (name === undefined) return undefined
  const args = typeof input === 'object' && input !== null ? (input as Record<string, unknown>) : {}
  return toolCallOf({ name, arguments: args, id, cwd: textOf(peek(body, 'cwd')) })
}

function textIn(body: unknown, key: string): string {
  return textOf(peek(body, key)) ?? ''
}

function refusal(reason = NO_REASON): HookReply {
  return { body: { decision: 'block', reason } }
}

function denial(permissionDecisionReason = NO_REASON): HookReply {
  return specific('PreToolUse', { permissionDecision: 'deny', permissionDecisionReason })
}

function specific(hookEventName: string, output: Readonly<Record<string, unknown>>): HookReply {
  const entries = Object.entries(output).filter(([, value]) => value !== undefined)
  if (entries.length === 0) return NOTHING
  return { body: { hookSpecificOutput: { hookEventName, ...Object.fromEntries(entries) } } }
}

/** Builds the response to a hook. Injected text for any role is added beside the user's message. */
export function replyTo(body: unknown, outcome: Outcome<Phase>, capabilities: Capabilities): HookReply {
  const { decision, reason, injected } = outcome
  const event = eventIn(body)
  const isRewritten = (phase: 'beforeTool' | 'afterTool'): boolean =>
    outcome.isRewritten && capabilities[phase]?.includes('rewrite') === true
  const additionalContext = injected.length === 0 ? undefined : injected.map(({ text }) => text).join('\n\n')
  switch (event) {
    case 'UserPromptSubmit':
      return decision === 'block' ? refusal(reason) : specific(event, { additionalContext })
    case 'PreToolUse':
      if (decision === 'block') return denial(reason)
      return specific(event, {
        // Never "allow": without an explicit decision, the user's own permission rules apply to the rewritten input.
        ...(decision === 'ask' ? { permissionDecision: 'ask', permissionDecisionReason: reason } : {}),
        updatedInput: isRewritten('beforeTool') ? plainCopy(outcome.value) : undefined,
        additionalContext: capabilities.beforeTool?.includes('inject') === true ? additionalContext : undefined,
      })
    case 'PostToolUse': {
      const response = peek(body, 'tool_response')
      const updatedToolOutput = isRewritten('afterTool') ? resultInShape(response, outcome.value) : undefined
      return specific(event, { updatedToolOutput, additionalContext })
    }
    case 'Stop':
    case 'SubagentStop':
      return decision === 'retry' ? refusal(reason) : NOTHING
    default:
      return NOTHING
  }
}

/** Only hooks before a turn or tool can fail closed; later ones cannot undo what happened. */
export function failClosedReply(body: unknown, reason: string): HookReply {
  switch (eventIn(body)) {
    case 'UserPromptSubmit':
      return refusal(reason)
    case 'PreToolUse':
      return denial(reason)
    default:
      return NOTHING
  }
}

/** @param callIdOf reads the call id of a hook, which agents with this protocol name differently */
export function claudeGuardProtocol(
  capabilities: Capabilities,
  callIdOf?: (body: unknown) => string | undefined,
): GuardProtocol {
  return {
    capabilities,
    requestIn: body => (idsIn(body).sessionId === undefined ? undefined : requestIn(body, callIdOf?.(body))),
    reply: (body, outcome) => replyTo(body, outcome, capabilities),
    failClosedReply,
    isEndOfTurn: body => ['Stop', 'SubagentStop'].includes(eventIn(body) ?? ''),
  }
}

/**
 * Guards for Claude Code, with the decisions that it accepts from hooks (read and run with 2.1.330). It sends hooks as HTTP
 * requests or runs a command for each, and reads the same response from both.
 */
export const claudeCodeGuards: GuardProtocol = claudeGuardProtocol({
  beforeTurn: ['block', 'inject'],
  beforeTool: ['block', 'rewrite', 'inject', 'ask'],
  afterTool: ['rewrite', 'inject'],
  afterTurn: ['retry'],
})
