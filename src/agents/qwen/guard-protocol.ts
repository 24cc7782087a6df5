import { idOf, peek } from '../../contract/foreign.ts'
import type { Capabilities, Outcome, Phase } from '../../guards/index.ts'
import { contextOf, eventIn, isStop, questionIn, refusal, specific } from '../claude-code/guard-protocol.ts'
import type { GuardProtocol, HookReply } from '../guard-protocol.ts'

/**
 * Decisions that Qwen Code accepts from hooks (read and run with 0.24.4). It documents `updatedInput` and `additionalContext` for
 * `PreToolUse` and ignores both.
 */
const ABLE: Capabilities = {
  beforeTurn: ['block', 'inject'],
  beforeTool: ['block', 'ask'],
  afterTool: ['inject'],
  afterTurn: ['retry'],
}

const NOTHING: HookReply = {}

function reply(body: unknown, outcome: Outcome<Phase>): HookReply {
  const { decision, reason } = outcome
  const additionalContext = contextOf(outcome)
  const event = eventIn(body)
  switch (event) {
    case 'UserPromptSubmit':
      return decision === 'block' ? refusal(reason) : specific(event, { additionalContext })
    case 'PreToolUse':
      if (decision === 'block') return denial(reason)
      return decision === 'ask'
        ? specific(event, { permissionDecision: 'ask', permissionDecisionReason: reason })
        : NOTHING
    case 'PostToolUse':
      return specific(event, { additionalContext })
    case 'Stop':
    case 'SubagentStop':
      return decision === 'retry' ? refusal(reason) : NOTHING
    default:
      return NOTHING
  }
}

function denial(reason: string | undefined): HookReply {
  return specific('PreToolUse', { permissionDecision: 'deny', permissionDecisionReason: reason ?? 'A hook says so.' })
}

function closed(body: unknown, reason: string): HookReply {
  switch (eventIn(body)) {
    case 'UserPromptSubmit':
      return refusal(reason)
    case 'PreToolUse':
      return denial(reason)
    default:
      return NOTHING
  }
}

/** Guards for Qwen Code, which has Claude Code's hook protocol. */
export const qwenGuarding: GuardProtocol = {
  capabilities: ABLE,
  // Prefers `tool_call_id`: `tool_use_id` is generated for each hook.
  requestIn: body =>
    questionIn(body, { callIdOf: hook => idOf(peek(hook, 'tool_call_id')) ?? idOf(peek(hook, 'tool_use_id')) }),
  reply,
  failClosedReply: closed,
  isEndOfTurn: isStop,
}
