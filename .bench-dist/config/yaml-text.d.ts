import { type PlainMap } from './plain.ts';
/** What a file holds: every scalar as the text that stands there, and the line of every key and element. */
export interface ParsedText {
    readonly values: PlainMap;
    /** `backends[0].endpoint` → 4 */
    readonly lines: ReadonlyMap<string, number>;
}
/** Why a text could not be read; `line` and `column` from 1, where they are known. */
export interface TextFault {
    readonly fault: string;
    readonly line?: number;
    readonly column?: number;
}
/** YAML 1.2, of which JSON is a part. Never throws. */
export declare function parseYaml(text: string): ParsedText | TextFault;
