import type { ApiEnd, ApiError } from '../contract/index.ts';
import { type SafeText } from './capture.ts';
import type { Draw, OpenedSpan } from './span-definition.ts';
/** Epoch seconds of the host → milliseconds. */
export declare function millis(seconds: unknown): number | undefined;
/** Seconds from this attempt's own start to its first chunk; a negative one belongs to another attempt. */
export declare function timeToFirstChunk(payload: ApiEnd, opened: OpenedSpan<unknown>): number | undefined;
export declare function apiErrorType(payload: ApiError, draw: Draw): SafeText;
