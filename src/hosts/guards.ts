import { claudeCodeGuarding } from './claude-code/guarding.ts'
import type { Guarding } from './guarding.ts'
import { qwenGuarding } from './qwen/guarding.ts'

/** How hooks act in agents outside of this process, by the agent's name. Loaded only where there are hooks. */
export const GUARDS: Readonly<Record<string, Guarding>> = {
  'claude-code': claudeCodeGuarding,
  qwen: qwenGuarding,
}
