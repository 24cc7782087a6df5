/** Colours of the picture. The card is dark on every page, so it needs to know nothing of the page's theme. */
export const PALETTE = {
    card: '#12151d',
    edge: '#2b3140',
    line: '#3a4254',
    track: '#1a1f2a',
    session: '#f3f5fa',
    llm: '#7aa2f7',
    api: '#5ac8d8',
    tool: '#b794f4',
    subagent: '#f08bc3',
    approval: '#e8b65a',
    skill: '#8fd3ff',
    auxiliary: '#5fa8b5',
    other: '#c9cfdb',
    ok: '#7bd394',
    warn: '#e8b65a',
    error: '#f4717b',
    dim: '#7f899c',
    plain: '#c9cfdb',
    strong: '#f3f5fa',
};
export const FONT_SIZE = 13;
/** Advance of one cell: monospaced faces lie between 0.55 and 0.61 of the size. */
export const CELL = FONT_SIZE * 0.602;
const ENTITIES = new Map([
    ['&', '&amp;'],
    ['<', '&lt;'],
    ['>', '&gt;'],
    ['"', '&quot;'],
    ["'", '&#39;'],
]);
/** For text that `displayText` has made printable: control characters are no XML, escaped or not. */
export function escapeXml(text) {
    return text.replace(/[&<>"']/g, character => ENTITIES.get(character) ?? '');
}
/** Two decimals at most, so that the same trace always gives the same bytes. */
export function coordinate(value) {
    return String(Math.round(value * 100) / 100);
}
export function textAt(x, y, segments, anchor = 'start') {
    if (segments.length === 0)
        return '';
    const end = anchor === 'end' ? ' text-anchor="end"' : '';
    const spans = segments.map(({ tone, text }) => {
        const weight = tone === 'strong' || tone === 'session' ? ' font-weight="600"' : '';
        return `<tspan fill="${PALETTE[tone]}"${weight}>${escapeXml(text)}</tspan>`;
    });
    return `<text x="${coordinate(x)}" y="${coordinate(y)}"${end} xml:space="preserve">${spans.join('')}</text>`;
}
export function rect(x, y, width, height, look) {
    return `<rect x="${coordinate(x)}" y="${coordinate(y)}" width="${coordinate(width)}" height="${coordinate(height)}" ${look}/>`;
}
