import { displayText } from './display-text.js';
import { humanCount } from './human-figures.js';
import { segment } from './segments.js';
import { drawnKind, SpanAttributes } from './span-attributes.js';
import { outcomeOf } from './span-outcome.js';
export function factsOf(node, namespace) {
    const { span } = node;
    const attributes = new SpanAttributes(span, namespace);
    const kind = drawnKind(attributes);
    return {
        kind,
        name: displayText(span.name) || '(no name)',
        attempt: attemptOf(attributes),
        hint: hintOf(kind, attributes),
        durationMillis: span.endAt - span.startAt,
        tokens: tokensOf(kind, attributes),
        outcome: outcomeOf(kind, attributes),
        marks: marksOf(node, attributes),
        isError: span.status === 'error',
    };
}
/** The first attempt is the normal case and says nothing. */
function attemptOf(attributes) {
    const attempt = attributes.number('.api.attempt') ?? 0;
    return attempt > 0 ? `attempt ${attempt}` : '';
}
const HINT_NAMES = {
    session: ['input.value'],
    llm: [],
    api: ['gen_ai.request.model', 'llm.model_name'],
    tool: ['.tool.command', '.tool.target', 'input.value', 'gen_ai.tool.call.arguments'],
    subagent: ['.subagent.goal', 'input.value'],
    approval: ['.approval.command', '.approval.description'],
    skill: ['.skill.path', '.skill.source'],
    auxiliary: ['gen_ai.request.model', 'llm.model_name'],
    other: [],
};
function hintOf(kind, attributes) {
    const { span } = attributes;
    const isRequest = kind === 'api' || kind === 'auxiliary';
    if (span.status === 'error' && isRequest && span.statusMessage !== undefined)
        return displayText(span.statusMessage);
    const hint = attributes.text(...HINT_NAMES[kind]);
    const said = isRequest && span.name.includes(hint) ? '' : hint;
    return isRequest ? [said, cachedText(attributes)].filter(part => part !== '').join(' · ') : said;
}
/** What the request cost depends on it more than on anything else that a line could say. */
function cachedText(attributes) {
    const cached = attributes.number('gen_ai.usage.cache_read.input_tokens', 'llm.token_count.prompt_details.cache_read');
    return cached === undefined || cached <= 0 ? '' : `${humanCount(cached)} cached`;
}
/** A session's are its turn's totals, under names that no backend adds up a second time. */
export function tokensOf(kind, attributes) {
    const own = kind === 'session';
    const input = attributes.number(own ? '.turn.tokens.input' : 'gen_ai.usage.input_tokens', 'llm.token_count.prompt');
    const output = attributes.number(own ? '.turn.tokens.output' : 'gen_ai.usage.output_tokens', 'llm.token_count.completion');
    return input === undefined && output === undefined ? undefined : { input, output };
}
function marksOf(node, attributes) {
    const marks = [
        ['warn', prefixed('! ', attributes.text('.span.incomplete'))],
        ['warn', node.orphan ? '? parent missing' : ''],
        ['dim', attributes.isTrue('.span.retroactive') ? '~ retroactive' : ''],
        ['dim', prefixed('? ', attributes.text('.correlation'))],
    ];
    return marks.filter(([, text]) => text !== '').map(([tone, text]) => segment(tone, text));
}
function prefixed(prefix, text) {
    return text === '' ? '' : prefix + text;
}
