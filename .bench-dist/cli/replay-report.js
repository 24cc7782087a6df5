import { traceLinks } from '../pipeline/index.js';
import { countOf, humanCount } from '../viewer/human-figures.js';
import { selectTraces } from '../viewer/trace-log.js';
import { renderTotals, renderTree } from '../viewer/tree-text.js';
import { lookOf } from './look.js';
/** The traces there are drawn, and their place is named. */
const LOCAL_LOG = 'local_log';
/**
 * Draws what a replay has written; of very many traces the last ones.
 *
 * @returns the id of the last trace, where there is one
 */
export async function drawTraces(file, last, io) {
    const { trees, traceCount } = await selectTraces([file], { last });
    for (const tree of trees)
        io.stdout.write(`${renderTree(tree, lookOf(io))}\n\n`);
    if (trees.length > 1)
        io.stdout.write(`${renderTotals(trees, lookOf(io))}\n`);
    if (traceCount > trees.length)
        io.stdout.write(`  the last ${trees.length} of ${countOf(traceCount, 'trace')}\n`);
    return trees.at(-1)?.traceId;
}
/**
 * A line for each backend: what it got. Why it got no more has been said when it happened. The files that this run itself
 * opened are only mentioned when something is missing in them.
 *
 * @returns whether everything arrived everywhere
 */
export function reportDelivery({ stats, hasErrors }, context, io) {
    for (const { name, delivered, dropped } of stats.backends) {
        const all = delivered + dropped;
        const isOurs = name === LOCAL_LOG || !context.config.backends.some(backend => backend.name === name);
        if (all === 0 || (isOurs && dropped === 0))
            continue;
        const got = dropped === 0 ? countOf(all, 'span') : `${humanCount(delivered)} of ${countOf(all, 'span')}`;
        io.stderr.write(`${name} got ${got}${delivered === 0 ? '' : linkOf(name, context)}\n`);
    }
    return !hasErrors && stats.backends.every(({ dropped, lastError }) => dropped === 0 && lastError === undefined);
}
function linkOf(name, { config, traceId }) {
    const backend = config.backends.find(each => each.name === name);
    if (backend === undefined || traceId === undefined)
        return '';
    const { view } = traceLinks(backend, traceId, config.project_name);
    return view === undefined ? '' : `; the last trace: ${view}`;
}
