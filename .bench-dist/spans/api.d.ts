import type { ApiEnd, ApiError, ApiStart } from '../contract/index.ts';
import type { Draw, Fired, OpenedSpan, SpanAttributes, SpanDefinition } from './span-definition.ts';
type End = ApiEnd & ApiError;
export declare function requestAttributes(fired: Fired<ApiStart>, draw: Draw): SpanAttributes;
export declare function responseAttributes(fired: Fired<End>, draw: Draw, opened: OpenedSpan<ApiStart>): SpanAttributes;
/** One attempt at a model request; a retry is a span of its own. */
export declare const api: SpanDefinition<ApiStart, End>;
export {};
