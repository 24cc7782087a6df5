import type { Delivery } from './delivery.ts';
import type { Attempt } from './otlp-request.ts';
/**
 * Tries until it is delivered, until it is no use, or until the time is over. Pauses do not hold the process: that is
 * why the exporter's own retry is not used.
 *
 * @param deadlineAt in the time of `performance.now()`
 * @param attempt is told how long it may take
 */
export declare function deliverBy(deadlineAt: number, signal: AbortSignal, attempt: (timeoutMillis: number) => Promise<Attempt>): Promise<Delivery>;
