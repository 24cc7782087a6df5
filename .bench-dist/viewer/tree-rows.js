import { humanCount } from './human-figures.js';
import { segment, spaced } from './segments.js';
import { namespaceOfTree } from './span-attributes.js';
import { factsOf } from './span-facts.js';
import { walkTree } from './tree-walk.js';
export function treeRows(tree, namespace = namespaceOfTree(tree)) {
    return Array.from(walkTree(tree), step => ({ step, facts: factsOf(step.node, namespace) }));
}
/** Name, attempt and hint. */
export function titleOf({ facts }) {
    return spaced([
        segment(facts.isError ? 'error' : facts.kind, facts.name),
        segment('warn', facts.attempt),
        segment('dim', facts.hint),
    ], '  ');
}
/** Outcome and marks. */
export function endingOf({ facts }) {
    return spaced(facts.outcome === undefined ? facts.marks : [facts.outcome, ...facts.marks], '  ');
}
export function inputText(tokens) {
    return tokens === undefined ? '' : figure(tokens.input);
}
export function outputText(tokens) {
    return tokens === undefined ? '' : figure(tokens.output);
}
function figure(count) {
    return count === undefined ? '–' : humanCount(count);
}
/** `1 840 → 148`. */
export function tokensText(tokens) {
    return `${inputText(tokens)} → ${outputText(tokens)}`;
}
