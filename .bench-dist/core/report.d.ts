/** Where diagnostics go. One call is one line. */
export interface Report {
    /** Something was lost or is set wrong, and the person can do something about it. */
    warn(line: string): void;
    error(line: string): void;
    /** Only for those who asked (`HOOKSPAN_DEBUG=1`). */
    debug(line: string): void;
}
