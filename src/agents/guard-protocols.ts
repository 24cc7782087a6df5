import { claudeCodeGuards } from './claude-code/guard-protocol.ts'
import { codexGuarding } from './codex/guarding.ts'
import { geminiGuarding } from './gemini/guarding.ts'
import type { GuardProtocol } from './guard-protocol.ts'
import { hermesGuarding } from './hermes/guarding.ts'
import { qwenGuards } from './qwen/guard-protocol.ts'

/** Guards of agents outside of this process, by agent name. Loaded only if the user has hooks. */
export const GUARD_PROTOCOLS: Readonly<Record<string, GuardProtocol>> = {
  'claude-code': claudeCodeGuards,
  codex: codexGuarding,
  gemini: geminiGuarding,
  hermes: hermesGuarding,
  qwen: qwenGuards,
}
