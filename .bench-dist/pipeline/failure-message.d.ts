import type { DeliveryFailure } from './delivery.ts';
import { type Signal } from './endpoint.ts';
import type { Protocol } from './settings.ts';
/** What a message may say about a backend. Nothing in it is secret once the URL has been stripped. */
export interface BackendFacts {
    readonly name: string;
    readonly type: string;
    readonly urls: Readonly<Partial<Record<Signal, string>>>;
    /** The person gave the URLs as they are. */
    readonly isExact?: boolean;
    readonly protocol: Protocol;
    /** The keys that hold its credentials, as a person would write them. */
    readonly credentials: string;
    readonly defaultEndpoint: string | undefined;
}
/** Failures of one class have one cause and are said once. */
export declare function failureClass(failure: DeliveryFailure): string;
/** One line: what went wrong, where, and what to do about it. */
export declare function describeFailure(facts: BackendFacts, signal: Signal, failure: DeliveryFailure): string;
