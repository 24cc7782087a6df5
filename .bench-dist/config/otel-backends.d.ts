import { type Site } from './reading.ts';
import type { BackendConfig } from './types.ts';
/** What the environment alone sends to, and the variable that says so. */
export interface EnvironmentBackends {
    readonly backends: readonly BackendConfig[];
    readonly place: string;
}
/**
 * `OTEL_EXPORTER_OTLP_*` and `OTEL_<SIGNAL>_EXPORTER` as backends: one `otlp` for all signals, or one for each where
 * their variables differ; a signal without an address that was asked for goes nowhere.
 */
export declare function otelBackends(site: Site): EnvironmentBackends | undefined;
