import { type SecretFamily } from './secret-span.ts';
/**
 * `scheme://user:password@host` keeps its scheme and host. The address of a webhook, and the signature of a signed
 * address, are all that one needs to use them.
 */
export declare const ADDRESSES: SecretFamily;
