import type { BackendRow, Options } from './backend-row.ts';
import { type Signal } from './endpoint.ts';
import type { BackendFacts } from './failure-message.ts';
import type { BackendSettings, Protocol, Temporality } from './settings.ts';
/** One backend with its row, its defaults and its options put together: everything that is needed to open it. */
export interface BackendPlan {
    readonly settings: BackendSettings;
    readonly row: BackendRow;
    readonly options: Options;
    readonly protocol: Protocol;
    /** Signals that are sent, and where to; a file or the console has no URL. */
    readonly urls: Readonly<Partial<Record<Signal, string>>>;
    readonly traces: boolean;
    readonly metrics: boolean;
    readonly temporality: Temporality;
    /** Lower-case names. */
    readonly headers: Readonly<Record<string, string>>;
    /** Absent = this backend asks for none. */
    readonly resource: Readonly<Record<string, string>>;
    readonly facts: BackendFacts;
}
/** `problem`: one line that says what is missing. */
export type Planned = {
    readonly ok: true;
    readonly plan: BackendPlan;
    readonly warnings: readonly string[];
} | {
    readonly ok: false;
    readonly problem: string;
};
export declare function planBackend(settings: BackendSettings): Planned;
/** Names in lower case; of two with the same name the later one wins. */
export declare function mergeHeaders(...sets: readonly Readonly<Record<string, string | undefined>>[]): Record<string, string>;
