import { type TraceTree } from './trace-forest.ts';
import { type TraceQuery } from './trace-log.ts';
/**
 * Follows files that grow. Every `poll` gives the traces whose root span, the one without a parent, has ended since
 * the last one. Spans that come after their trace was handed out are left out: their line is in the log.
 */
export declare class TraceFollower {
    #private;
    constructor(listFiles: () => Promise<readonly string[]>, query: TraceQuery);
    /** By start. The first poll, which reads everything there is, gives only the query's last ones. */
    poll(): Promise<TraceTree[]>;
}
