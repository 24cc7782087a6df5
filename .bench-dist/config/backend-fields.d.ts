import { type Plain, type PlainMap } from './plain.ts';
import { type Site } from './reading.ts';
import type { BackendConfig } from './types.ts';
/** A field's value and where it stands: `<x>` may have come from the variable that `<x>_env` names. */
export interface Field {
    readonly value: Plain;
    readonly site: Site;
}
export type Fields = Readonly<Record<string, Field>>;
/**
 * The fields that are set, every `<x>_env` read into `<x>`. One whose variable cannot be read is there as unusable: what
 * an absent field means, a default address for one, is not what was asked for.
 */
export declare function collectFields(backend: PlainMap, site: Site): Fields;
export declare function isBlank(value: Plain): boolean;
/** The fields that have a default by type: one that cannot be used is reported and left to it. */
export declare function readPreferences(fields: Fields): Partial<BackendConfig>;
