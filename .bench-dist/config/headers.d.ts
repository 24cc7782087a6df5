import { type Plain } from './plain.ts';
import { type Reading, type Site } from './reading.ts';
import type { StringMap } from './types.ts';
/** A mapping, or `name=value,…`. Neither a name nor a value is ever part of a message. */
export declare function readHeaders(value: Plain, site: Site): Reading<StringMap>;
