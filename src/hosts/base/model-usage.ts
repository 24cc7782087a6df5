import type { ModelUsage } from '../../hooks/index.ts'
import type { Usage } from './usage.ts'

/** What an answer took, as hooks that act are told of it. */
export function modelUsage(usage: Usage | undefined, costUsd?: number): ModelUsage | undefined {
  return usage && { inputTokens: usage.prompt_tokens, outputTokens: usage.output_tokens, costUsd }
}
