import type { ResolvedConfig } from '../config/types.ts';
import type { CommandIo } from './command.ts';
/** Where the trace log of this run is written, so that its traces can be drawn. */
export interface TracePlace {
    /** The environment in which it is there. */
    readonly env: CommandIo['env'];
    /** Why the traces do not stay; undefined when they do. */
    readonly whyNotKept: string | undefined;
    /** Removes what is not kept. */
    close(): Promise<void>;
}
/** The local trace log, or a directory for the length of this run where there is to be none, or cannot be one. */
export declare function openTracePlace({ local_log }: ResolvedConfig, io: CommandIo): Promise<TracePlace>;
