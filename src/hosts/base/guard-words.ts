import { isArray, textOf } from '../../contract/foreign.ts'
import type { Outcome, Phase, ToolArguments } from '../../hooks/index.ts'

/** Agents drop a block without a reason, and go on. */
const NO_REASON = 'A hook has decided so.'

/** What the model is told of a block, or of another try: never blank. */
export function reasonOf({ reason }: Outcome<Phase>): string {
  return textOf(reason) ?? NO_REASON
}

/** All that is to be said beside; these agents have no other place for what is meant for the system prompt. */
export function injectedText({ injected }: Outcome<Phase>): string | undefined {
  return textOf(injected.map(({ text }) => text).join('\n\n'))
}

/** Of a tool. What is no object has no names that a hook could look at. */
export function argumentsOf(value: unknown): ToolArguments {
  return typeof value === 'object' && value !== null && !isArray(value) ? (value as ToolArguments) : {}
}
