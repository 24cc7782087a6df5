import { type ComparedStep, isDifferent } from './compare-traces.ts'
import type { TurnStep } from './turn-steps.ts'

/** One line of a comparison: a step, a run of equal steps, or repeated calls of one tool on one side only. */
export interface ComparisonRow {
  readonly kind: 'step' | 'alike' | 'repeats'
  readonly steps: readonly ComparedStep[]
  readonly a: RowFigures | undefined
  readonly b: RowFigures | undefined
}

export interface RowFigures {
  readonly millis: number
  readonly inputTokens: number
  readonly outputTokens: number
}

/** Shorter runs are as quick to read one by one. */
const MIN_FOLDED = 5

/** The lines of a comparison. A run of equal steps keeps its first and last step; those between are counted. */
export function comparisonRows(steps: readonly ComparedStep[]): ComparisonRow[] {
  const rows: ComparisonRow[] = []
  for (const run of runsOf(steps)) {
    const [first] = run
    if (first !== undefined && isAlike(first)) rows.push(...alikeRows(run))
    else if (run.length >= MIN_FOLDED) rows.push(rowOf('repeats', run))
    else rows.push(...run.map(step => rowOf('step', [step])))
  }
  return rows
}

function isAlike(step: ComparedStep): boolean {
  return step.depth > 0 && !isDifferent(step)
}

function runsOf(steps: readonly ComparedStep[]): ComparedStep[][] {
  const runs: ComparedStep[][] = []
  let runKey: string | undefined
  for (const step of steps) {
    const key = isAlike(step) ? 'alike' : repeatKey(step)
    const run = runs.at(-1)
    if (run === undefined || key === undefined || key !== runKey) runs.push([step])
    else run.push(step)
    runKey = key
  }
  return runs
}

function repeatKey({ a, b, depth }: ComparedStep): string | undefined {
  const only = a ?? b
  if (only === undefined || (a !== undefined && b !== undefined)) return undefined
  if (only.kind !== 'tool' || only.isError || only.steps.length > 0) return undefined
  return JSON.stringify([depth, a !== undefined, only.name, only.outcome?.text])
}

function alikeRows(run: readonly ComparedStep[]): ComparisonRow[] {
  const middle = run.slice(1, -1)
  const singly = (steps: readonly ComparedStep[]): ComparisonRow[] => steps.map(step => rowOf('step', [step]))
  if (middle.length < MIN_FOLDED) return singly(run)
  return [...singly(run.slice(0, 1)), rowOf('alike', middle), ...singly(run.slice(-1))]
}

function rowOf(kind: ComparisonRow['kind'], steps: readonly ComparedStep[]): ComparisonRow {
  return { kind, steps, a: figuresOf(steps, 'a'), b: figuresOf(steps, 'b') }
}

function figuresOf(steps: readonly ComparedStep[], side: 'a' | 'b'): RowFigures | undefined {
  const own = steps.map(step => step[side]).filter(step => step !== undefined)
  if (own.length === 0) return undefined
  const depth = steps.reduce((least, step) => Math.min(least, step.depth), Number.POSITIVE_INFINITY)
  // An outer step already includes its inner steps.
  const outer = steps.filter(step => step.depth === depth).map(step => step[side])
  const sum = (figure: (step: TurnStep) => number): number =>
    outer.reduce((total, step) => total + (step === undefined ? 0 : figure(step)), 0)
  return {
    millis: sum(({ millis }) => millis),
    inputTokens: sum(({ inputTokens }) => inputTokens),
    outputTokens: sum(({ outputTokens }) => outputTokens),
  }
}
