import type { Identity } from './identity.ts'

/** The hooks of requests to a model. `payloads.ts` has the others, and says what holds for all of them. */

/** Request parameters that are copied onto the span; taken from `request.body` where they are not fields. */
export interface RequestParameters {
  /** Most tokens that the answer may have */
  readonly max_tokens?: number | null | undefined
  /** As the model provider takes it, mostly 0 to 2 */
  readonly temperature?: number | undefined
  /** 0 to 1 */
  readonly top_p?: number | undefined
  /** So many of the likeliest tokens are sampled from */
  readonly top_k?: number | undefined
  /** As the model provider takes it, mostly -2 to 2 */
  readonly frequency_penalty?: number | undefined
  /** As the model provider takes it, mostly -2 to 2 */
  readonly presence_penalty?: number | undefined
  /** Whether the answer is streamed */
  readonly stream?: boolean | undefined
  /** Where the answer is to stop */
  readonly stop?: string | readonly string[] | undefined
  /** How many answers are asked for; 1 is not written */
  readonly n?: number | undefined
  /** Makes the sampling repeatable, where the model provider can */
  readonly seed?: number | undefined
  /** `low`, `medium`, `high`, … */
  readonly reasoning_effort?: string | undefined
}

/** `pre_api_request` */
export interface ApiStart extends Identity, RequestParameters {
  /** Attempt of the same `api_request_id`, from 0. */
  readonly retry_count?: number | undefined
  /** The model that was asked for; what `request.body.model` says wins */
  readonly model?: string | undefined
  /** The model provider; spellings of the well-known ones are mapped to the names of the conventions */
  readonly provider?: string | undefined
  /** Host and port only; credentials and the path are left out */
  readonly base_url?: string | undefined
  /** Which protocol the provider is spoken to in */
  readonly api_mode?: string | undefined
  /** Messages in the request */
  readonly message_count?: number | undefined
  /** Tools that the request offers; without it those of `request.body.tools` are counted */
  readonly tool_count?: number | undefined
  /** Tokens of the input, as the host estimates them */
  readonly approx_input_tokens?: number | undefined
  /** Characters of the request */
  readonly request_char_count?: number | undefined
  /** Epoch seconds. Hosts repeat the first attempt's on every retry, so it is never used as a start. */
  readonly started_at?: number | undefined
  /** Sanitised request: `{method, body: {model, messages, …}}`. */
  readonly request?: unknown
  /** What was sent, the first of this, `messages` and `request.body.messages`; `content_capture: full` only */
  readonly request_messages?: readonly unknown[] | undefined
  /** Where there are no `request_messages` */
  readonly messages?: readonly unknown[] | undefined
  /** Text, or a list of content parts; `content_capture: full` only */
  readonly system_prompt?: unknown
}

/** `post_api_request` */
export interface ApiEnd extends Identity {
  /** Which attempt it was; an end of another one does not end this one */
  readonly retry_count?: number | undefined
  /** For metrics, and where the start was never seen */
  readonly model?: string | undefined
  /** For metrics, and where the start was never seen */
  readonly provider?: string | undefined
  /** Where the start was never seen */
  readonly base_url?: string | undefined
  /** Seconds; covers failed attempts and back-off of the same logical request. Places the start of a request whose start was not seen. */
  readonly api_duration?: number | undefined
  /** Not read */
  readonly started_at?: number | undefined
  /** Epoch seconds; the span's end, where it is believable */
  readonly ended_at?: number | undefined
  /** Epoch seconds */
  readonly first_chunk_at?: number | null | undefined
  /** Why the answer stopped: `stop`, `tool_calls`, `length`, … */
  readonly finish_reason?: string | undefined
  /** Name of the model that answered */
  readonly response_model?: string | undefined
  /** The model provider's id of the answer */
  readonly response_id?: string | undefined
  /** Tokens, as the provider or the agent spells them: see [Usage](#usage) */
  readonly usage?: unknown
  /** `{assistant_message: {content, tool_calls}, upstream_provider}`; the message with `content_capture: full` only */
  readonly response?: unknown
  /** Characters of the answer */
  readonly assistant_content_chars?: number | undefined
  /** Tokens that the model has room for. */
  readonly context_length?: number | undefined
  /** Tools that the answer asks for */
  readonly assistant_tool_call_count?: number | undefined
  /** US dollars, as the host counts them: a number, or `{total}`. */
  readonly cost?: unknown
  /** The tier that was billed, as the provider names it: `default`, `batch`, `priority` */
  readonly service_tier?: string | undefined
}

/** `api_request_error` */
export interface ApiError extends Identity {
  /** For metrics, and where the start was never seen */
  readonly model?: string | undefined
  /** For metrics, and where the start was never seen */
  readonly provider?: string | undefined
  /** Where the start was never seen */
  readonly base_url?: string | undefined
  /** Seconds */
  readonly api_duration?: number | undefined
  /** Not read */
  readonly started_at?: number | undefined
  /** Epoch seconds; the span's end, where it is believable */
  readonly ended_at?: number | undefined
  /** Of the HTTP answer; none means that there was no answer */
  readonly status_code?: number | null | undefined
  /** Which attempt it was, from 0 */
  readonly retry_count?: number | undefined
  /** Attempts that are made again before it is given up */
  readonly max_retries?: number | null | undefined
  /** Whether another attempt follows, if there is one left */
  readonly retryable?: boolean | null | undefined
  /** What the host makes of the error, in a word */
  readonly reason?: string | null | undefined
  /** `{type, message}`; text and Error objects are read too. */
  readonly error?: unknown
}

/** `pre_auxiliary_call` */
export interface AuxiliaryStart extends ApiStart {
  /** What the call is for: `title`, `compression`, `vision`, … */
  readonly aux_task?: string | undefined
  /** Not read */
  readonly streaming?: boolean | undefined
}

/** `post_auxiliary_call` */
export interface AuxiliaryEnd extends ApiEnd {
  /** What the call was for */
  readonly aux_task?: string | undefined
  /** Not read */
  readonly streaming?: boolean | undefined
  /** As in [api_request_error](#api_request_error) */
  readonly error?: unknown
  /** Kind of the error, in a word; one that is set makes the call a failed one */
  readonly error_type?: string | null | undefined
}

/** `on_stream_start`. Told by a thread of its own, so it may come a little late. */
export interface StreamStart extends Identity {
  /** Which request of the turn it is: its `api_call_count` */
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
  /** Why the stream broke off; what the request's own end says counts more */
  readonly error?: string | null | undefined
}
