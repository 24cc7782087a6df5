import type { ApiEnd, ApiStart } from '../contract/index.ts';
import type { Draw, SpanAttributes } from './span-definition.ts';
/**
 * Whole requests and responses are written in `full` mode only: each request repeats the conversation so far, which
 * is the most private and the largest thing that an agent has.
 */
export declare function requestContent(payload: ApiStart, draw: Draw): SpanAttributes;
export declare function responseContent(payload: ApiEnd, draw: Draw): SpanAttributes;
