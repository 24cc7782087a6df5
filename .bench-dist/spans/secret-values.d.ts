/** An empty or already masked value, or one that only names where the secret is. */
export declare function isPlaceholder(value: string): boolean;
/** A word that says something about the secret instead of being it. `inSentence`: it may be one of a sentence's words. */
export declare function isSpokenOf(value: string, inSentence: boolean): boolean;
/**
 * An expression, not a literal: `getToken(`, `process.env.`, `config.password`, `{ token: accessToken }`. `spaced`:
 * there was a space between the name's sign and the value, as code has it and `.env` files do not.
 */
export declare function isCode(value: string, name: string, spaced: boolean, next: string): boolean;
/** Letters and digits mixed, or long: what a token looks like and a word does not. */
export declare function looksRandom(value: string): boolean;
/** Strict, for a name and a value with nothing but a space between them. */
export declare function looksGenerated(value: string): boolean;
