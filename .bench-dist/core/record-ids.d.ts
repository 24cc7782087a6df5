import type { HookName } from '../contract/index.ts';
/** The ids of a record that can name its turn; undefined where absent, blank or no id at all. */
export interface RecordIds {
    readonly sessionId: string | undefined;
    readonly turnId: string | undefined;
    readonly taskId: string | undefined;
    readonly apiRequestId: string | undefined;
    readonly toolCallId: string | undefined;
}
/** A delegation is told in the parent's terms: its ids are the parent's. */
export declare function idsOf(hook: HookName, payload: Readonly<Record<string, unknown>>): RecordIds;
