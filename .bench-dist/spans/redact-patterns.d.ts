export type PatternCheck = {
    readonly ok: true;
    readonly pattern: RegExp;
} | {
    readonly ok: false;
    readonly reason: string;
};
/**
 * An own pattern, compiled, or why it cannot be used. Patterns run over everything that is captured, on the host's
 * time, so one that can backtrack badly, or that matches everywhere, is refused.
 */
export declare function checkPattern(source: string): PatternCheck;
