import { paintLine } from './ansi-paint.js';
import { padEndToWidth, padStartToWidth } from './display-width.js';
import { humanDuration } from './human-figures.js';
import { clipSegments, segment, segmentsWidth } from './segments.js';
import { namespaceOfTree } from './span-attributes.js';
import { summarize } from './trace-summary.js';
import { ARROW, GAP, MARGIN, planColumns } from './tree-columns.js';
import { headerFigures, headerTime, headerTitle, totalFigures } from './tree-header.js';
import { endingOf, inputText, outputText, titleOf, treeRows } from './tree-rows.js';
import { waterfallBar } from './waterfall.js';
const DEFAULT_WIDTH = 100;
const LEAST_WIDTH = 20;
/** The tree of one trace for the terminal, lines joined by line ends. No line is wider than `width`. */
export function renderTree(tree, options = {}) {
    const width = Math.max(LEAST_WIDTH, Math.floor(options.width ?? DEFAULT_WIDTH));
    const namespace = options.namespace ?? namespaceOfTree(tree);
    const rows = treeRows(tree, namespace);
    const columns = planColumns(rows, width);
    const lines = [...headerLines(tree, namespace, width), [], ...rows.map(row => rowLine(row, tree, columns))];
    return lines.map(line => paintLine(line, options.color ?? false)).join('\n');
}
/** One line for several traces: `3 traces · 42.1 s · 39 spans · 3 errors`. */
export function renderTotals(trees, options = {}) {
    const width = Math.max(LEAST_WIDTH, Math.floor(options.width ?? DEFAULT_WIDTH));
    const totals = totalFigures(trees.map(tree => summarize(tree, options.namespace)));
    return paintLine(clipSegments([blank(MARGIN), ...totals], width), options.color ?? false);
}
function headerLines(tree, namespace, width) {
    const summary = summarize(tree, namespace);
    const time = segment('dim', headerTime(summary));
    const title = [segment(summary.outcome?.tone ?? 'dim', '● '), ...headerTitle(summary, tree.traceId)];
    const room = width - segmentsWidth([time]) - GAP.length;
    const figures = clipSegments([blank(MARGIN), ...headerFigures(summary)], width);
    if (room < segmentsWidth(title))
        return [clipSegments(title, width), figures];
    return [[...title, blank(width - segmentsWidth([...title, time])), time], figures];
}
function blank(width) {
    return segment('plain', ' '.repeat(Math.max(0, width)));
}
function rowLine(row, tree, columns) {
    const title = clipSegments([segment('dim', branches(row.step, columns.levels)), ...titleOf(row)], columns.title);
    return [
        blank(MARGIN),
        ...title,
        blank(columns.title - segmentsWidth(title)),
        ...barCell(row, tree, columns.bar),
        ...durationCell(row, columns.duration),
        ...tokensCell(row, columns),
        ...endingCell(row, columns.ending),
    ];
}
function barCell({ facts, step }, tree, width) {
    if (width === 0)
        return [];
    const bar = waterfallBar(facts.kind, step.node.span, tree, width);
    return [segment('plain', GAP), segment(facts.isError ? 'error' : facts.kind, bar)];
}
function durationCell({ facts }, width) {
    if (width === 0)
        return [];
    return [segment('plain', GAP + padStartToWidth(humanDuration(facts.durationMillis), width))];
}
function tokensCell({ facts }, columns) {
    if (columns.input === 0)
        return [];
    if (facts.tokens === undefined)
        return [blank(GAP.length + columns.input + ARROW.length + columns.output)];
    return [
        segment('plain', GAP + padStartToWidth(inputText(facts.tokens), columns.input)),
        segment('dim', ARROW),
        segment('plain', padEndToWidth(outputText(facts.tokens), columns.output)),
    ];
}
function endingCell(row, width) {
    return width === 0 ? [] : [segment('plain', GAP), ...clipSegments(endingOf(row), width)];
}
/**
 * `│  └─ `. Ten thousand levels of it would be more text than anybody's memory, so only the innermost levels are
 * drawn and the ones outside are counted.
 */
function branches(step, levels) {
    if (step.depth === 0)
        return '';
    const drawn = [step.isLast ? '└─ ' : '├─ '];
    let outer = step.parent;
    for (; outer !== undefined && outer.depth > 0 && drawn.length < levels; outer = outer.parent) {
        drawn.push(outer.isLast ? '   ' : '│  ');
    }
    const hidden = outer?.depth ?? 0;
    if (hidden > 0)
        drawn.push(`⋯${hidden} `);
    return drawn.reverse().join('');
}
