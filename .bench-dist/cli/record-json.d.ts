export type ParsedJson = {
    readonly value: unknown;
} | {
    readonly problem: string;
};
/** JSON in which a number may be a bare NaN or Infinity; these are null. */
export declare function parseRecordJson(text: string): ParsedJson;
