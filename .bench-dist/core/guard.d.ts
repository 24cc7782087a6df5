import type { Report } from './report.ts';
/**
 * The fail-open boundary, and the only place of the hot path that catches. What throws inside becomes one line per
 * distinct cause and a count; the host sees nothing.
 */
export declare class Guard {
    #private;
    constructor(report: Report, clean: (text: string) => string);
    /** How often something was caught. */
    get count(): number;
    run<Result>(site: string, body: () => Result, fallback: Result): Result;
    /** The same for a function with arguments: on the hot path it saves a closure a call. */
    call<One, Two, Three, Result>(site: string, body: (one: One, two: Two, three: Three) => Result, fallback: Result, one: One, two: Two, three: Three): Result;
    note(site: string, error: unknown): void;
}
