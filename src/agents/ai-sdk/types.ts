/**
 * What we need to know of the Vercel AI SDK, read from `ai` 7.0.173 (`src/telemetry`, `src/generate-text`, `src/embed`).
 * Structure only: the package is no dependency of ours.
 *
 * A telemetry integration is an object of callbacks, each called with one event. What we keep of an event is the fields
 * below, as plain data; captures hold that. Errors become {name, message, statusCode, isRetryable}. Of our own are
 * - `attemptStart`, `attemptError` {callId, error}: what we see around `executeLanguageModelCall`, which is called for each
 *   attempt at a request, while the SDK tells the start and the end of the request alone;
 * - `context` of `onStart` {callId, toolCallId}: the call and the tool that this call was made in.
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

/** The name of a callback of the SDK that we listen to. */
export type AiSdkEvent = keyof typeof EVENT_FIELDS

/** Something that is running for a call of the SDK. */
export interface AiSdkExecution<Result> {
  readonly callId: string
  /** Runs it; resolves to what it came to. */
  readonly execute: () => PromiseLike<Result>
}

/**
 * A telemetry integration of the AI SDK. None of its methods throws, and none is waited for.
 */
export type AiSdkTelemetry = {
  readonly [Name in AiSdkEvent]: (event: unknown) => void
} & {
  /** Called for each attempt at a request: passes on what it came to. */
  executeLanguageModelCall<Result>(call: AiSdkExecution<Result>): PromiseLike<Result>
  /** Passes on what the tool came to; calls of the SDK in it are known to be made in it. */
  executeTool<Result>(call: AiSdkExecution<Result> & { readonly toolCallId: string }): PromiseLike<Result>
  /** Resolves when what was recorded until now has been sent, or cannot be. Does not throw. */
  flush(): Promise<void>
}
