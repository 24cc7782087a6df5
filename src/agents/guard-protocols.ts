import { claudeCodeGuards } from './claude-code/guard-protocol.ts'
import { codexGuardProtocol } from './codex/guard-protocol.ts'
import { geminiGuardProtocol } from './gemini/guard-protocol.ts'
import type { GuardProtocol } from './guard-protocol.ts'
import { hermesGuardProtocol } from './hermes/guard-protocol.ts'
import { qwenGuards } from './qwen/guard-protocol.ts'

/** Guards of agents outside of this process, by agent name. Loaded only if the user has hooks. */
export const GUARD_PROTOCOLS: Readonly<Record<string, GuardProtocol>> = {
  'claude-code': claudeCodeGuards,
  codex: codexGuardProtocol,
  gemini: geminiGuardProtocol,
  hermes: hermesGuardProtocol,
  qwen: qwenGuards,
}
