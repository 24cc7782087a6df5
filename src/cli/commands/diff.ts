import { compareTraces, comparisonJson } from '../../reading/compare-traces.ts'
import { renderComparison } from '../../reading/comparison-text.ts'
import { countOf, humanCount } from '../../reading/human-figures.ts'
import type { TraceTree } from '../../reading/trace-forest.ts'
import type { TraceSelection } from '../../reading/trace-log.ts'
import { summarize } from '../../reading/trace-summary.ts'
import { type Command, type CommandIo, command, EXIT, WrongUse } from '../command.ts'
import { lookOf } from '../terminal.ts'
import { findTraces, localLog, placeAt, type TracesPlace, whichTrace } from '../traces.ts'

export const diff: Command = command({
  name: 'diff',
  operand: { placeholder: '[FILE] A B', offers: 'files' },
  about: `Compares two turns or two sessions: which requests, tools and arguments differ, and the time, tokens and cost of each. A and
B are prefixes of trace ids, or session ids, in the local trace log or in FILE (OTLP/JSON lines, or a directory of
*.jsonl). If A or B is a file, all its traces are compared.

Steps are matched by order, name and arguments, independent of agent and model. A request with its retries is one step, and
tools with different names are matched by their arguments. Time spent waiting for approval is not counted.`,
  options: { json: { help: 'one JSON object: both totals, and every step with its differences' } },
  closing: 'Exits with 1 if A or B is not found or ambiguous. Differences are not a failure.',
  async run({ values, operands }, io) {
    const [a, b] = await findSides(operands, io)
    const comparison = compareTraces(await readSide(a, io), await readSide(b, io))
    io.stdout.write(values.json ? `${comparisonJson(comparison)}\n` : `${renderComparison(comparison, lookOf(io))}\n`)
    return EXIT.ok
  },
})

interface DiffSide {
  readonly place: TracesPlace
  /** A prefix of a trace id, or a session id. Undefined for all traces. */
  readonly name: string | undefined
}

const MAX_TURNS = 1_000
const MAX_NAMED = 10

/** Ids are looked up in FILE if given, else in the local log; two files are compared as a whole. @throws {WrongUse} */
async function findSides(operands: readonly string[], io: CommandIo): Promise<readonly [DiffSide, DiffSide]> {
  const found = await Promise.all(operands.map(async operand => ({ operand, place: await placeAt(operand) })))
  const files = found.flatMap(({ place }) => (place === undefined ? [] : [place]))
  const [file] = files
  const isIn = operands.length === 3 && files.length === 1
  const log = isIn && file ? file : localLog(io)
  const [a, b, ...more] = found
    .filter(({ place }) => !isIn || place === undefined)
    .map(({ operand, place }) => (place === undefined ? { place: log, name: operand } : { place, name: undefined }))
  if (a === undefined || b === undefined || more.length > 0) {
    throw new WrongUse(`expected A and B, two turns, sessions or files, got ${operands.length}`)
  }
  return [a, b]
}

/** Reads the turns of a side, oldest first. @throws if the name matches nothing, or is a prefix of several sessions */
async function readSide({ place, name }: DiffSide, io: CommandIo): Promise<readonly TraceTree[]> {
  const isId = name !== undefined && /^[0-9a-f]{1,32}$/i.test(name)
  const asTrace = isId ? await findTraces(place, { traceId: name, last: MAX_NAMED }, io) : undefined
  if (asTrace?.matchCount === 1) return asTrace.trees
  const inSession = name === undefined ? {} : { sessionId: name }
  const selection = await findTraces(place, { ...inSession, last: MAX_TURNS }, io)
  const trees = name === undefined ? selection.trees : ofOneSession(selection.trees, name)
  if (trees.length === 0) throw new Error(nothingNamed(place, name, asTrace ?? selection))
  if (selection.matchCount > selection.trees.length) {
    // Without this line the user would take the comparison for complete.
    const [turns, last] = [countOf(selection.matchCount, 'turn'), humanCount(selection.trees.length)]
    io.stderr.write(`hookspan diff: ${name ?? place.path}: ${turns} match; only the last ${last} are compared\n`)
  }
  return trees
}

/** A prefix of several session ids may be the full id of one of them. */
function ofOneSession(trees: readonly TraceTree[], name: string): readonly TraceTree[] {
  const dated = trees.map(tree => ({ tree, sessionId: summarize(tree).sessionId }))
  const own = dated.filter(({ sessionId }) => sessionId.startsWith(name))
  const sessions = new Set(own.map(({ sessionId }) => sessionId))
  const only = sessions.has(name) ? name : [...sessions][0]
  if (!sessions.has(name) && sessions.size > 1) {
    const some = [...sessions].slice(0, MAX_NAMED).join(', ')
    throw new Error(`there are ${sessions.size} sessions whose id starts with ${name}: ${some}; give more of the id`)
  }
  return own.filter(({ sessionId }) => sessionId === only).map(({ tree }) => tree)
}

function nothingNamed(place: TracesPlace, name: string | undefined, selection: TraceSelection): string {
  if (name === undefined) return `there are no traces in ${place.path}`
  if (selection.matchCount > 1) return whichTrace(place, { traceId: name }, selection)
  return `there is no trace whose id starts with ${name}, no session of that id in ${place.path}, and no file of that name`
}
