import type { ReadBack } from './backend-row.ts';
import type { BackendSettings } from './settings.ts';
export interface TraceLinks {
    /** For a person's browser. Absent where the address depends on something that we are not told. */
    readonly view?: string;
    readonly readBack?: ReadBackRequest;
}
export interface ReadBackRequest {
    readonly url: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly found: ReadBack['found'];
}
/** Where one trace can be looked at, and how it can be asked for. Empty for a backend that is not set up rightly. */
export declare function traceLinks(settings: BackendSettings, traceId: string, projectName?: string): TraceLinks;
