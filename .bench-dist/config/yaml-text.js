import { createRequire } from 'node:module';
import { CopyBudget, emptyMap, Unusable } from './plain.js';
const FAULTS = {
    BAD_INDENT: 'the indentation is wrong, or a bracket or quote is not closed',
    BLOCK_AS_IMPLICIT_KEY: 'there is a mapping where a value should be (a missing line break, or quotes)',
    DUPLICATE_KEY: 'the same key is there twice',
    MISSING_CHAR: 'a quote, bracket, comma, colon or space is missing',
    MULTILINE_IMPLICIT_KEY: 'a key is followed by no colon',
    MULTIPLE_DOCS: 'there is more than one document',
    NON_STRING_KEY: 'a key is not text',
    TAB_AS_INDENT: 'there is a tab where only spaces may be',
};
/** YAML 1.2, of which JSON is a part. Never throws. */
export function parseYaml(text) {
    try {
        return parse(text, createRequire(import.meta.url)('yaml'));
    }
    catch (error) {
        // The parser recurses, so what is nested deeply enough ends the stack.
        return { fault: error instanceof RangeError ? 'it is nested too deeply' : 'the YAML parser failed' };
    }
}
function parse(text, yaml) {
    const lineCounter = new yaml.LineCounter();
    const document = yaml.parseDocument(text, {
        // Every scalar stays the text that was written: 1.10 is not 1.1, and types are the key table's business.
        schema: 'failsafe',
        prettyErrors: false,
        stringKeys: true,
        logLevel: 'error',
        lineCounter,
    });
    const [error] = document.errors;
    if (error)
        return faultOf(error, lineCounter);
    if (!document.contents || isNothing(document.contents, yaml))
        return { values: emptyMap(), lines: new Map() };
    const reader = new NodeReader(yaml, document, lineCounter);
    const values = yaml.isMap(document.contents) ? reader.read(document.contents, '', 0) : undefined;
    return values && !(values instanceof Unusable)
        ? { values: values, lines: reader.lines }
        : { fault: 'expected a mapping of keys to values', line: 1, column: 1 };
}
// The parser's own messages quote the file, and with it whatever secret stands there.
function faultOf(error, lineCounter) {
    const { line, col } = lineCounter.linePos(error.pos[0]);
    return { fault: FAULTS[error.code] ?? 'it is not valid YAML', line, column: col };
}
function isNothing(node, yaml) {
    return yaml.isScalar(node) && node.type === 'PLAIN' && /^(~|null)?$/i.test(String(node.value ?? ''));
}
/** Turns the parser's nodes into plain data and notes where each of them stands. */
class NodeReader {
    lines = new Map();
    #yaml;
    #document;
    #lineCounter;
    #budget = new CopyBudget();
    constructor(yaml, document, lineCounter) {
        this.#yaml = yaml;
        this.#document = document;
        this.#lineCounter = lineCounter;
    }
    read(node, path, depth) {
        if (this.#budget.spent(depth))
            return new Unusable('something nested too deeply');
        const yaml = this.#yaml;
        if (yaml.isAlias(node))
            return this.read(node.resolve(this.#document), path, depth + 1);
        if (yaml.isMap(node))
            return this.#readMap(node.items, path, depth);
        if (yaml.isSeq(node))
            return node.items.map((item, index) => this.#readItem(item, `${path}[${index}]`, depth));
        return yaml.isScalar(node) && !isNothing(node, yaml) ? String(node.value) : undefined;
    }
    #readMap(items, path, depth) {
        const map = emptyMap();
        for (const { key, value } of items) {
            const name = String(key.value);
            const inner = path === '' ? name : `${path}.${name}`;
            this.#note(inner, key);
            map[name] = this.read(value, inner, depth + 1);
        }
        return map;
    }
    #readItem(item, path, depth) {
        this.#note(path, item);
        return this.read(item, path, depth + 1);
    }
    #note(path, node) {
        const range = this.#yaml.isNode(node) ? node.range : undefined;
        if (range)
            this.lines.set(path, this.#lineCounter.linePos(range[0]).line);
    }
}
