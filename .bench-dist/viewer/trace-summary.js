import { drawnKind, namespaceOfTree, SpanAttributes } from './span-attributes.js';
import { tokensOf } from './span-facts.js';
import { outcomeOf } from './span-outcome.js';
import { walkTree } from './tree-walk.js';
export function summarize(tree, namespace = namespaceOfTree(tree)) {
    const main = mainRoot(tree);
    const attributes = main && new SpanAttributes(main.span, namespace);
    const kind = attributes && drawnKind(attributes);
    return {
        agent: attributes?.text('gen_ai.agent.name', '.host') ?? '',
        sessionId: attributes?.text('session.id', '.session.id', 'gen_ai.conversation.id') ?? '',
        turnNumber: attributes?.number('.turn.number'),
        model: attributes?.text('gen_ai.request.model', 'llm.model_name') ?? '',
        startAt: tree.startAt,
        durationMillis: main === undefined ? tree.endAt - tree.startAt : main.span.endAt - main.span.startAt,
        tokens: (attributes && kind && tokensOf(kind, attributes)) ?? requestTokens(tree, namespace),
        subagentTokens: attributes?.number('.turn.subagent_tokens.total'),
        outcome: attributes && kind && outcomeOf(kind, attributes),
        spanCount: tree.spanCount,
        errorCount: countErrors(tree),
    };
}
/** The root of the turn: one that stands where it belongs, rather than one whose parent is missing. */
function mainRoot(tree) {
    return tree.roots.find(root => !root.orphan) ?? tree.roots[0];
}
function countErrors(tree) {
    let count = 0;
    for (const { node } of walkTree(tree))
        if (node.span.status === 'error')
            count += 1;
    return count;
}
/** For traces without totals: the requests alone are added up, because other producers repeat usage on outer spans. */
function requestTokens(tree, namespace) {
    let input = 0;
    let output = 0;
    for (const { node } of walkTree(tree)) {
        const attributes = new SpanAttributes(node.span, namespace);
        const kind = drawnKind(attributes);
        const tokens = kind === 'api' || kind === 'auxiliary' ? tokensOf(kind, attributes) : undefined;
        input += tokens?.input ?? 0;
        output += tokens?.output ?? 0;
    }
    return input + output > 0 ? { input, output } : undefined;
}
