import type { Carrier, Delivery } from './delivery.ts';
export interface OtlpTarget {
    /** Of one signal, complete. */
    readonly url: string;
    /** Lower-case names. */
    readonly headers: Readonly<Record<string, string>>;
    readonly gzip: boolean;
    /** One payload with its retries. */
    readonly timeoutMillis: number;
    readonly certificate: Buffer | undefined;
}
/**
 * Sends metrics, and traces as `http/protobuf`, to one URL. Traces as `http/json` go by OpenTelemetry's own exporter
 * (`otlp-trace-exporter.ts`). Left to themselves, those exporters merge the headers of `OTEL_EXPORTER_OTLP_HEADERS` into
 * those of every backend, so that one backend's key would reach another one, hold the process with their retry timer,
 * forget the status that they retried, and keep a partial success to themselves. There, all that is set right from
 * outside, by way of the request that the agent sees; here the request is ours from the start. The retries and the
 * reading of answers are the same.
 */
export declare class OtlpSender implements Carrier {
    #private;
    constructor(target: OtlpTarget);
    deliver(payload: Uint8Array, signal: AbortSignal): Promise<Delivery>;
    close(): Promise<void>;
}
