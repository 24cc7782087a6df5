import type { ResolvedConfig } from '../config/types.ts';
import type { CommandIo } from './command.ts';
import type { ReplayResult } from './replayer.ts';
/**
 * Draws what a replay has written; of very many traces the last ones.
 *
 * @returns the id of the last trace, where there is one
 */
export declare function drawTraces(file: string, last: number, io: CommandIo): Promise<string | undefined>;
/** What else is to be said of a delivery. */
export interface DeliveryContext {
    readonly config: Pick<ResolvedConfig, 'backends' | 'project_name'>;
    /** The trace that a person is sent to look at. */
    readonly traceId: string | undefined;
}
/**
 * A line for each backend: what it got. Why it got no more has been said when it happened. The files that this run itself
 * opened are only mentioned when something is missing in them.
 *
 * @returns whether everything arrived everywhere
 */
export declare function reportDelivery({ stats, hasErrors }: ReplayResult, context: DeliveryContext, io: CommandIo): boolean;
