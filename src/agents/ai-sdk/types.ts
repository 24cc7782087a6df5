import { booleanOf, elementsOf, numberOf, peek, textOf } from '../../contract/foreign.ts'

/**
 * The subset of the Vercel AI SDK that this adapter uses, read from `ai` 7.0.173 (`src/telemetry`, `src/generate-text`,
 * `src/embed`), which is not a dependency.
 *
 * A telemetry integration is an object of callbacks with one event each. Captures keep the fields below as plain data;
 * errors become {name, message, statusCode, isRetryable}. Our own additions:
 * - `attemptStart`, `attemptError` {callId, error}: each attempt, seen by `executeLanguageModelCall`. The SDK reports
 *   only the start and the end of the whole request.
 * - `context` of `onStart` {callId, toolCallId}: the call and the tool in which this call was made.
 */
export const EVENT_FIELDS = {
  onStart: 'callId operationId functionId provider modelId messages prompt value query maxRetries runtimeContext',
  onStepStart: 'callId',
  onLanguageModelCallStart: `callId provider modelId instructions messages tools maxOutputTokens temperature topP topK
    presencePenalty frequencyPenalty stopSequences seed reasoning`,
  onLanguageModelCallEnd: 'callId modelId finishReason usage content responseId request performance',
  onToolExecutionStart: 'callId toolCall',
  onToolExecutionEnd: 'callId toolCall toolOutput toolExecutionMs',
  onStepEnd: 'callId content',
  onStepError: 'callId error',
  onObjectStepStart: 'callId provider modelId promptMessages',
  onObjectStepEnd: 'callId finishReason usage objectText response',
  onEnd: 'callId text object error usage',
  onAbort: 'callId',
  onError: 'callId error',
} as const

/** A callback of the SDK that is used. */
export type AiSdkEvent = keyof typeof EVENT_FIELDS

/** An operation of the SDK. */
export interface AiSdkExecution<Result> {
  readonly callId: string
  /** Runs the operation. */
  readonly execute: () => PromiseLike<Result>
}

/** A telemetry integration of the AI SDK. No method throws, and the SDK awaits none. */
export type AiSdkTelemetry = {
  readonly [Name in AiSdkEvent]: (event: unknown) => void
} & {
  /** Runs one attempt at a request and returns its result. */
  executeLanguageModelCall<Result>(call: AiSdkExecution<Result>): PromiseLike<Result>
  /** Runs a tool and returns its result. Calls of the SDK inside become its children. */
  executeTool<Result>(call: AiSdkExecution<Result> & { readonly toolCallId: string }): PromiseLike<Result>
  /** Resolves when everything recorded so far is sent or failed. Does not throw. */
  flush(): Promise<void>
}

export interface PlainError {
  readonly name: string | undefined
  readonly message: string | undefined
  readonly statusCode: number | undefined
  readonly isRetryable: boolean | undefined
}

/** Converts an exception to plain data. For exhausted retries, the last error counts. */
export function plainError(thrown: unknown): PlainError {
  const error = peek(thrown, 'lastError') ?? elementsOf(peek(thrown, 'errors'), 1, 'last')[0] ?? thrown
  return {
    name: textOf(peek(error, 'name')),
    message: textOf(typeof error === 'string' ? error : peek(error, 'message')),
    statusCode: numberOf(peek(error, 'statusCode')),
    isRetryable: booleanOf(peek(error, 'isRetryable')),
  }
}

export function isAborted(failure: unknown): boolean {
  const name = peek(failure, 'name')
  return name === 'AbortError' || name === 'ResponseAborted' || isStreamLeft(failure)
}

/**
 * True if the single reader of a stream cancelled it: the SDK then closes its controller twice and reports Node's error
 * about that.
 */
export function isStreamLeft(failure: unknown): boolean {
  return peek(failure, 'name') === 'TypeError' && peek(failure, 'message') === CLOSED_TWICE
}

const CLOSED_TWICE = 'Invalid state: Controller is already closed'
