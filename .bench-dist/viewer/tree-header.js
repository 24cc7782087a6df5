import { displayText } from './display-text.js';
import { countOf, humanCount, humanDuration, humanInstant } from './human-figures.js';
import { segment, spaced } from './segments.js';
import { tokensText } from './tree-rows.js';
/** Agent, session and turn; the trace's id where nothing else is known. */
export function headerTitle(summary, traceId) {
    const id = summary.sessionId === '' ? `trace ${displayText(traceId)}` : summary.sessionId;
    const turn = summary.turnNumber === undefined ? '' : `turn ${humanCount(summary.turnNumber)}`;
    return spaced([segment('strong', summary.agent), segment('plain', id), segment('dim', turn)], ' · ');
}
export function headerTime(summary) {
    return humanInstant(summary.startAt);
}
/** `completed · 14.2 s · 4 150 → 206 tokens · 13 spans · 1 error · + 1 176 tokens in sub-agents`. */
export function headerFigures(summary) {
    const { outcome, tokens, subagentTokens, errorCount } = summary;
    return spaced([
        outcome ?? segment('dim', ''),
        segment('plain', humanDuration(summary.durationMillis)),
        segment('plain', tokens === undefined ? '' : `${tokensText(tokens)} tokens`),
        segment('plain', countOf(summary.spanCount, 'span')),
        segment('error', errorCount === 0 ? '' : countOf(errorCount, 'error')),
        segment('dim', subagentTokens === undefined ? '' : `+ ${humanCount(subagentTokens)} tokens in sub-agents`),
        segment('dim', summary.model),
    ], ' · ');
}
export function totalFigures(summaries) {
    const sum = (figure) => summaries.reduce((total, summary) => total + (figure(summary) ?? 0), 0);
    const errorCount = sum(summary => summary.errorCount);
    const tokens = { input: sum(({ tokens }) => tokens?.input), output: sum(({ tokens }) => tokens?.output) };
    const parts = [
        segment('dim', countOf(summaries.length, 'trace')),
        segment('dim', humanDuration(sum(summary => summary.durationMillis))),
        segment('dim', tokens.input + tokens.output === 0 ? '' : `${tokensText(tokens)} tokens`),
        segment('dim', countOf(sum(summary => summary.spanCount), 'span')),
        segment('error', errorCount === 0 ? '' : countOf(errorCount, 'error')),
    ];
    return spaced(parts, ' · ');
}
