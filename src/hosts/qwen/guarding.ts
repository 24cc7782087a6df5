import { idOf, peek } from '../../contract/foreign.ts'
import type { Able, Outcome, Phase } from '../../hooks/index.ts'
import { contextOf, eventIn, isStop, questionIn, refusal, specific } from '../claude-code/guarding.ts'
import type { Guarding, Reply } from '../guarding.ts'

/**
 * What Qwen Code lets a hook decide (read and run with 0.24.4). Of a tool that is about to run it documents `updatedInput` and
 * `additionalContext`, and does nothing with either.
 */
const ABLE: Able = {
  beforeTurn: ['block', 'inject'],
  beforeTool: ['block', 'ask'],
  afterTool: ['inject'],
  afterTurn: ['retry'],
}

const NOTHING: Reply = {}

function reply(body: unknown, outcome: Outcome<Phase>): Reply {
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

function denial(reason: string | undefined): Reply {
  return specific('PreToolUse', { permissionDecision: 'deny', permissionDecisionReason: reason ?? 'A hook says so.' })
}

function closed(body: unknown, reason: string): Reply {
  switch (eventIn(body)) {
    case 'UserPromptSubmit':
      return refusal(reason)
    case 'PreToolUse':
      return denial(reason)
    default:
      return NOTHING
  }
}

/** Qwen Code, which speaks to its hooks as Claude Code does. */
export const qwenGuarding: Guarding = {
  able: ABLE,
  // `tool_use_id` is made up for each hook.
  question: body =>
    questionIn(body, { callIdOf: hook => idOf(peek(hook, 'tool_call_id')) ?? idOf(peek(hook, 'tool_use_id')) }),
  reply,
  closed,
  isEndOfTurn: isStop,
}
