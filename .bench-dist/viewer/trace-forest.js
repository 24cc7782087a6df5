/**
 * Puts spans together into trees, a trace each, in the order of their starts. Of several spans with one id the last
 * wins. Every span appears exactly once, whatever its parent says. Nothing here recurses: a trace may be any depth.
 */
export function buildForest(spans) {
    const traces = new Map();
    for (const span of spans) {
        const trace = traces.get(span.traceId);
        if (trace === undefined)
            traces.set(span.traceId, new Map([[span.spanId, span]]));
        else
            trace.set(span.spanId, span);
    }
    return [...traces].map(([traceId, trace]) => buildTree(traceId, trace)).sort((a, b) => a.startAt - b.startAt);
}
function buildTree(traceId, spans) {
    const nodes = new Map();
    for (const span of [...spans.values()].sort((a, b) => a.startAt - b.startAt)) {
        nodes.set(span.spanId, { span, children: [], order: nodes.size, orphan: false, reached: false });
    }
    const roots = attachToParents(nodes);
    for (const root of roots)
        markReached(root);
    for (const node of nodes.values())
        if (!node.reached)
            roots.push(cutCircle(node, nodes));
    roots.sort((a, b) => a.order - b.order);
    return { traceId, roots, spanCount: nodes.size, ...extent(spans.values()) };
}
function parentOf(node, nodes) {
    return node.span.parentSpanId === undefined ? undefined : nodes.get(node.span.parentSpanId);
}
/** The nodes come sorted, so the children do, too. */
function attachToParents(nodes) {
    const roots = [];
    for (const node of nodes.values()) {
        const parent = parentOf(node, nodes);
        node.orphan = parent === undefined && node.span.parentSpanId !== undefined;
        if (parent === undefined)
            roots.push(node);
        else
            parent.children.push(node);
    }
    return roots;
}
function markReached(root) {
    const open = [root];
    for (let node = open.pop(); node !== undefined; node = open.pop()) {
        node.reached = true;
        for (const child of node.children)
            if (!child.reached)
                open.push(child);
    }
}
/** What no root reaches hangs on a circle of parents. The circle is opened at its earliest span, which becomes a root. */
function cutCircle(start, nodes) {
    const walked = new Set();
    let node = start;
    for (let next = parentOf(node, nodes); next !== undefined && !walked.has(node); next = parentOf(node, nodes)) {
        walked.add(node);
        node = next;
    }
    const earliest = earliestInCircle(node, nodes);
    const siblings = parentOf(earliest, nodes)?.children;
    siblings?.splice(siblings.indexOf(earliest), 1);
    earliest.orphan = true;
    markReached(earliest);
    return earliest;
}
function earliestInCircle(member, nodes) {
    let earliest = member;
    for (let node = parentOf(member, nodes); node !== undefined && node !== member; node = parentOf(node, nodes)) {
        if (node.order < earliest.order)
            earliest = node;
    }
    return earliest;
}
/** Not `Math.min(...all)`: a trace may have more spans than a call may have arguments. */
function extent(spans) {
    let startAt = Number.POSITIVE_INFINITY;
    let endAt = Number.NEGATIVE_INFINITY;
    for (const span of spans) {
        startAt = Math.min(startAt, span.startAt);
        endAt = Math.max(endAt, span.endAt, span.startAt);
    }
    return { startAt, endAt };
}
