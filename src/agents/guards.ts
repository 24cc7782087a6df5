import { claudeCodeGuarding } from './claude-code/guarding.ts'
import { codexGuarding } from './codex/guarding.ts'
import { geminiGuarding } from './gemini/guarding.ts'
import type { Guarding } from './guarding.ts'
import { hermesGuarding } from './hermes/guarding.ts'
import { qwenGuarding } from './qwen/guarding.ts'

/** Guards of agents outside of this process, by agent name. Loaded only if the user has hooks. */
export const GUARDS: Readonly<Record<string, Guarding>> = {
  'claude-code': claudeCodeGuarding,
  codex: codexGuarding,
  gemini: geminiGuarding,
  hermes: hermesGuarding,
  qwen: qwenGuarding,
}
