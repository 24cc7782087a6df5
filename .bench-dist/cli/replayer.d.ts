import type { PluginOptions, PluginStats } from '../wiring/plugin.ts';
import type { CommandIo } from './command.ts';
import type { ReadRecord } from './hook-records.ts';
export interface ReplayOptions {
    readonly plugin: PluginOptions;
    /** Spans in one request, as configured. */
    readonly batchSpans: number;
    /** 1 = as fast as it happened, 2 = twice as fast; undefined = as fast as possible. */
    readonly speed?: number | undefined;
}
export interface ReplayResult {
    readonly stats: PluginStats;
    readonly records: number;
    /** Spans that came of the records, delivered or not. */
    readonly spans: number;
    /** A backend could not be set up, or the plugin had to report an error. */
    readonly hasErrors: boolean;
}
/** Feeds records to a plugin and sees to it that nothing is dropped for going too fast. */
export declare class Replayer {
    #private;
    constructor(options: ReplayOptions, io: Pick<CommandIo, 'env' | 'home' | 'stderr'>);
    /** Spans that have ended so far. */
    get spans(): number;
    feed({ hook, payload, meta }: ReadRecord): Promise<void>;
    /** Ends what is open and delivers; what a backend does not take within some seconds is given up and counted. */
    finish(): Promise<ReplayResult>;
}
