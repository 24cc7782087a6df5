import { idOf, peek, textOf } from '../../contract/foreign.ts'
import type { Capabilities, HookIds, Outcome, Phase } from '../../guards/index.ts'
import { type ToolCall, toolCallOf } from '../../guards/tool-call.ts'
import { resultInShape, resultText } from '../base/tool-response.ts'
import type { GuardProtocol, GuardRequest, HookReply } from '../guard-protocol.ts'

/** Decisions that Claude Code accepts from hooks (read and run with 2.1.330). */
const ABLE: Capabilities = {
  beforeTurn: ['block', 'inject'],
  beforeTool: ['block', 'rewrite', 'inject', 'ask'],
  afterTool: ['rewrite', 'inject'],
  afterTurn: ['retry'],
}

/** Reads a hook's body. Agents with Claude Code's protocol have different names for the call id. */
export interface Spoken {
  callIdOf(body: unknown): string | undefined
}

const NOTHING: HookReply = {}

export function eventIn(body: unknown): string | undefined {
  return textOf(peek(body, 'hook_event_name'))
}

/** Converts a hook to a guard request. Its ids match those of the agent's machine. */
export function questionIn(body: unknown, { callIdOf }: Spoken): GuardRequest | undefined {
  const ids = idsIn(body)
  if (ids === undefined) return undefined
  switch (eventIn(body)) {
    case 'UserPromptSubmit':
      return { phase: 'beforeTurn', ids, event: { prompt: textIn(body, 'prompt') } }
    case 'PreToolUse': {
      const tool = toolIn(body, callIdOf(body))
      return tool && { phase: 'beforeTool', ids: { ...ids, toolCallId: tool.id }, event: { tool } }
    }
    case 'PostToolUse': {
      const tool = toolIn(body, callIdOf(body))
      const result = resultText(peek(body, 'tool_response'))
      return (
        tool && {
          phase: 'afterTool',
          ids: { ...ids, toolCallId: tool.id },
          event: { tool, result, isError: false, attempt: 0 },
        }
      )
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
function idsIn(body: unknown): HookIds | undefined {
  const sessionId = idOf(peek(body, 'session_id'))
  if (sessionId === undefined) return undefined
  const agentId = idOf(peek(body, 'agent_id'))
  return agentId === undefined ? { sessionId, turnId: idOf(peek(body, 'prompt_id')) } : { sessionId: agentId }
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

/** Claude Code uses one format for a blocked prompt and for another pass of a turn. */
export function refusal(reason: string | undefined): HookReply {
  return { body: { decision: 'block', reason: reason ?? 'A hook says so.' } }
}

/** Builds hook-specific output from the defined keys. Without any, the response is empty. */
export function specific(hookEventName: string, said: Readonly<Record<string, unknown>>): HookReply {
  const entries = Object.entries(said).filter(([, value]) => value !== undefined)
  if (entries.length === 0) return NOTHING
  return { body: { hookSpecificOutput: { hookEventName, ...Object.fromEntries(entries) } } }
}

/** Injected text for any role is added beside the user's message. */
export function contextOf({ injected }: Outcome<Phase>): string | undefined {
  return injected.length === 0 ? undefined : injected.map(({ text }) => text).join('\n\n')
}

export function isStop(body: unknown): boolean {
  const event = eventIn(body)
  return event === 'Stop' || event === 'SubagentStop'
}

function reply(body: unknown, outcome: Outcome<Phase>): HookReply {
  const { decision, reason, value, isRewritten } = outcome
  const additionalContext = contextOf(outcome)
  switch (eventIn(body)) {
    case 'UserPromptSubmit':
      return decision === 'block' ? refusal(reason) : specific('UserPromptSubmit', { additionalContext })
    case 'PreToolUse': {
      if (decision === 'block')
        return specific('PreToolUse', { permissionDecision: 'deny', permissionDecisionReason: reason })
      // Without an explicit decision, the user's own permission rules apply to the rewritten input.
      const asked = decision === 'ask' ? { permissionDecision: 'ask', permissionDecisionReason: reason } : {}
      return specific('PreToolUse', { ...asked, updatedInput: isRewritten ? value : undefined, additionalContext })
    }
    case 'PostToolUse': {
      const updatedToolOutput = isRewritten ? resultInShape(peek(body, 'tool_response'), value) : undefined
      return specific('PostToolUse', { updatedToolOutput, additionalContext })
    }
    case 'Stop':
    case 'SubagentStop':
      return decision === 'retry' ? refusal(reason) : NOTHING
    default:
      return NOTHING
  }
}

/** Only hooks before a turn or tool can fail closed; later ones cannot undo what happened. */
function closed(body: unknown, reason: string): HookReply {
  switch (eventIn(body)) {
    case 'UserPromptSubmit':
      return refusal(reason)
    case 'PreToolUse':
      return specific('PreToolUse', { permissionDecision: 'deny', permissionDecisionReason: reason })
    default:
      return NOTHING
  }
}

/** Guards for Claude Code. It sends hooks as HTTP requests or runs a command for each, and reads the same response from both. */
export const claudeCodeGuarding: GuardProtocol = {
  capabilities: ABLE,
  requestIn: body => questionIn(body, { callIdOf: hook => idOf(peek(hook, 'tool_use_id')) }),
  reply,
  failClosedReply: closed,
  isEndOfTurn: isStop,
}
