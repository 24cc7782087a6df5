import { selectTraces } from '../viewer/trace-log.ts'
import { renderTotals, renderTree } from '../viewer/tree-text.ts'
import type { PluginStats } from '../wiring/plugin.ts'
import type { CommandIo } from './command.ts'
import { lookOf } from './look.ts'

const LOCAL_LOG = 'local_log'

function plural(count: number, word: string): string {
  return `${count} ${word}${count === 1 ? '' : 's'}`
}

/** Draws what a replay has written; of very many traces the last ones. */
export async function drawTraces(file: string, last: number, io: CommandIo): Promise<void> {
  const { trees, traceCount } = await selectTraces([file], { last })
  for (const tree of trees) io.stdout.write(`${renderTree(tree, lookOf(io))}\n\n`)
  if (trees.length > 1) io.stdout.write(`${renderTotals(trees, lookOf(io))}\n`)
  if (traceCount > trees.length) io.stdout.write(`  the last ${trees.length} of ${plural(traceCount, 'trace')}\n`)
}

/** One line a backend: what it got. Resolves to false when something was dropped. */
export function reportDelivery(stats: PluginStats, io: CommandIo): boolean {
  for (const { name, delivered, dropped, lastError } of stats.backends) {
    if (name === LOCAL_LOG && dropped === 0) continue
    const lost = dropped === 0 ? '' : `, ${plural(dropped, 'span')} dropped${lastError === undefined ? '' : ` (${lastError})`}`
    io.stderr.write(`${name}: ${plural(delivered, 'span')} delivered${lost}\n`)
  }
  return stats.backends.every(({ dropped }) => dropped === 0)
}
