import type { Identity } from './identity.ts'

/** The hooks of requests to a model. `payloads.ts` has the others, and the rules for all of them. */

/** Request parameters that are copied onto the span; read from `request.body` if they are not fields. */
export interface RequestParameters {
  /** Maximum number of tokens in the answer */
  readonly max_tokens?: number | null | undefined
  /** Range according to the model provider, mostly 0 to 2 */
  readonly temperature?: number | undefined
  /** 0 to 1 */
  readonly top_p?: number | undefined
  /** Number of most likely tokens to sample from */
  readonly top_k?: number | undefined
  /** Range according to the model provider, mostly -2 to 2 */
  readonly frequency_penalty?: number | undefined
  /** Range according to the model provider, mostly -2 to 2 */
  readonly presence_penalty?: number | undefined
  /** True if the answer is streamed */
  readonly stream?: boolean | undefined
  /** Stop sequences of the answer */
  readonly stop?: string | readonly string[] | undefined
  /** Number of requested answers; 1 is not written */
  readonly n?: number | undefined
  /** Makes the sampling repeatable, if the model provider supports it */
  readonly seed?: number | undefined
  /** `low`, `medium`, `high`, … */
  readonly reasoning_effort?: string | undefined
}

/** `pre_api_request` */
export interface ApiStart extends Identity, RequestParameters {
  /** Attempt of the same `api_request_id`, from 0. */
  readonly retry_count?: number | undefined
  /** The requested model; `request.body.model` wins */
  readonly model?: string | undefined
  /** The model provider; spellings of the well-known ones are mapped to the names of the conventions */
  readonly provider?: string | undefined
  /** Only host and port are written, without credentials and path */
  readonly base_url?: string | undefined
  /** Protocol of the provider's API */
  readonly api_mode?: string | undefined
  /** Number of messages in the request */
  readonly message_count?: number | undefined
  /** Number of tools in the request; without it, `request.body.tools` is counted */
  readonly tool_count?: number | undefined
  /** Tokens of the input, as the host estimates them */
  readonly approx_input_tokens?: number | undefined
  /** Number of characters in the request */
  readonly request_char_count?: number | undefined
  /** Epoch seconds. Hosts repeat the first attempt's on every retry, so it is never used as a start. */
  readonly started_at?: number | undefined
  /** Sanitised request: `{method, body: {model, messages, …}}`. */
  readonly request?: unknown
  /** Messages sent: the first of this, `messages` and `request.body.messages`; `content_capture: full` only */
  readonly request_messages?: readonly unknown[] | undefined
  /** Used if there are no `request_messages` */
  readonly messages?: readonly unknown[] | undefined
  /** Text, or a list of content parts; `content_capture: full` only */
  readonly system_prompt?: unknown
}

/** `post_api_request` */
export interface ApiEnd extends Identity {
  /** Attempt that ended; the end of another attempt does not end this one */
  readonly retry_count?: number | undefined
  /** For metrics, and if the start was never seen */
  readonly model?: string | undefined
  /** For metrics, and if the start was never seen */
  readonly provider?: string | undefined
  /** Used if the start was never seen */
  readonly base_url?: string | undefined
  /** Seconds; covers failed attempts and back-off of the same logical request. Gives the start time if the start was not seen. */
  readonly api_duration?: number | undefined
  /** Not read */
  readonly started_at?: number | undefined
  /** Epoch seconds; the span's end, if plausible */
  readonly ended_at?: number | undefined
  /** Epoch seconds */
  readonly first_chunk_at?: number | null | undefined
  /** Reason of the answer's end: `stop`, `tool_calls`, `length`, … */
  readonly finish_reason?: string | undefined
  /** Name of the model that answered */
  readonly response_model?: string | undefined
  /** The model provider's id of the answer */
  readonly response_id?: string | undefined
  /** Tokens, as the provider or the agent spells them: see [Usage](#usage) */
  readonly usage?: unknown
  /** `{assistant_message: {content, tool_calls}, upstream_provider}`; the message with `content_capture: full` only */
  readonly response?: unknown
  /** Number of characters in the answer */
  readonly assistant_content_chars?: number | undefined
  /** Size of the model's context in tokens. */
  readonly context_length?: number | undefined
  /** Number of tool calls in the answer */
  readonly assistant_tool_call_count?: number | undefined
  /** US dollars, as the host counts them: a number, or `{total}`. */
  readonly cost?: unknown
  /** The billed tier, as the provider names it: `default`, `batch`, `priority` */
  readonly service_tier?: string | undefined
}

/** `api_request_error` */
export interface ApiError extends Identity {
  /** For metrics, and if the start was never seen */
  readonly model?: string | undefined
  /** For metrics, and if the start was never seen */
  readonly provider?: string | undefined
  /** Used if the start was never seen */
  readonly base_url?: string | undefined
  /** Seconds */
  readonly api_duration?: number | undefined
  /** Not read */
  readonly started_at?: number | undefined
  /** Epoch seconds; the span's end, if plausible */
  readonly ended_at?: number | undefined
  /** HTTP status; none means that there was no response */
  readonly status_code?: number | null | undefined
  /** Attempt that failed, from 0 */
  readonly retry_count?: number | undefined
  /** Number of retries after which the host gives up */
  readonly max_retries?: number | null | undefined
  /** True if the request may be retried: another attempt follows, if one is left */
  readonly retryable?: boolean | null | undefined
  /** The host's classification of the error, in a word */
  readonly reason?: string | null | undefined
  /** `{type, message}`; text and Error objects are read too. */
  readonly error?: unknown
}

/** `pre_auxiliary_call` */
export interface AuxiliaryStart extends ApiStart {
  /** Purpose of the call: `title`, `compression`, `vision`, … */
  readonly aux_task?: string | undefined
  /** Not read */
  readonly streaming?: boolean | undefined
}

/** `post_auxiliary_call` */
export interface AuxiliaryEnd extends ApiEnd {
  /** Purpose of the call */
  readonly aux_task?: string | undefined
  /** Not read */
  readonly streaming?: boolean | undefined
  /** Same as in [api_request_error](#api_request_error) */
  readonly error?: unknown
  /** Kind of the error, in a word; if set, the call counts as failed */
  readonly error_type?: string | null | undefined
}

/** `on_stream_start`. Emitted by a separate thread, so it may arrive a little late. */
export interface StreamStart extends Identity {
  /** The request's `api_call_count` in the turn */
  readonly iteration?: number | undefined
  /** Not read */
  readonly model?: string | undefined
  /** Not read */
  readonly provider?: string | undefined
  /** Not read */
  readonly surface?: string | undefined
}

/** `on_stream_end` */
export interface StreamEnd extends StreamStart {
  /** Not read */
  readonly final_text?: string | undefined
  /** Not read */
  readonly finished?: boolean | undefined
  /** Reason of a broken stream; the request's own end overrides it */
  readonly error?: string | null | undefined
}
