import type { KeyRow } from './keys.ts';
import type { Plain } from './plain.ts';
import type { Reading, Site } from './reading.ts';
/** Reads a key's value as its row says. Undefined: nothing is set there (absent, null, blank text). */
export declare function readValue(row: KeyRow, value: Plain, site: Site): Reading | undefined;
