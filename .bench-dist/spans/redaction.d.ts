export { isSecretKey } from './secret-keys.ts';
export interface RedactorOptions {
    /** False: nothing is masked, own patterns included. */
    readonly enabled: boolean;
    /** Own patterns, from `checkPattern`. */
    readonly patterns: readonly RegExp[];
}
/**
 * Masks the secrets inside a text with `[REDACTED]`. Linear in the text; masking twice changes nothing more. `keepAll`
 * when it is not enabled.
 */
export declare function createRedactor({ enabled, patterns }: RedactorOptions): (text: string) => string;
