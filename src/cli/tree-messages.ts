import { displayText } from '../reading/display-text.ts'
import { countOf, humanCount, humanInstant } from '../reading/human-figures.ts'
import type { TraceFilter } from '../reading/trace-filter.ts'
import type { TraceTree } from '../reading/trace-forest.ts'
import type { TraceQuery, TraceSelection } from '../reading/trace-log.ts'
import { summarize } from '../reading/trace-summary.ts'
import type { TracesPlace } from './tree-place.ts'

export function nothingThere({ path, kind }: TracesPlace): string {
  if (kind !== 'local log') return `There are no traces in ${path}: expected OTLP/JSON, one request a line.`
  return `There are no traces in ${path} yet. Run "hookspan demo" to record some, or name a file: hookspan tree FILE`
}

export function nothingMatches(place: TracesPlace, query: TraceQuery, selection: TraceSelection): string {
  const { traceCount, matchCount } = selection
  if (matchCount > 0)
    return `${place.path} holds ${humanCount(traceCount)} traces, and --last ${query.last} asks for none.`
  return `No trace ${conditions(query)} among the ${humanCount(traceCount)} in ${place.path}${extentText(selection)}.`
}

/** The message if the id matches no trace, or several. */
export function whichTrace(
  place: TracesPlace,
  filter: TraceFilter & { readonly traceId: string },
  selection: TraceSelection,
): string {
  const { traceId, ...rest } = filter
  const { trees, traceCount, matchCount } = selection
  const more = conditions(rest)
  const asked = `whose id begins with ${traceId}${more === '' ? '' : `, ${more},`}`
  if (matchCount > 1) {
    const others = matchCount > trees.length ? ` and ${matchCount - trees.length} more` : ''
    return `there are ${countOf(matchCount, 'trace')} ${asked}: ${trees.map(nameOf).join(', ')}${others}; say more digits`
  }
  const among = traceCount === 0 ? `in ${place.path}` : `among the ${humanCount(traceCount)} in ${place.path}`
  return `there is no trace ${asked} ${among}, and no file of that name`
}

function nameOf(tree: TraceTree): string {
  const { agent, sessionId } = summarize(tree)
  const whose = [agent, sessionId, humanInstant(tree.startAt)].filter(text => text !== '').join(', ')
  return `${displayText(tree.traceId)} (${whose})`
}

/** `of session "s1", with an error and since 2026-11-22 10:00:00 UTC`. */
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
