/** The known name that was probably meant: few edits away, case and separators aside. Undefined when none is close. */
export declare function nearestName(unknown: string, known: readonly string[]): string | undefined;
/** `; did you mean x?`, or nothing. */
export declare function suggestion(unknown: string, known: readonly string[]): string | undefined;
