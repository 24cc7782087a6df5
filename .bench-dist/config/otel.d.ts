import { type KeyName } from './keys.ts';
import { type Environment } from './paths.ts';
import { type Reading, type Site } from './reading.ts';
/** What one of OpenTelemetry's variables has to say about a key. */
export interface OtelOffer {
    readonly reading: Reading;
    /** The variable's name. */
    readonly place: string;
}
/** What OpenTelemetry's own variables say about a key; undefined when they say nothing. `backends`: `otel-backends.ts`. */
export declare function otelOffer(key: KeyName, below: unknown, site: Site): OtelOffer | undefined;
/** The words of `OTEL_<SIGNAL>_EXPORTER`; undefined when it is not set. */
export declare function exporterNames(env: Environment, signal: 'TRACES' | 'METRICS' | 'LOGS'): readonly string[] | undefined;
