import type { DeliveryFailure } from './delivery.ts';
import type { Signal } from './endpoint.ts';
import { type BackendFacts } from './failure-message.ts';
import type { Report } from './settings.ts';
/** What the person is told about one backend: each cause once at its onset, and once how much it cost when it is over. */
export declare class DeliveryReport {
    #private;
    lastError: string | undefined;
    constructor(facts: BackendFacts, report: Report);
    /** `lost`: how many spans did not arrive, where that can be said. */
    failed(signal: Signal, failure: DeliveryFailure, lost: number): void;
    delivered(signal: Signal): void;
    overflowed(maxQueueSize: number): void;
    /** The queue is empty again. */
    drained(): void;
}
