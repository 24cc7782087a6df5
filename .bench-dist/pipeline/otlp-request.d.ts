import type { Agent, ClientRequest, OutgoingHttpHeaders } from 'node:http';
import type { Delivery, DeliveryFailure } from './delivery.ts';
/** How long one request may take. */
export interface Limits {
    readonly timeoutMillis: number;
    /** What the person configured, for the message: `timeoutMillis` is what earlier tries have left of it. */
    readonly allowedMillis: number;
    readonly signal: AbortSignal;
}
export interface OtlpRequest extends Limits {
    readonly url: string;
    readonly headers: OutgoingHttpHeaders;
    readonly agent: Agent;
    readonly payload: Uint8Array;
}
/** What one request came to, and whether the next may go better. */
export interface Attempt {
    readonly delivery: Delivery;
    /** From the `Retry-After` of the answer. */
    readonly retryAfterMillis?: number;
}
/** One request, for whoever makes it. */
export interface Exchange {
    /** The outcome is known: nothing changes it any more. */
    isOver(): boolean;
    /** To be called before the request is sent. Throws when the exchange is over, and nobody wants the request any more. */
    watch(request: ClientRequest): void;
    /** The outcome where no answer tells it. Without effect once the exchange is over. */
    end(delivery: Delivery): void;
}
/** What comes of the request that `begin` makes, now or later. Never rejects; resolves at the latest after the timeout. */
export declare function exchange(limits: Limits, begin: (exchange: Exchange) => void): Promise<Attempt>;
/** Sends once. Never rejects; resolves at the latest after the timeout. */
export declare function postOnce(post: OtlpRequest): Promise<Attempt>;
export declare function failed(failure: DeliveryFailure): Delivery;
export declare function codeOf(error: unknown): string;
