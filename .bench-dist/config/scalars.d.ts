import type { KeyRow } from './keys.ts';
import type { Plain } from './plain.ts';
import { type Reading } from './reading.ts';
/** Text too: environment variables, and every scalar of a file, arrive as text. */
export declare function readBool(value: Plain): Reading<boolean>;
export interface NumberRange {
    readonly min?: number;
    readonly max?: number;
}
export declare function readNumber(value: Plain, range: NumberRange): Reading<number>;
export declare function readInteger(value: Plain, range: NumberRange): Reading<number>;
/** A duration in milliseconds that a timer can keep. */
export declare function readMillis(value: Plain, range: NumberRange): Reading<number>;
export declare function readText(value: Plain, pattern?: KeyRow['pattern']): Reading<string>;
export declare function readWord(value: Plain, words: readonly string[]): Reading<string>;
export declare function isScalar(value: Plain): value is string | number | boolean;
