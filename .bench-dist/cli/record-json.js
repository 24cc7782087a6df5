/** A string (kept as it is), or what JSON has no word for: Python writes it all the same, and an event is lost with it. */
const STRING_OR_BARE_NUMBER = /"(?:[^"\\]|\\.)*(?:"|$)|-?\b(?:NaN|Infinity)\b/g;
/** JSON in which a number may be a bare NaN or Infinity; these are null. */
export function parseRecordJson(text) {
    try {
        return { value: JSON.parse(text) };
    }
    catch (error) {
        const repaired = text.replace(STRING_OR_BARE_NUMBER, found => (found.startsWith('"') ? found : 'null'));
        return repaired === text ? { problem: problemOf(error, text) } : parseRepaired(repaired);
    }
}
function parseRepaired(text) {
    try {
        return { value: JSON.parse(text) };
    }
    catch {
        return { problem: 'not JSON' };
    }
}
/** The engine's own message quotes the line, which is somebody's content. */
function problemOf(error, text) {
    const message = error instanceof Error ? error.message : '';
    const position = /at position (\d+)/.exec(message)?.[1];
    if (message.startsWith('Unexpected end') || Number(position) >= text.trimEnd().length) {
        return 'not JSON: it ends too early';
    }
    return position === undefined ? 'not JSON' : `not JSON from column ${Number(position) + 1} on`;
}
