import { claudeCodeGuarding } from './claude-code/guarding.ts'
import { codexGuarding } from './codex/guarding.ts'
import { geminiGuarding } from './gemini/guarding.ts'
import type { Guarding } from './guarding.ts'
import { hermesGuarding } from './hermes/guarding.ts'
import { qwenGuarding } from './qwen/guarding.ts'

/** How hooks act in agents outside of this process, by the agent's name. Loaded only where there are hooks. */
export const GUARDS: Readonly<Record<string, Guarding>> = {
  'claude-code': claudeCodeGuarding,
  codex: codexGuarding,
  gemini: geminiGuarding,
  hermes: hermesGuarding,
  qwen: qwenGuarding,
}
