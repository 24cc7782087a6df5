import { keepAll } from './clip.js';
import { ADDRESSES } from './secret-addresses.js';
import { ASSIGNMENTS } from './secret-assignments.js';
import { COMMAND_CREDENTIALS, SCHEMED_CREDENTIALS } from './secret-credentials.js';
import { MASK, maskSpans } from './secret-span.js';
import { PREFIXED_TOKENS, UNSEPARATED_TOKENS } from './secret-tokens.js';
export { isSecretKey } from './secret-keys.js';
const PIECE = 8192;
const OVERLAP = 1024;
/**
 * An own pattern may scan a long run again from each of its characters (`\w+@` over hexadecimal), so it sees a long
 * text in pieces: what it costs grows with the text and not with its square. A match longer than `OVERLAP` may be cut.
 */
function maskOwn(text, pattern) {
    let masked = '';
    let kept = 0;
    for (let from = 0; from < text.length; from += PIECE - OVERLAP) {
        const isLast = from + PIECE >= text.length;
        const piece = isLast ? text : text.slice(0, from + PIECE);
        const border = isLast ? text.length : from + PIECE - OVERLAP;
        pattern.lastIndex = Math.max(from, kept);
        for (let hit = pattern.exec(piece); hit !== null && hit.index < border; hit = pattern.exec(piece)) {
            masked += text.slice(kept, hit.index) + MASK;
            kept = hit.index + hit[0].length;
            if (hit[0] === '')
                pattern.lastIndex++;
        }
        if (isLast)
            break;
    }
    return kept === 0 ? text : masked + text.slice(kept);
}
/** Assignments come last: what they name may have been masked more closely before. */
const FAMILIES = [
    UNSEPARATED_TOKENS,
    PREFIXED_TOKENS,
    ADDRESSES,
    SCHEMED_CREDENTIALS,
    COMMAND_CREDENTIALS,
    ASSIGNMENTS,
];
/**
 * Masks the secrets inside a text with `[REDACTED]`. Linear in the text; masking twice changes nothing more. `keepAll`
 * when it is not enabled.
 */
export function createRedactor({ enabled, patterns }) {
    if (!enabled)
        return keepAll;
    return text => {
        let masked = text;
        for (const pattern of patterns)
            masked = maskOwn(masked, pattern);
        for (const family of FAMILIES)
            masked = maskSpans(masked, family);
        return masked;
    };
}
