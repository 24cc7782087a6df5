import type { Resolution } from './types.ts';
/** A line of `hookspan config`. No secret is in it. */
export interface ShownKey {
    /** `sample_rate`; a backend has a line of its own: `backends[0]`. */
    readonly key: string;
    readonly value: string;
    /** `default`, `config.yaml line 7`, `HOOKSPAN_SAMPLE_RATE`, `code` */
    readonly source: string;
}
/** What is in force and where it came from, in the order of the table; secrets as `<set>`. */
export declare function showConfig(resolution: Pick<Resolution, 'config' | 'sources'>): readonly ShownKey[];
