import { isArray, textOf } from '../../contract/foreign.ts'
import type { Outcome, Phase, ToolArguments } from '../../guards/index.ts'

/** Agents ignore a block without a reason, and go on. */
const NO_REASON = 'A hook has decided so.'

/** The reason of a block or a retry, as the model receives it: never blank. */
export function reasonOf({ reason }: Outcome<Phase>): string {
  return textOf(reason) ?? NO_REASON
}

/** All injected text, joined. These agents have no separate place for system prompt text. */
export function injectedText({ injected }: Outcome<Phase>): string | undefined {
  return textOf(injected.map(({ text }) => text).join('\n\n'))
}

export function argumentsOf(value: unknown): ToolArguments {
  return typeof value === 'object' && value !== null && !isArray(value) ? (value as ToolArguments) : {}
}
