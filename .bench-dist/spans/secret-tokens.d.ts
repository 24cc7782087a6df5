import { type SecretFamily } from './secret-span.ts';
/** `ghp_…`, `sk-ant-…`, `SG.….…`: a known word, a separator, and enough of a token behind it. */
export declare const PREFIXED_TOKENS: SecretFamily;
/** Keys that are recognised without a separator: cloud access keys, JWTs, bot tokens, private key blocks. */
export declare const UNSEPARATED_TOKENS: SecretFamily;
