import { clipToWidth, displayWidth } from './display-width.js';
export function segment(tone, text) {
    return { tone, text };
}
export function segmentsWidth(segments) {
    return segments.reduce((width, { text }) => width + displayWidth(text), 0);
}
/** Puts a gap between segments and leaves out the empty ones. */
export function spaced(segments, gap = ' ') {
    const filled = segments.filter(({ text }) => text !== '');
    return filled.flatMap((each, index) => (index === 0 ? [each] : [segment('dim', gap), each]));
}
/** The first `width` cells, the last of them an ellipsis when something was cut. */
export function clipSegments(segments, width) {
    if (segmentsWidth(segments) <= width)
        return segments;
    const clipped = [];
    let left = width;
    for (const { tone, text } of segments) {
        // One cell is kept for the ellipsis: what follows a text that just fits would have to be cut to nothing.
        const fitting = displayWidth(text) < left ? text : clipToWidth(`${text} …`, left);
        clipped.push({ tone, text: fitting });
        left -= displayWidth(fitting);
        if (fitting !== text)
            break;
    }
    return clipped;
}
