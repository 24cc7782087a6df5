import { idOf, peek } from '../../contract/foreign.ts'
import { plainCopy } from '../../guards/frozen-copy.ts'
import type { Capabilities, HookIds, Outcome, Phase } from '../../guards/index.ts'
import { hookOf, injectedText, reasonOf, resultInShape, resultText, textField, toolIn } from '../base/guard-values.ts'
import type { GuardProtocol, GuardRequest, HookReply } from '../guard-protocol.ts'

const NOTHING: HookReply = {}

export interface GuardDialect {
  readonly ids?: HookIds
  readonly callId?: string | undefined
  readonly result?: unknown
  readonly needsName?: boolean
}

/** Converts a hook to a guard request. Its ids match the machine's. If `needsName`, a tool without a name is not guarded. */
export function requestIn(body: unknown, dialect: GuardDialect = {}): GuardRequest | undefined {
  const { ids = idsIn(body), callId, result = resultText(peek(body, 'tool_response')), needsName = true } = dialect
  const event = hookOf(body)
  switch (event) {
    case 'UserPromptSubmit':
      return { phase: 'beforeTurn', ids, event: { prompt: textField(body, 'prompt') } }
    case 'PreToolUse':
    case 'PostToolUse': {
      const tool = toolIn(body, callId)
      if (needsName && tool.name === '') return undefined
      const idsOfTool = { ...ids, toolCallId: tool.id }
      if (event === 'PreToolUse') return { phase: 'beforeTool', ids: idsOfTool, event: { tool } }
      return { phase: 'afterTool', ids: idsOfTool, event: { tool, result, isError: false, attempt: 0 } }
    }
    case 'Stop':
    case 'SubagentStop': {
      const attempt = peek(body, 'stop_hook_active') === true ? 1 : 0
      return { phase: 'afterTurn', ids, event: { answer: textField(body, 'last_assistant_message'), attempt } }
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

function refusal(reason: string): HookReply {
  return { body: { decision: 'block', reason } }
}

function denial(permissionDecisionReason: string): HookReply {
  return specific('PreToolUse', { permissionDecision: 'deny', permissionDecisionReason })
}

function specific(hookEventName: string, output: Readonly<Record<string, unknown>>): HookReply {
  const entries = Object.entries(output).filter(([, value]) => value !== undefined)
  if (entries.length === 0) return NOTHING
  return { body: { hookSpecificOutput: { hookEventName, ...Object.fromEntries(entries) } } }
}

/** Builds the response to a hook. Injected text for any role is added beside the user's message. */
export function replyTo(body: unknown, outcome: Outcome<Phase>, capabilities: Capabilities): HookReply {
  const { decision } = outcome
  const event = hookOf(body)
  const isRewritten = (phase: 'beforeTool' | 'afterTool'): boolean =>
    outcome.isRewritten && capabilities[phase]?.includes('rewrite') === true
  const additionalContext = injectedText(outcome)
  switch (event) {
    case 'UserPromptSubmit':
      return decision === 'block' ? refusal(reasonOf(outcome)) : specific(event, { additionalContext })
    case 'PreToolUse':
      if (decision === 'block') return denial(reasonOf(outcome))
      return specific(event, {
        // Never "allow": without an explicit decision, the user's own permission rules apply to the rewritten input.
        ...(decision === 'ask' ? { permissionDecision: 'ask', permissionDecisionReason: outcome.reason } : {}),
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
      return decision === 'retry' ? refusal(reasonOf(outcome)) : NOTHING
    default:
      return NOTHING
  }
}

/** Only hooks before a turn or tool can fail closed; later ones cannot undo what happened. */
export function failClosedReply(body: unknown, reason: string): HookReply {
  const event = hookOf(body)
  if (event === 'UserPromptSubmit') return refusal(reason)
  return event === 'PreToolUse' ? denial(reason) : NOTHING
}

/** @param callIdOf reads the call id of a hook, which agents with this protocol name differently */
export function claudeGuardProtocol(
  capabilities: Capabilities,
  callIdOf?: (body: unknown) => string | undefined,
): GuardProtocol {
  return {
    capabilities,
    requestIn: body =>
      idsIn(body).sessionId === undefined ? undefined : requestIn(body, { callId: callIdOf?.(body) }),
    reply: (body, outcome) => replyTo(body, outcome, capabilities),
    failClosedReply,
    isEndOfTurn: body => ['Stop', 'SubagentStop'].includes(hookOf(body)),
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
