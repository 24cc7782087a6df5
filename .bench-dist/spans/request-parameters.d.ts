import type { ApiStart } from '../contract/index.ts';
import type { Draw, Fired, SpanAttributes } from './span-definition.ts';
/** The request as the model provider got it, where the host passes it on. */
export declare function requestBody(payload: ApiStart): unknown;
/** What was really sent: a fallback or a mid-session switch shows in the body before it shows in `model`. */
export declare function requestModel(payload: ApiStart): unknown;
/** `gen_ai.request.*` and, as JSON of the same, `llm.invocation_parameters`. */
export declare function addRequestParameters(attributes: SpanAttributes, { payload }: Fired<ApiStart>, draw: Draw): void;
