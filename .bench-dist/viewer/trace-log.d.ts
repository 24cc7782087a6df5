import { type StoredSpan } from './stored-span.ts';
import { type TraceTree } from './trace-forest.ts';
/** Which traces to take. */
export interface TraceQuery {
    /** At most so many, the newest. */
    readonly last: number;
    /** Only traces with a span of this session; a sub-agent's session finds the trace of its parent. */
    readonly sessionId?: string;
}
export interface UnreadableLine {
    readonly path: string;
    readonly line: number;
    readonly problem: string;
}
export interface TraceSelection {
    /** By start, the newest last. */
    readonly trees: readonly TraceTree[];
    /** Traces that there are, whatever the query. */
    readonly traceCount: number;
    readonly unreadableCount: number;
    readonly firstUnreadable: UnreadableLine | undefined;
}
/** The segments of a trace log, oldest first; none when there is no such directory. */
export declare function listSegments(directory: string): Promise<string[]>;
export declare function isOfSession(span: StoredSpan, sessionId: string): boolean;
/**
 * Reads the traces that a query asks for. The files are read twice, because which traces are the newest is known only
 * at the end, and a log of hundreds of megabytes must not be held in memory to find five of them.
 *
 * @throws the error of the file system when a file cannot be read
 */
export declare function selectTraces(paths: readonly string[], query: TraceQuery): Promise<TraceSelection>;
