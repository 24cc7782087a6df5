import { type SecretFamily } from './secret-span.ts';
/** `Bearer …` and `Basic …`, wherever they stand. */
export declare const SCHEMED_CREDENTIALS: SecretFamily;
export declare const COMMAND_CREDENTIALS: SecretFamily;
