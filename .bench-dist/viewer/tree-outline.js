import { displayText } from './display-text.js';
import { humanDuration } from './human-figures.js';
import { namespaceOfTree, SpanAttributes } from './span-attributes.js';
import { walkTree } from './tree-walk.js';
/** Indenting ten thousand levels would take a hundred megabytes of blanks; deeper ones are told by their number. */
const MAX_INDENT = 100;
/**
 * A trace as plain text to compare in tests: a span a line, two blanks a level.
 *
 * @example
 * agent OK
 *   llm.qwen3-coder-30b OK
 *     api.qwen3-coder-30b ERROR RateLimitError
 *     tool.terminal UNSET (incomplete: turn_ended) [hermes.tool.command=ls]
 */
export function outline(tree, options = {}) {
    const namespace = options.namespace ?? namespaceOfTree(tree);
    return Array.from(walkTree(tree), step => indentOf(step) + describe(step.node, namespace, options)).join('\n');
}
function indentOf({ depth }) {
    return depth <= MAX_INDENT ? '  '.repeat(depth) : `${'  '.repeat(MAX_INDENT)}(level ${depth}) `;
}
function describe(node, namespace, options) {
    const { span } = node;
    const parts = [
        displayText(span.name),
        (options.status ?? true) ? statusText(new SpanAttributes(span, namespace)) : '',
        options.durations === true ? humanDuration(span.endAt - span.startAt) : '',
        ...flags(node, new SpanAttributes(span, namespace)),
        attributesText(node, options.attributes ?? []),
    ];
    return parts.filter(part => part !== '').join(' ');
}
function statusText(attributes) {
    const { status } = attributes.span;
    return `${status.toUpperCase()} ${status === 'error' ? attributes.text('error.type') : ''}`.trim();
}
function flags(node, attributes) {
    const incomplete = attributes.text('.span.incomplete');
    const correlation = attributes.text('.correlation');
    return [
        incomplete === '' ? '' : `(incomplete: ${incomplete})`,
        attributes.isTrue('.span.retroactive') ? '(retroactive)' : '',
        correlation === '' ? '' : `(${correlation})`,
        node.orphan ? '(parent missing)' : '',
    ];
}
function attributesText(node, names) {
    const { attributes } = node.span;
    const shown = names
        .filter(name => Object.hasOwn(attributes, name))
        .map(name => `${name}=${valueText(attributes[name] ?? null)}`);
    return shown.length === 0 ? '' : `[${shown.join(', ')}]`;
}
/** Quoted as soon as the end of the value would not be plain to see. */
function valueText(value) {
    if (typeof value === 'string' && /^[^\s,[\]"]+$/.test(value))
        return displayText(value);
    return displayText(JSON.stringify(value));
}
