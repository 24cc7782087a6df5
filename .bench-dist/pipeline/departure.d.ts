import type { OpenBackend } from './open-backend.ts';
import type { PrometheusEndpoint } from './prometheus.ts';
import type { OwnMeterProvider } from './providers.ts';
export interface DepartureParts {
    readonly backends: readonly OpenBackend[];
    readonly meters: OwnMeterProvider;
    readonly prometheus: PrometheusEndpoint | undefined;
    readonly waitMillis: number;
}
/** Gets everything out of the house, now or for good. */
export declare class Departure {
    #private;
    constructor(parts: DepartureParts);
    flush(): Promise<void>;
    shutdown(): Promise<void>;
}
