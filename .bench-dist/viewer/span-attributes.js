import { displayText } from './display-text.js';
const DEFAULT_NAMESPACE = 'hermes';
/** Reads a span's attributes by the names they were written under. A name that starts with a dot is an own one. */
export class SpanAttributes {
    span;
    #namespace;
    constructor(span, namespace) {
        this.span = span;
        this.#namespace = namespace;
    }
    /** The first of these that is text, a number or a boolean, made printable; empty when none is. */
    text(...names) {
        for (const name of names) {
            const value = this.#value(name);
            const text = typeof value === 'object' || value === undefined ? '' : displayText(String(value));
            if (text !== '')
                return text;
        }
        return '';
    }
    /** The first of these that is a number. */
    number(...names) {
        for (const name of names) {
            const value = this.#value(name);
            if (typeof value === 'number' && Number.isFinite(value))
                return value;
        }
        return undefined;
    }
    isTrue(name) {
        return this.#value(name) === true;
    }
    /** The first entry of a list. */
    first(name) {
        const value = this.#value(name);
        const entry = Array.isArray(value) ? value[0] : undefined;
        return typeof entry === 'string' ? displayText(entry) : '';
    }
    #value(name) {
        const key = name.startsWith('.') ? this.#namespace + name : name;
        return Object.hasOwn(this.span.attributes, key) ? this.span.attributes[key] : undefined;
    }
}
/** The namespace is configurable and stands in no attribute: it is read off the name of the kind. */
function namespaceOf(span) {
    const key = Object.keys(span.attributes).find(name => name.endsWith('.span.kind') && name !== 'openinference.span.kind' && name.length < 100);
    return key?.slice(0, -'.span.kind'.length);
}
/** The namespace of the first root that tells. */
export function namespaceOfTree(tree) {
    for (const root of tree.roots) {
        const namespace = namespaceOf(root.span);
        if (namespace !== undefined)
            return namespace;
    }
    return DEFAULT_NAMESPACE;
}
const OWN_KINDS = new Set([
    'session',
    'llm',
    'api',
    'tool',
    'subagent',
    'approval',
    'skill',
    'auxiliary',
]);
const FOREIGN_KINDS = new Map([
    ['AGENT', 'session'],
    ['CHAIN', 'llm'],
    ['LLM', 'api'],
    ['TOOL', 'tool'],
    ['invoke_agent', 'session'],
    ['create_agent', 'session'],
    ['chat', 'api'],
    ['text_completion', 'api'],
    ['generate_content', 'api'],
    ['execute_tool', 'tool'],
]);
/** The kind by our own attribute, else by the conventions that other producers follow. */
export function drawnKind(attributes) {
    const own = attributes.text('.span.kind');
    if (OWN_KINDS.has(own))
        return own;
    const operation = FOREIGN_KINDS.get(attributes.text('gen_ai.operation.name'));
    return operation ?? FOREIGN_KINDS.get(attributes.text('openinference.span.kind')) ?? 'other';
}
