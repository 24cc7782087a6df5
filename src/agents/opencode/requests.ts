import { idOf, numberOf, peek, textOf } from '../../contract/foreign.ts'
import { usageOf } from '../base/usage.ts'

/** opencode's `input` excludes the cache, and its `output` excludes reasoning. */
export function stepUsage(tokens: unknown): ReturnType<typeof usageOf> {
  const cache = peek(tokens, 'cache')
  const [input, output, reasoning] = [peek(tokens, 'input'), peek(tokens, 'output'), peek(tokens, 'reasoning')]
  const counts = { input, output, reasoning, cacheRead: peek(cache, 'read'), cacheWrite: peek(cache, 'write') }
  return usageOf(counts, { cacheIsOutside: true, reasoningIsOutside: true })
}

/** The name of the requesting agent, in `chat.params` of all known versions. */
export function agentOf(data: unknown): string | undefined {
  const agent = peek(data, 'agent')
  return textOf(agent) ?? textOf(peek(agent, 'name'))
}

export function requestFacts(data: unknown, output: unknown): Readonly<Record<string, unknown>> {
  const model = peek(data, 'model')
  const options = peek(output, 'options')
  return {
    model: peek(model, 'id'),
    provider: peek(model, 'providerID') ?? idOf(peek(peek(data, 'provider'), 'id')),
    base_url:
      textOf(peek(peek(peek(data, 'provider'), 'options'), 'baseURL')) ?? textOf(peek(peek(model, 'api'), 'url')),
    max_tokens: numberOf(peek(output, 'maxOutputTokens')),
    temperature: numberOf(peek(output, 'temperature')),
    top_p: numberOf(peek(output, 'topP')),
    top_k: numberOf(peek(output, 'topK')),
    reasoning_effort: textOf(peek(options, 'reasoningEffort')),
    stream: true,
  }
}

/**
 * An `error` of a message or of `session.error`: `{name, data: {message, statusCode?, isRetryable?}}`. `isAbort`: the user
 * stopped the run, which is not an error.
 */
export interface OpencodeFailure {
  readonly type: string
  readonly message: string | undefined
  readonly statusCode: number | undefined
  readonly isAbort: boolean
}

const ABORTED = 'MessageAbortedError'
const UNNAMED = 'UnknownError'

export function failureOf(error: unknown): OpencodeFailure | undefined {
  if (error === undefined || error === null) return undefined
  const name = textOf(peek(error, 'name')) ?? UNNAMED
  const data = peek(error, 'data')
  const isAbort = name === ABORTED
  return {
    type: isAbort ? 'aborted' : name,
    message: textOf(peek(data, 'message')) ?? textOf(peek(error, 'message')) ?? textOf(error),
    statusCode: numberOf(peek(data, 'statusCode')),
    isAbort,
  }
}
