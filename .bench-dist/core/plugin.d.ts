import type { HookMeta, HookResult } from '../contract/index.ts';
import type { CoreOptions } from './options.ts';
export interface CoreStats {
    /** Hook records received, by what became of them. */
    readonly hooks: Readonly<Record<HookResult, number>>;
    readonly spansOpen: number;
    readonly turnsOpen: number;
}
/** The whole core: hook records in, spans and points out. Nothing that it is given makes it throw. */
export declare class Core {
    #private;
    constructor(options: CoreOptions);
    /** Takes one hook record. Returns a promise only for the end of a session, where a host may want to await the flush. */
    on(hook: string, payload: unknown, meta: HookMeta | undefined): Promise<void> | undefined;
    /** All that was recorded until now, sent; bounded, never rejects. */
    flush(): Promise<void>;
    /** Ends everything that is open as `shutdown`. Idempotent; later records are not taken. */
    endAll(): void;
    stats(): CoreStats;
    /** W3C `traceparent` of exactly the tool or turn that is named; undefined when it is not open. */
    traceparent(ids: Readonly<Record<string, unknown>>, host: string): string | undefined;
}
