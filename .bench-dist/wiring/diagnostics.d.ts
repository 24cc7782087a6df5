/** Where the lines for the person go; one call is one line. */
export interface Diagnostics {
    warn(line: string): void;
    error(line: string): void;
    debug(line: string): void;
}
/**
 * `warn` and `error` are lines on stderr that start with `hookspan:`; `debug` goes to a file in the state directory, and
 * only for those who asked.
 */
export declare function createDiagnostics(debugDirectory: string | undefined): Diagnostics;
