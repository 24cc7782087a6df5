export interface ReplayArguments {
    /** `-` is standard input. */
    readonly files: readonly string[];
    readonly out: string | undefined;
    readonly metricsOut: string | undefined;
    readonly backends: readonly string[];
    readonly host: string | undefined;
    readonly speed: number | undefined;
}
/** @throws WrongUse, or what `parseArgs` throws */
export declare function readArguments(args: string[]): ReplayArguments;
/**
 * Empties the files that are to be written.
 *
 * @throws when one of them cannot be written
 */
export declare function prepareOutputs({ out, metricsOut }: ReplayArguments): Promise<void>;
