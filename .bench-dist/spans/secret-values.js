import { secretKeyStrength } from './secret-keys.js';
import { MASK } from './secret-span.js';
/** What stands behind a secret's name and is none: a placeholder, a reference, a type, a piece of code, a sentence. */
const REFERENCE = /^(?:\$(?:[A-Z_][A-Z0-9_]*|[a-z_]+)$|\$\{[\w.]+\}$|\$\(|\$\{\{|\{\{|<[^<>]{0,80}>?$|%[\w(]+[%)s]?$|@\w+$)/;
const STARS = /^[*•●xX.…_-]{3,}$/;
const LITERAL = /^(?:true|false|null|nil|none|undefined|nan|yes|no|on|off|required|optional|inherit|string|str|number|int|integer|boolean|bool|bytes|any|object|unknown|void|never|buffer|await|new|async|function|lambda|typeof|not|[|>][-+]?)[;?!|]?$/i;
const SENTENCE = /^(?:a|an|and|are|at|basic|be|bearer|blank|by|can|cannot|change|changed|did|does|empty|enter|expired|failed|field|for|from|has|have|if|in|incorrect|invalid|is|it|least|may|mismatch|missing|must|oauth2?|of|or|ok|please|reset|see|set|flag|option|argument|parameter|should|that|the|this|to|too|use|used|using|was|when|will|with|wrong|your)[.,;:!?]?$/i;
const CODE_ROOT = /^(?:process\.env|os\.(?:environ|getenv)|import\.meta|self|this|config|settings|options|opts|args|params|props|req|request|res|response|ctx|context|env|secrets|vars?|local|data|module|state|user|body|headers|session|creds|credentials|form)[.[(]/;
const CALL = /^[A-Za-z_$][A-Za-z_$.]*\(/;
const KNOWN_CALL = /^(?:get|load|read|fetch|prompt|input|decrypt|ask|env|create|generate|sign|make|find|str|hash|encode|String|Buffer)\w*[(.]/;
const IDENTIFIER = /^[A-Za-z_$][A-Za-z_$.]*$/;
/** An empty or already masked value, or one that only names where the secret is. */
export function isPlaceholder(value) {
    return (value.trim() === '' ||
        value.startsWith(MASK) ||
        (value.length <= 100 && (REFERENCE.test(value) || STARS.test(value))));
}
/** A word that says something about the secret instead of being it. `inSentence`: it may be one of a sentence's words. */
export function isSpokenOf(value, inSentence) {
    return value.length <= 16 && (LITERAL.test(value) || (inSentence && SENTENCE.test(value)));
}
/**
 * An expression, not a literal: `getToken(`, `process.env.`, `config.password`, `{ token: accessToken }`. `spaced`:
 * there was a space between the name's sign and the value, as code has it and `.env` files do not.
 */
export function isCode(value, name, spaced, next) {
    if (value.length > 100)
        return false;
    if (CODE_ROOT.test(value) || KNOWN_CALL.test(value) || (spaced && CALL.test(value)))
        return true;
    if (!IDENTIFIER.test(value))
        return false;
    if (value === name)
        return true;
    return /[A-Z_.]/.test(value) && ',);}'.includes(next) && secretKeyStrength(value) !== undefined;
}
/** Letters and digits mixed, or long: what a token looks like and a word does not. */
export function looksRandom(value) {
    if (value.length < 6)
        return false;
    if (/\d/.test(value))
        return /[A-Za-z]/.test(value) || value.length <= 64;
    return (/[!@#$%^&*+=~]/.test(value) ||
        (value.length >= 12 && /[a-z][A-Z]|[A-Z][a-z].*[A-Z]/.test(value)) ||
        value.length >= 24);
}
/** Strict, for a name and a value with nothing but a space between them. */
export function looksGenerated(value) {
    return (value.length >= 16 &&
        /^\w[\w+/=.~-]*$/.test(value) &&
        /\d/.test(value) &&
        /[a-z]/.test(value) &&
        /[A-Z]/.test(value));
}
