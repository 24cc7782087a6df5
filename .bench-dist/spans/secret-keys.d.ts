/**
 * `strong`: whatever stands there is a secret. `weak`: the word is used for other things too, so in running text the
 * value has to look random. Undefined: not a name of a secret.
 */
export type SecretKeyStrength = 'strong' | 'weak';
export declare function secretKeyStrength(name: string): SecretKeyStrength | undefined;
/** Whether the value under this key of an object is a secret: `password`, `apiKey`, `X-Auth-Token`; not `max_tokens`. */
export declare function isSecretKey(name: string): boolean;
