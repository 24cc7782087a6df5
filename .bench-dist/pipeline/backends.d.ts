import type { BackendRow } from './backend-row.ts';
/** Every backend that can be configured, one row each. */
export declare const BACKENDS: Readonly<Record<string, BackendRow>>;
/** Undefined for a type that is not known. */
export declare function backendRow(type: string): BackendRow | undefined;
