import { idOf, isArray, peek, textOf } from '../../contract/foreign.ts'
import { changedFields } from '../../guards/chain.ts'
import {
  type Injection,
  type Outcome,
  type Phase,
  type ToolArguments,
  type ToolCall,
  toolCallOf,
} from '../../guards/index.ts'

/** Agents ignore a block without a reason, and go on. */
const NO_REASON = 'A hook has decided so.'

/** The reason of a block or a retry, as the model receives it: never blank. */
export function reasonOf({ reason }: Pick<Outcome<Phase>, 'reason'>): string {
  return textOf(reason) ?? NO_REASON
}

/** All injected text, joined. These agents have no separate place for system prompt text. */
export function injectedText({ injected }: Outcome<Phase>): string | undefined {
  return textOf(injected.map(({ text }) => text).join('\n\n'))
}

export function injectedTexts(role: Injection['role'], injected: readonly Injection[]): string[] {
  return injected.flatMap(each => (each.role === role ? [each.text] : []))
}

export function addedContext(hookEventName: string, outcome: Outcome<Phase>): object | undefined {
  const additionalContext = injectedText(outcome)
  return additionalContext === undefined ? undefined : { hookSpecificOutput: { hookEventName, additionalContext } }
}

/** A rewritten result, for an agent that accepts only text. */
export function textFor(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '')
}

function isArguments(value: unknown): value is ToolArguments {
  return typeof value === 'object' && value !== null && !isArray(value)
}

export function argumentsOf(value: unknown): ToolArguments {
  return isArguments(value) ? value : {}
}

/** Guards read fields, so other input becomes one: `5` -> `{ input: 5 }`. */
export function namedArguments(input: unknown): ToolArguments {
  return isArguments(input) ? input : { input }
}

export function isSameCall(one: ToolArguments, other: ToolArguments): boolean {
  return changedFields('beforeTool', one, other).length === 0
}

export function hookOf(body: unknown): string {
  return textField(body, 'hook_event_name')
}

export function textField(body: unknown, key: string): string {
  return textOf(peek(body, key)) ?? ''
}

export function toolIn(body: unknown, id: string | undefined = idOf(peek(body, 'tool_use_id'))): ToolCall {
  const args = argumentsOf(peek(body, 'tool_input'))
  return toolCallOf({ name: textField(body, 'tool_name'), arguments: args, id, cwd: textOf(peek(body, 'cwd')) })
}

export function signalIn(holder: unknown, key = 'signal'): AbortSignal | undefined {
  const signal = peek(holder, key)
  return signal instanceof AbortSignal ? signal : undefined
}
