import { type Plain } from './plain.ts';
import { type Reading, type Site } from './reading.ts';
import type { PrometheusAddress, StringMap } from './types.ts';
export interface ListRules {
    readonly values?: readonly string[];
    readonly separator?: string;
    readonly private?: boolean;
}
/** A list of texts, or one text with separators. An element that cannot be used is reported and left out. */
export declare function readList(value: Plain, rules: ListRules, site: Site): Reading<readonly string[]>;
export declare function splitText(text: string, separator: string): string[];
/** A mapping of names to texts, or `name=value,…`. Its values are never part of a message. */
export declare function readMap(value: Plain, site: Site): Reading<StringMap>;
/** `name=value,…`, percent-encoded. One pair that is not well-formed costs nothing but itself. */
export declare function readPairs(text: string, site: Site): StringMap;
/** `true`, `{host, port}`, or in one text `host:port`. Off is undefined. */
export declare function readPrometheus(value: Plain, site: Site): Reading<PrometheusAddress | undefined>;
