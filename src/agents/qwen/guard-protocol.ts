import { idOf, peek } from '../../contract/foreign.ts'
import { claudeGuardProtocol } from '../claude-code/guard-protocol.ts'
import type { GuardProtocol } from '../guard-protocol.ts'

/**
 * Guards for Qwen Code, which has Claude Code's hook protocol, with the decisions that it accepts (read and run with 0.24.4). It
 * documents `updatedInput` and `additionalContext` for `PreToolUse` and ignores both.
 */
export const qwenGuards: GuardProtocol = claudeGuardProtocol(
  { beforeTurn: ['block', 'inject'], beforeTool: ['block', 'ask'], afterTool: ['inject'], afterTurn: ['retry'] },
  // Prefers `tool_call_id`: `tool_use_id` is generated for each hook.
  body => idOf(peek(body, 'tool_call_id')) ?? idOf(peek(body, 'tool_use_id')),
)
