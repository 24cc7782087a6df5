import type { StatusClass } from '../contract/index.ts';
/** Fallback of `error.type` that the conventions give. */
export declare const OTHER_ERROR = "_OTHER";
/** Type and text of a host's error value: `{type, message}`, an Error, or text. */
export declare function errorFacts(error: unknown): {
    type: string | undefined;
    message: unknown;
};
/** Where a metric counts a failed request: by the hundreds of its status; without one the network failed. */
export declare function statusClass(status: unknown): StatusClass;
