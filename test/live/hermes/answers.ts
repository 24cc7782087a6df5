import type { ModelToolCall } from '../../support/model-server.mjs'
import { type Answer, isSideCall } from './scripted-model.ts'

export function shell(command: string): ModelToolCall {
  return { name: 'terminal', arguments: { command } }
}

export function read(path: string): ModelToolCall {
  return { name: 'read_file', arguments: { path } }
}

/** One goal, or several at once. */
export function delegate(...goals: readonly string[]): ModelToolCall {
  const tasks = goals.map(goal => ({ goal, context: 'none' }))
  return { name: 'delegate_task', arguments: tasks.length === 1 ? { ...tasks[0] } : { tasks } }
}

/** Asks for these calls, and says this once their results are there. */
export function asksFor(toolCalls: readonly ModelToolCall[], text: string): Answer {
  return ({ toolResults }) => (toolResults >= toolCalls.length ? { text } : { toolCalls })
}

/** The model is asked first, beside the turn, whether a command is harmless. */
export function reviewedBy(verdict: string, answer: Answer): Answer {
  return request => (isSideCall(request) ? { text: verdict } : answer(request))
}
