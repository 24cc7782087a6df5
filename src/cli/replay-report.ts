import { existsSync } from 'node:fs'
import { type BackendStats, traceLinks } from '../delivery/pipeline/index.ts'
import type { ResolvedConfig } from '../plugin/config/types.ts'
import { countOf, humanCount } from '../reading/human-figures.ts'
import { selectTraces } from '../reading/trace-log.ts'
import { renderTotals, renderTree } from '../reading/tree-text.ts'
import type { CommandIo } from './command.ts'
import type { ReplayResult } from './replayer.ts'
import { lookOf } from './terminal.ts'
import type { TracePlace } from './trace-place.ts'

interface RunDisplay {
  readonly config: DeliveryContext['config']
  readonly place: TracePlace
  /** The number of traces to draw; 0 for an interrupted run. */
  readonly last: number
}

/**
 * Draws the last traces of a run and reports the delivery to each backend.
 *
 * @returns whether everything arrived everywhere
 */
export async function showRun(
  result: ReplayResult,
  { config, place, last }: RunDisplay,
  io: CommandIo,
): Promise<boolean> {
  const traceId = await drawTraces(last === 0 ? [] : result.stats.traceFiles.filter(existsSync), last, io)
  return reportDelivery(result, { config, traceId, isKept: place.whyNotKept === undefined }, io)
}

async function drawTraces(files: readonly string[], last: number, io: CommandIo): Promise<string | undefined> {
  const { trees, traceCount } = await selectTraces(files, { last })
  for (const tree of trees) io.stdout.write(`${renderTree(tree, lookOf(io))}\n\n`)
  if (trees.length > 1) io.stdout.write(`${renderTotals(trees, lookOf(io))}\n`)
  if (traceCount > trees.length) io.stdout.write(`  the last ${trees.length} of ${countOf(traceCount, 'trace')}\n`)
  return trees.at(-1)?.traceId
}

interface DeliveryContext {
  readonly config: Pick<ResolvedConfig, 'backends' | 'project_name' | 'keep'>
  readonly traceId: string | undefined
  readonly isKept: boolean
}

/**
 * Prints a line for each backend. Causes of failures were reported when they happened. Files opened by this run itself appear
 * only if spans are missing in them.
 *
 * @returns whether everything arrived everywhere
 */
export function reportDelivery(result: ReplayResult, context: DeliveryContext, io: CommandIo): boolean {
  const { stats, hasErrors } = result
  for (const backend of stats.backends) {
    const isOurs = !context.config.backends.some(({ name }) => name === backend.name)
    if (result.spans === 0 || (isOurs && missingIn(backend) === 0)) continue
    const got = whatItGot(backend, context)
    if (got !== undefined) io.stderr.write(`${backend.name} got ${got}${linkOf(backend, context)}\n`)
  }
  return !hasErrors && stats.backends.every(each => missingIn(each) === 0 && each.lastError === undefined)
}

/**
 * The share of a run's spans in the trace log or a file: `stored in /x`, `12 of them written to /x`. On a full disk nothing is
 * written, and no file is named.
 */
export function whatIsIn({ spans }: Pick<ReplayResult, 'spans'>, log: BackendStats | undefined, where: string): string {
  if (log === undefined || (spans > 0 && log.delivered === 0)) return `nothing is ${where.replace(/ .*$/s, '')}`
  return `${missingIn(log) > 0 ? `${humanCount(log.delivered)} of them ` : ''}${where}`
}

function missingIn({ dropped, spooled }: BackendStats): number {
  return dropped + spooled
}

/** Undefined if there is nothing to report but the error. */
function whatItGot(backend: BackendStats, { config, isKept }: DeliveryContext): string | undefined {
  const { name, delivered, spooled, lastError } = backend
  const missing = missingIn(backend)
  const kept = spooled > 0 && isKept ? `; ${humanCount(spooled)} are pending` : ''
  if (missing > 0) return `${humanCount(delivered)} of ${countOf(delivered + missing, 'span')}${kept}`
  if (delivered > 0) return countOf(delivered, 'span')
  if (lastError !== undefined) return undefined
  const takesSpans = config.backends.some(each => each.name === name && each.traces !== false)
  return config.keep?.hold && takesSpans ? 'no spans: `keep` selects none of these turns' : 'the metrics'
}

function linkOf({ name, delivered }: BackendStats, { config, traceId }: DeliveryContext): string {
  const backend = config.backends.find(each => each.name === name)
  if (backend === undefined || traceId === undefined || delivered === 0) return ''
  const { view } = traceLinks(backend, traceId, config.project_name)
  return view === undefined ? '' : `; the last trace: ${view}`
}

/** `28 records (1 ignored) → 13 spans`. */
export function summaryOf({ records, spans, stats: { hooks, unread } }: ReplayResult): string {
  const rest = (['ignored', 'duplicate', 'error'] as const).filter(outcome => hooks[outcome] > 0)
  const outcomes = rest.map(outcome => `${humanCount(hooks[outcome])} ${outcome}`)
  const misspelt = unread.hooks + unread.fields
  const slips = [
    ...(misspelt > 0 ? [`${humanCount(misspelt)} with unknown names`] : []),
    ...(unread.types > 0 ? [`${humanCount(unread.types)} with wrong types`] : []),
  ]
  const notes = [...outcomes, ...(slips.length > 0 ? [`not read: ${slips.join(', ')}`] : [])].join(', ')
  return `${countOf(records, 'record')}${notes === '' ? '' : ` (${notes})`} → ${countOf(spans, 'span')}`
}

export function whereTheyAre(result: ReplayResult, { whyNotKept }: TracePlace): string {
  if (whyNotKept !== undefined) return `not stored, because ${whyNotKept}`
  const { traceFiles, backends } = result.stats
  const log = backends.find(({ type, delivered }) => type === 'local_log' && delivered > 0)
  const others = traceFiles.length > 1 ? ` and ${countOf(traceFiles.length - 1, 'file')} before it` : ''
  return whatIsIn(result, log, `stored in ${traceFiles.at(-1)}${others}`)
}
