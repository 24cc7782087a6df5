import { displayText } from '../reading/display-text.ts'
import { countOf, humanCount, humanInstant } from '../reading/human-figures.ts'
import type { TraceFilter } from '../reading/trace-filter.ts'
import type { TraceTree } from '../reading/trace-forest.ts'
import { selectTraces, type TraceQuery, type TraceSelection } from '../reading/trace-log.ts'
import { summarize } from '../reading/trace-summary.ts'
import { type CommandIo, WrongUse } from './command.ts'
import { readWatched } from './log-reading.ts'
import { sinceAt } from './option-values.ts'
import type { CommandArguments } from './options.ts'
import { expectTraceFiles, type TracesPlace } from './traces-place.ts'

export const FILTER_OPTIONS = {
  errors: { aka: ['error', 'failed'], help: 'only traces with an error' },
  since: {
    value: 'WHEN',
    aka: ['after', 'from'],
    help: `only traces with a span that ended since then, or that are still running: an age (90s, 30m, 2h, 7d, 1w) or a time
      (2026-11-22, 2026-11-22T15:04), UTC unless it has a zone`,
  },
  model: { value: 'M', help: 'only traces with model M; M, T and S may be prefixes' },
  tool: { value: 'T', help: 'only traces that used tool T' },
  session: { value: 'S', help: 'only traces of session S' },
} as const

export function readFilter(values: CommandArguments<typeof FILTER_OPTIONS>['values'], now: number): TraceFilter {
  const { session, model, tool, errors, since } = values
  return {
    ...(session !== undefined && { sessionId: session }),
    ...(model !== undefined && { model }),
    ...(tool !== undefined && { tool }),
    ...(errors && { hasError: true }),
    ...(since !== undefined && { sinceAt: sinceAt(since, now) }),
  }
}

export function readLast(last: string | undefined): number | undefined {
  if (last !== undefined && !/^\d{1,9}$/.test(last)) {
    throw new WrongUse(`--last takes a whole number, got ${JSON.stringify(last)}`)
  }
  return last === undefined ? undefined : Number(last)
}

export type FoundTraces = TraceSelection & { readonly paths: readonly string[] }

export async function findTraces(place: TracesPlace, query: TraceQuery, io: CommandIo): Promise<FoundTraces> {
  const paths = await place.listFiles()
  return { ...(await readWatched(paths, onRead => selectTraces(paths, query, onRead), io)), paths }
}

const MAX_NAMED = 10

/** @throws an error that lists the candidates if the prefix is not unique */
export async function findTrace(
  place: TracesPlace,
  filter: TraceFilter & { readonly traceId: string },
  io: CommandIo,
): Promise<FoundTraces & { readonly tree: TraceTree }> {
  const found = await findTraces(place, { ...filter, last: MAX_NAMED }, io)
  if (found.traceCount === 0) await expectTraceFiles(place, found.unreadableCount)
  const [tree] = found.trees
  if (tree === undefined || found.matchCount > 1) throw new Error(whichTrace(place, filter, found))
  return { ...found, tree }
}

export function nothingThere({ path, kind }: TracesPlace): string {
  if (kind !== 'local log') return `There are no traces in ${path}: expected OTLP/JSON, one request a line.`
  return `There are no traces in ${path} yet. Run "hookspan demo" to record some, or name a file: hookspan tree FILE`
}

export function nothingMatches(place: TracesPlace, query: TraceQuery, selection: TraceSelection): string {
  const { traceCount, matchCount } = selection
  if (matchCount > 0) return `${place.path} holds ${humanCount(traceCount)} traces, but --last is ${query.last}.`
  return `No trace ${conditions(query)} among the ${humanCount(traceCount)} in ${place.path}${extentText(selection)}.`
}

export function whichTrace(
  place: TracesPlace,
  filter: TraceFilter & { readonly traceId: string },
  selection: TraceSelection,
): string {
  const { traceId, ...rest } = filter
  const { trees, traceCount, matchCount } = selection
  const more = conditions(rest)
  const asked = `whose id starts with ${traceId}${more === '' ? '' : `, ${more},`}`
  if (matchCount > 1) {
    const others = matchCount > trees.length ? ` and ${matchCount - trees.length} more` : ''
    return `there are ${countOf(matchCount, 'trace')} ${asked}: ${trees.map(nameOf).join(', ')}${others}; give more digits`
  }
  const among = traceCount === 0 ? `in ${place.path}` : `among the ${humanCount(traceCount)} in ${place.path}`
  return `there is no trace ${asked} ${among}, and no file of that name`
}

function nameOf(tree: TraceTree): string {
  const { agent, sessionId } = summarize(tree)
  const whose = [agent, sessionId, humanInstant(tree.startAt)].filter(text => text !== '').join(', ')
  return `${displayText(tree.traceId)} (${whose})`
}

function conditions({ sessionId, model, tool, hasError, sinceAt }: TraceFilter): string {
  const parts = [
    sessionId === undefined ? '' : `of session ${JSON.stringify(sessionId)}`,
    model === undefined ? '' : `with model ${JSON.stringify(model)}`,
    tool === undefined ? '' : `with tool ${JSON.stringify(tool)}`,
    hasError === true ? 'with an error' : '',
    sinceAt === undefined ? '' : `since ${humanInstant(sinceAt)}`,
  ].filter(part => part !== '')
  const [last = ''] = parts.splice(-1)
  return parts.length === 0 ? last : `${parts.join(', ')} and ${last}`
}

function extentText({ extent }: TraceSelection): string {
  return extent === undefined ? '' : `, of ${humanInstant(extent.startAt)} to ${humanInstant(extent.endAt)}`
}
