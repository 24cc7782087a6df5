import { afterEscape, endOfMatch, isWordCharacter } from './secret-span.js';
import { isPlaceholder } from './secret-values.js';
const SCHEME = /bearer(?:\s+|%20)|basic(?:\s+|%20)/iy;
const TOKEN = /[\w.~+/-]{8,}={0,2}/y;
/** `Bearer error="invalid_token"`: a challenge, not a credential. */
const PARAMETER = /^[a-z_]+=$/;
/** `user:password` in base64. A word (`basic understanding`) decodes to bytes, not to printable text with a colon. */
function isUserAndPassword(base64) {
    const decoded = Buffer.from(base64.slice(0, 400), 'base64').toString('latin1');
    return /^[\x20-\x7e]*:/.test(decoded);
}
function isBearerToken(token) {
    return !PARAMETER.test(token) && (/\d/.test(token) || token.length >= 24);
}
/** `Bearer …` and `Basic …`, wherever they stand. */
export const SCHEMED_CREDENTIALS = {
    candidates: /(?:bearer|basic)(?:\s|%20)/gi,
    spanAt(text, at) {
        const isGlued = at > 0 && isWordCharacter(text.charCodeAt(at - 1));
        if (isGlued && afterEscape(text, at - 1) !== at)
            return undefined;
        const start = endOfMatch(SCHEME, text, at);
        const end = start === -1 ? -1 : endOfMatch(TOKEN, text, start);
        if (end === -1)
            return undefined;
        const token = text.slice(start, end);
        const isBearer = /e/i.test(text.charAt(at + 1));
        return (isBearer ? isBearerToken(token) : isUserAndPassword(token)) ? { start, end } : undefined;
    },
};
const COMMAND_FLAGS = [
    {
        command: /\b(?:curl|wget|https?|xh)\s/,
        flag: /(?:-u|--user)[ =]?\\{0,3}["']?[^\s:"'\\]{1,128}:([^\s"'\\]{1,256})/y,
    },
    { command: /\bsshpass\s/, flag: /-p\s?\\{0,3}["']?([^\s"'\\]{1,256})/y },
    { command: /\b(?:mysql\w*|mariadb\S*)\s/, flag: /-p\\{0,3}["']?([^\s"'\\]{1,256})/y },
    { command: /\bredis-cli\s/, flag: /-a\s{1,8}\\{0,3}["']?([^\s"'\\]{1,256})/y },
];
const REACH = 200;
/** What stands in front of the flag in the same command. */
function commandBefore(text, at) {
    const before = text.slice(Math.max(0, at - REACH), at);
    return before.slice(Math.max(before.lastIndexOf('|'), before.lastIndexOf(';'), before.lastIndexOf('&')) + 1);
}
function passwordAt(text, at) {
    const before = commandBefore(text, at);
    for (const { command, flag } of COMMAND_FLAGS) {
        if (!command.test(before))
            continue;
        flag.lastIndex = at;
        const password = flag.exec(text)?.[1];
        if (password !== undefined && !isPlaceholder(password)) {
            return { start: flag.lastIndex - password.length, end: flag.lastIndex };
        }
    }
    return undefined;
}
export const COMMAND_CREDENTIALS = {
    candidates: /-(?:[upa]|-user)/g,
    spanAt(text, at) {
        return at > 0 && text[at - 1] === ' ' ? passwordAt(text, at) : undefined;
    },
};
