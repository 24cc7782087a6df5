import { type Plain } from './plain.ts';
import { type Reading, type Site } from './reading.ts';
import type { BackendConfig } from './types.ts';
/**
 * A list of backends, each a mapping or in short (`backendFromText`). One that cannot be used is reported and left out:
 * a wrong address must not turn into a default one, which would be a place that nobody asked for.
 */
export declare function readBackends(value: Plain, site: Site): Reading<readonly BackendConfig[]>;
