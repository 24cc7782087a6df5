/** Wider lines than these are hard to follow with the eye. */
const MOST_COLUMNS = 160;
const PIPED_COLUMNS = 120;
/** How to draw on this output: colours only where somebody sees them, or asks for them. */
export function lookOf({ stdout, env }) {
    const wantsNone = (env['NO_COLOR'] ?? '') !== '' || env['TERM'] === 'dumb';
    const forced = env['FORCE_COLOR'] ?? '';
    const color = !wantsNone && (stdout.isTTY || (forced !== '' && forced !== '0'));
    // Some terminals say that they have no columns at all.
    const columns = (stdout.columns ?? 0) || columnsOf(env['COLUMNS']) || PIPED_COLUMNS;
    return { width: Math.min(MOST_COLUMNS, columns), color };
}
function columnsOf(text) {
    return /^\d{1,6}$/.test(text ?? '') ? Number(text) : 0;
}
