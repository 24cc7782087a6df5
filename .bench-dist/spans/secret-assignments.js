import { secretKeyStrength } from './secret-keys.js';
import { endOfQuoted, endOfStructure, quoteLevel } from './secret-quotes.js';
import { afterEscape, endOfMatch, isWordCharacter, MASK } from './secret-span.js';
import { isCode, isPlaceholder, isSpokenOf, looksGenerated, looksRandom } from './secret-values.js';
const LONGEST_NAME = 64;
const SEPARATOR = /(\\{0,15}["'`])?(\]?)[?!]?(\s{0,8}(?:=>|={1,3}|:=|:(?!:|\/\/)|%3[Dd])\s{0,8}|>|\s{1,8})/y;
const OPENING = /[bfru]{0,2}(\\{0,15}["'`])/iy;
const CLOSES_INSTEAD = /[\s,;:)}\]]|$/y;
/** A comma or semicolon ends a value when the next assignment, or nothing of the value's, follows. */
const BARE = /(?:[^\s"'`\\&;,<]|\\(?![nrt"'`])[\s\S]|[,;](?![\s"'\\{[]|$|[\w. -]{1,40}[=:]))+/y;
/** What JSON allows without quotes. */
const SCALAR = /[^\s,}\]"'`\\]+/y;
const COOKIES = /[^\s"'`\\;]+(?:;\s?[^\s"'`\\;]+)*/y;
const SCHEME = /(?:bearer|basic|token|bot|apikey|api-key|negotiate|ntlm|googlelogin|key|digest|hawk|oauth|signature|aws4-hmac-sha256)\s+/iy;
const CREDENTIAL_LIST = /(?:[\w-]{1,30}=(?:"(?![\s,:}\]])[^"]{0,400}"|\\"[^"\\]{0,400}\\"|[^\s,"'\\]{1,400})(?:,\s?|$|(?=[\s"'])))+/y;
const ENVIRONMENT_NAME = /^[A-Z][A-Z\d]*_[A-Z\d_]+$/;
const NAMES_A_KEY = /(?:api|access|secret|private|encryption|signing|master|account) $/i;
const BEFORE_PASSWORD = /(?:\blogin \S{1,64}|identified by|with|encrypted|\bset) $/i;
function isNameCharacter(code) {
    return isWordCharacter(code) || code === 95 || code === 45 || code === 46;
}
/** From anywhere in a name to its ends; undefined when it is longer than a name. */
function nameAround(text, at) {
    let start = at;
    let end = at;
    while (start > 0 && isNameCharacter(text.charCodeAt(start - 1)))
        if (at - --start > LONGEST_NAME)
            return undefined;
    while (end < text.length && isNameCharacter(text.charCodeAt(end)))
        if (++end - at > LONGEST_NAME)
            return undefined;
    while (end > at && '-.'.includes(text.charAt(end - 1)))
        end--;
    return { start: afterEscape(text, start), end };
}
function assignmentAt(text, at) {
    const around = nameAround(text, at);
    if (around === undefined)
        return undefined;
    const name = text.slice(around.start, around.end);
    const strength = strengthOf(text, name, around.start);
    if (strength === undefined)
        return undefined;
    SEPARATOR.lastIndex = around.end;
    const separator = SEPARATOR.exec(text);
    if (separator === null)
        return undefined;
    const [, closing = '', bracket = '', sign = ''] = separator;
    const quote = closing === '' ? '' : closing.slice(closing.length - 1 - quoteLevel(closing, closing.length - 1, 0));
    return {
        text,
        name,
        nameStart: around.start,
        strength,
        quote,
        isKey: /["']$/.test(quote) && bracket === '',
        sign: sign.trim(),
        spaced: /\s$/.test(sign),
        valueAt: SEPARATOR.lastIndex,
    };
}
function strengthOf(text, name, start) {
    if (/^keys?$/i.test(name))
        return NAMES_A_KEY.test(text.slice(Math.max(0, start - 12), start)) ? 'weak' : undefined;
    return secretKeyStrength(name);
}
function valueSpan(found) {
    // Before anything looks for the value's end: masked text is gone through again, and may be long.
    if (found.text.startsWith(MASK, found.valueAt))
        return undefined;
    if (found.sign === '>')
        return elementSpan(found);
    if (found.sign === '' && !mayFollowSpace(found))
        return undefined;
    return quotedSpan(found) ?? (beginsStructure(found) ? structureSpan(found) : bareSpan(found));
}
/** `<password>…</password>` */
function elementSpan({ text, nameStart, valueAt }) {
    if (!'<:'.includes(text.charAt(nameStart - 1) || ' '))
        return undefined;
    let end = text.indexOf('<', valueAt);
    const isClosed = end !== -1 && text[end + 1] === '/';
    if (end === -1)
        end = text.length;
    const value = text.slice(valueAt, end);
    return isPlaceholder(value) || (isClosed ? /"\s*[,:}\]]/ : /[\s"]/).test(value) ? undefined : { start: valueAt, end };
}
/** A flag's value, a netrc line, SQL's `PASSWORD '…'`, or a name of several words followed by what can only be a key. */
function mayFollowSpace({ text, name, nameStart, quote, valueAt }) {
    if (quote !== '')
        return false;
    const value = text.slice(valueAt, valueAt + 100);
    if (name.startsWith('-'))
        return !/^[-|&;<>]/.test(value);
    if (/^password$/i.test(name) && BEFORE_PASSWORD.test(text.slice(Math.max(0, nameStart - 80), nameStart)))
        return true;
    return /[a-z][_-][a-z]/i.test(name) && looksGenerated(/^\S*/.exec(value)?.[0] ?? '');
}
function quotedSpan(found) {
    const { text, valueAt, isKey, quote, strength } = found;
    OPENING.lastIndex = valueAt;
    const opening = OPENING.exec(text)?.[1];
    if (opening === undefined || quoteLevel(opening, opening.length - 1, 0) < opening.length - 1)
        return undefined;
    const start = OPENING.lastIndex;
    // In `{"note": "the password:", …}` the quote behind the sign closes the string that the name stands in.
    if (opening !== quote && endOfMatch(CLOSES_INSTEAD, text, start) !== -1)
        return undefined;
    if (text.startsWith(MASK, start))
        return undefined;
    const end = endOfQuoted(text, start, opening);
    const value = text.slice(start, end);
    if (isPlaceholder(value) || (!isKey && strength === 'weak' && value.length < 6))
        return undefined;
    return { start, end };
}
/** A password of a `.env` file may begin with a bracket; where code or JSON has a value, that opens something. */
function beginsStructure({ text, valueAt, sign, spaced }) {
    return /[{[]/.test(text.charAt(valueAt)) && (sign === ':' || spaced);
}
/** Masked as a whole only where JSON says how far it reaches; else what is inside speaks for itself. */
function structureSpan({ text, valueAt, isKey, quote }) {
    if (!isKey || /[}\]]/.test(text.charAt(valueAt + 1)))
        return undefined;
    return { start: valueAt, end: endOfStructure(text, valueAt, quote), mask: `${quote}${MASK}${quote}` };
}
function bareSpan(found) {
    const { text, valueAt, isKey, quote } = found;
    const header = headerSpan(found);
    if (header !== undefined)
        return isPlaceholder(text.slice(header.start, header.end)) ? undefined : header;
    const end = isKey ? endOfMatch(SCALAR, text, valueAt) : endOfBare(text, valueAt);
    if (end <= valueAt)
        return undefined;
    const value = text.slice(valueAt, end);
    if (!isSecretValue(value, text.charAt(end), found))
        return undefined;
    return isKey ? { start: valueAt, end, mask: `${quote}${MASK}${quote}` } : { start: valueAt, end };
}
function isSecretValue(value, next, found) {
    const { name, sign, spaced, strength, isKey } = found;
    const isGlued = sign === '=' && !spaced;
    if (isPlaceholder(value) || isSpokenOf(value, !isGlued) || isCode(value, name, spaced, next))
        return false;
    if (/^-*pwd$/i.test(name) && /^(?:[~./]|[A-Za-z]:)/.test(value))
        return false;
    if (strength === 'strong' || isKey || sign === '')
        return true;
    return (isGlued && ENVIRONMENT_NAME.test(name)) || looksRandom(value);
}
/** The sentence's punctuation, and closing brackets that the value did not open, belong to what stands around it. */
function endOfBare(text, start) {
    const longest = endOfMatch(BARE, text, start);
    if (longest <= start)
        return start;
    const value = text.slice(start, longest);
    // Looked for once: a value can end with any number of brackets.
    const foreign = ['()', '[]', '{}', '<>'].filter(([opening = '']) => !value.includes(opening)).map(pair => pair[1]);
    const endings = `.:${foreign.join('')}`;
    let end = longest;
    while (end > start && endings.includes(text.charAt(end - 1)))
        end--;
    return end;
}
/** Headers hold more than one word: `Authorization: Basic …`, `Cookie: a=…; b=…`. */
function headerSpan({ text, name, valueAt, sign, isKey }) {
    if (isKey || sign === '')
        return undefined;
    if (/cookies?$/i.test(name)) {
        const end = endOfMatch(COOKIES, text, valueAt);
        return end !== -1 && text.slice(valueAt, end).includes('=') ? { start: valueAt, end } : undefined;
    }
    if (!/auth(?:orization)?$/i.test(name))
        return undefined;
    const start = endOfMatch(SCHEME, text, valueAt);
    if (start === -1)
        return undefined;
    const list = endOfMatch(CREDENTIAL_LIST, text, start);
    return { start, end: list === -1 ? endOfBare(text, start) : list };
}
export const ASSIGNMENTS = {
    candidates: /(?:ke[ny]|cre[td]|p(?:ass|wd)|auth|cook|jwt)[\w.-]{0,40}["'`\\\]\s?!]{0,12}[=:\s>%]/gi,
    spanAt(text, at) {
        const found = assignmentAt(text, at);
        return found === undefined ? undefined : valueSpan(found);
    },
};
