import { argumentTexts, type DiffLine, diffLines } from './argument-lines.ts'
import { commonPairs } from './common-pairs.ts'
import type { TraceTree } from './trace-forest.ts'
import { sumCosts, summarize, type TraceSummary } from './trace-summary.ts'
import { jsonLine } from './tree-json.ts'
import { type TurnStep, turnSteps } from './turn-steps.ts'

export type Difference = 'name' | 'arguments' | 'outcome' | 'attempts'

export interface ComparedStep {
  readonly depth: number
  readonly a: TurnStep | undefined
  readonly b: TurnStep | undefined
  /** Empty if only one side has the step. Tokens, durations and models alone make no difference. */
  readonly differences: readonly Difference[]
  readonly argumentDiff: readonly DiffLine[]
}

type SideCount = 'turns' | 'requests' | 'retries' | 'tools' | 'subagents' | 'errors'
type SideFigure = SideCount | 'millis' | 'personMillis' | 'inputTokens' | 'outputTokens' | 'requestsOfUnknownCost'

/** `requestsOfUnknownCost`: requests that used tokens and have no known cost. `cost` does not include them. */
export interface ComparedSide extends Readonly<Record<SideFigure, number>> {
  readonly summary: TraceSummary | undefined
  readonly traceIds: readonly string[]
  readonly models: readonly string[]
  readonly cost: number | undefined
}

export interface Comparison {
  readonly a: ComparedSide
  readonly b: ComparedSide
  /** Sorted by execution, inner steps after their outer step. If only one side has a step, its inner steps are left out. */
  readonly steps: readonly ComparedStep[]
  readonly firstDifference: number | undefined
}

export function compareTraces(a: readonly TraceTree[], b: readonly TraceTree[]): Comparison {
  const [turnsA, turnsB] = [a.flatMap(turnSteps), b.flatMap(turnSteps)]
  const steps: ComparedStep[] = []
  const open = align(turnsA, turnsB, 0).reverse()
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    steps.push(next)
    if (next.a !== undefined && next.b !== undefined) {
      for (const inner of align(next.a.steps, next.b.steps, next.depth + 1).reverse()) open.push(inner)
    }
  }
  const first = steps.findIndex(isDifferent)
  return { a: sideOf(a, turnsA), b: sideOf(b, turnsB), steps, firstDifference: first === -1 ? undefined : first }
}

export function isDifferent({ a, b, differences }: ComparedStep): boolean {
  return a === undefined || b === undefined || differences.length > 0
}

/** Keys by which steps are paired, strictest first, so that the surest pairs are fixed first. */
const LIKENESS: readonly ((step: TurnStep) => string)[] = [
  ({ kind, name, argument }) => JSON.stringify([kind, name, argument]),
  // Agents name their tools and arguments differently.
  ({ kind, name, argumentText }) => JSON.stringify([kind, argumentTexts(argumentText) || [name]]),
  ({ kind, name }) => JSON.stringify([kind, bareName(name)]),
  ({ kind, name, steps }) => JSON.stringify(kind === 'subagent' || steps.length > 0 ? [kind] : [kind, bareName(name)]),
]

/** `bash` and `Bash`, `read_file` and `ReadFile` name the same tool in two agents. */
function bareName(name: string): string {
  return name.toLowerCase().replace(/[\s_-]/g, '')
}

function align(a: readonly TurnStep[], b: readonly TurnStep[], depth: number): ComparedStep[] {
  const partners = partnersOf(a, b)
  const steps: ComparedStep[] = []
  const only = (step: TurnStep, side: 'a' | 'b'): void => {
    steps.push({ depth, a: undefined, b: undefined, [side]: step, differences: [], argumentDiff: [] })
  }
  let atB = 0
  for (const [index, stepA] of a.entries()) {
    const partner = partners.get(index)
    const stepB = partner === undefined ? undefined : b[partner]
    if (partner === undefined || stepB === undefined) {
      only(stepA, 'a')
      continue
    }
    for (const left of b.slice(atB, partner)) only(left, 'b')
    atB = partner + 1
    steps.push(pairSteps(stepA, stepB, depth))
  }
  for (const left of b.slice(atB)) only(left, 'b')
  return steps
}

function partnersOf(a: readonly TurnStep[], b: readonly TurnStep[]): ReadonlyMap<number, number> {
  const partners = new Map<number, number>()
  for (const keyOf of LIKENESS) {
    const [keysA, keysB] = [a.map(keyOf), b.map(keyOf)]
    for (const gap of gapsOf(partners, a.length, b.length)) {
      const pairs = commonPairs(keysA.slice(gap.fromA, gap.toA), keysB.slice(gap.fromB, gap.toB))
      for (const [inA, inB] of pairs) partners.set(gap.fromA + inA, gap.fromB + inB)
    }
  }
  return partners
}

function gapsOf(partners: ReadonlyMap<number, number>, lengthA: number, lengthB: number) {
  const settled = [...partners].sort(([one], [other]) => one - other)
  const gaps: { fromA: number; toA: number; fromB: number; toB: number }[] = []
  let [fromA, fromB] = [0, 0]
  for (const [toA, toB] of [...settled, [lengthA, lengthB] as const]) {
    if (fromA < toA && fromB < toB) gaps.push({ fromA, toA, fromB, toB })
    fromA = toA + 1
    fromB = toB + 1
  }
  return gaps
}

function pairSteps(a: TurnStep, b: TurnStep, depth: number): ComparedStep {
  const isTold = a.argument.length > 0 && b.argument.length > 0
  const isOther = isTold && argumentTexts(a.argumentText) !== argumentTexts(b.argumentText)
  const found: readonly (readonly [Difference, boolean])[] = [
    ['name', bareName(a.name) !== bareName(b.name)],
    ['arguments', isOther || (isTold && a.name === b.name && a.argument.join('\n') !== b.argument.join('\n'))],
    ['outcome', !isAlike(a, b)],
    ['attempts', a.attempts !== b.attempts],
  ]
  const differences = found.filter(([, differs]) => differs).map(([difference]) => difference)
  const argumentDiff = differences.includes('arguments') ? diffLines(a.argument, b.argument) : []
  return { depth, a, b, differences, argumentDiff }
}

/** Models name tool-call finish reasons differently, and agents name success differently: all of these count as equal. */
function isAlike(a: TurnStep, b: TurnStep): boolean {
  if (a.isError !== b.isError) return false
  const isUneventful = ({ outcome }: TurnStep): boolean => ['ok', 'dim'].includes(outcome?.tone ?? 'dim')
  if (isUneventful(a) && isUneventful(b)) return true
  return a.outcome?.tone === b.outcome?.tone && a.outcome?.text === b.outcome?.text
}

function sideOf(trees: readonly TraceTree[], turns: readonly TurnStep[]): ComparedSide {
  const steps = [...allSteps(turns)]
  const requests = steps.filter(({ kind }) => kind === 'request')
  const models = requests.map(({ model }) => model).filter(model => model !== '')
  const summaries = trees.map(summarize)
  const sum = (figure: (turn: TurnStep) => number): number => turns.reduce((total, turn) => total + figure(turn), 0)
  const cost = sumCosts(summaries.map(summary => summary.cost))
  return {
    summary: summaries[0],
    traceIds: trees.map(({ traceId }) => traceId),
    models: [...new Set(models)],
    millis: sum(turn => turn.millis),
    personMillis: sum(turn => turn.personMillis),
    inputTokens: sum(turn => turn.inputTokens),
    outputTokens: sum(turn => turn.outputTokens),
    requests: requests.length,
    retries: steps.reduce((total, { attempts }) => total + attempts - 1, 0),
    tools: steps.filter(({ kind }) => kind === 'tool').length,
    subagents: steps.filter(({ kind }) => kind === 'subagent').length,
    cost: cost.paidCount > 0 ? cost.dollars : undefined,
    requestsOfUnknownCost: cost.unknownCount,
    turns: turns.length,
    errors: summaries.reduce((total, { errorCount }) => total + errorCount, 0),
  }
}

function* allSteps(turns: readonly TurnStep[]): Generator<TurnStep, void> {
  const open = [...turns].reverse()
  for (let step = open.pop(); step !== undefined; step = open.pop()) {
    yield step
    for (const inner of [...step.steps].reverse()) open.push(inner)
  }
}

export function comparisonJson(comparison: Comparison): string {
  const { a, b, steps, firstDifference } = comparison
  const sides = { a: sideJson(a), b: sideJson(b), first_difference: firstDifference ?? null }
  return jsonLine({ ...sides, steps: steps.map(stepJson) })
}

function sideJson({ summary, ...side }: ComparedSide): Record<string, unknown> {
  return {
    trace_ids: side.traceIds,
    session_id: summary?.sessionId,
    agent: summary?.agent,
    models: side.models,
    duration_ms: side.millis,
    waiting_for_person_ms: side.personMillis,
    tokens: { input: side.inputTokens, output: side.outputTokens },
    cost: side.cost === undefined ? undefined : Number(side.cost.toPrecision(12)),
    requests_of_unknown_cost: side.cost === undefined ? undefined : side.requestsOfUnknownCost || undefined,
    turns: side.turns,
    requests: side.requests,
    retries: side.retries,
    tools: side.tools,
    subagents: side.subagents,
    errors: side.errors,
  }
}

function stepJson({ depth, a, b, differences, argumentDiff }: ComparedStep): Record<string, unknown> {
  return {
    depth,
    in: a === undefined ? 'b' : b === undefined ? 'a' : 'both',
    differences: a === undefined || b === undefined ? undefined : differences,
    a: a && onSide(a),
    b: b && onSide(b),
    argument_diff: argumentDiff.length === 0 ? undefined : argumentDiff.map(({ sign, text }) => `${sign} ${text}`),
  }
}

function onSide(step: TurnStep): Record<string, unknown> {
  return {
    kind: step.kind,
    name: step.name || undefined,
    model: step.model || undefined,
    trace_id: step.traceId,
    span_id: step.spanId,
    outcome: step.outcome?.text,
    error: step.isError || undefined,
    attempts: step.attempts > 1 ? step.attempts : undefined,
    duration_ms: step.millis,
    waiting_for_person_ms: step.personMillis || undefined,
    tokens:
      step.inputTokens + step.outputTokens === 0 ? undefined : { input: step.inputTokens, output: step.outputTokens },
    steps_inside: step.steps.length || undefined,
  }
}
