import type { LocalLogSettings } from './settings.ts';
/** A name that is this process' alone, in the order of time: several pipelines of one process have a file each. */
export declare function newTraceFile(directory: string): string;
export declare function traceDirectory(directory: string): string;
/** Removes what is too old, then the oldest of what is too much. Never a file that its process may still write to. */
export declare function pruneTraceFiles(settings: LocalLogSettings): Promise<void>;
