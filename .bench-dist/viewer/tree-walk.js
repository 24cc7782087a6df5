/** Every span of a tree, parents before children, without recursion. */
export function* walkTree(tree) {
    const open = stepsOf(tree.roots, undefined);
    for (let step = open.pop(); step !== undefined; step = open.pop()) {
        yield step;
        for (const child of stepsOf(step.node.children, step))
            open.push(child);
    }
}
/** In reverse: what is pushed last is drawn first. */
function stepsOf(nodes, parent) {
    const depth = parent === undefined ? 0 : parent.depth + 1;
    return nodes.map((node, index) => ({ node, depth, isLast: index === nodes.length - 1, parent })).reverse();
}
