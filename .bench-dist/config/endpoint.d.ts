import type { Plain } from './plain.ts';
import { type Reading } from './reading.ts';
export interface Endpoint {
    /** Without credentials. */
    readonly url: string;
    /** The credentials that it held, as a header. */
    readonly authorization?: string;
    /** Something about it that will hardly work. */
    readonly doubt?: string;
}
/**
 * Credentials in a URL end up in logs and error messages. They become a header here, so that no later part of the
 * program ever sees them in an endpoint.
 */
export declare function readEndpoint(value: Plain): Reading<Endpoint>;
/** A URL as it may be shown: credentials and query, where keys are put, are left out. Undefined: it is no such URL. */
export declare function shownUrl(text: string): string | undefined;
