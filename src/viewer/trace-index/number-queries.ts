import type { ModelFigures, NumbersQuery, Percentiles, ToolFigures, UsageNumbers } from './answers.ts'
import { dayOf, dayText, dollarsOf, type Figure, millisOfBucket, unpackFigures } from './trace-facts.ts'
import type { TraceTable } from './trace-table.ts'

export function queryNumbers(table: TraceTable, { sinceAt, untilAt, agent, model }: NumbersQuery): UsageNumbers {
  const [since, until] = [dayOf(sinceAt ?? Number.NEGATIVE_INFINITY), dayOf(untilAt ?? Number.POSITIVE_INFINITY)]
  const days = new Map<number, Map<string, FigureSum>>()
  const models = new Map<string, FigureSum>()
  const tools = new Map<string, FigureSum>()
  const turns = new Map<string, number>()
  const agents = new Set<string>()
  for (const { facts } of table.traces) {
    if (facts === undefined) continue
    agents.add(facts.turn.agent)
    if (agent !== undefined && facts.turn.agent !== agent) continue
    for (const figure of unpackFigures(facts.figures)) {
      const { day, kind, name, outcome, buckets } = figure
      if (day < since || day > until) continue
      // A tool has no model: all tools of the turns are counted, whichever model requested them.
      if (kind === 'tool') {
        sumIn(tools, name).add(figure)
        continue
      }
      if (model !== undefined && !name.startsWith(model)) continue
      if (kind === 'turn' && buckets.length > 0) turns.set(outcome, (turns.get(outcome) ?? 0) + buckets.length)
      sumIn(models, name).add(figure)
      const ofDay = days.get(day) ?? new Map<string, FigureSum>()
      days.set(day, ofDay)
      sumIn(ofDay, name).add(figure)
    }
  }
  agents.delete('')
  return {
    days: [...days]
      .sort(([a], [b]) => a - b)
      .flatMap(([day, sums]) => sorted(sums).flatMap(([name, sum]) => sum.modelFigures(dayText(day), name))),
    models: sorted(models)
      .flatMap(([name, sum]) => sum.modelFigures('', name))
      .sort((a, b) => b.tokens.input + b.tokens.output - a.tokens.input - a.tokens.output),
    tools: sorted(tools)
      .map(([name, sum]) => sum.toolFigures(name))
      .sort((a, b) => b.callCount - a.callCount),
    turns: byCount(turns),
    agents: [...agents].sort(),
  }
}

function sumIn(sums: Map<string, FigureSum>, name: string): FigureSum {
  const known = sums.get(name)
  if (known !== undefined) return known
  const sum = new FigureSum()
  sums.set(name, sum)
  return sum
}

function sorted(sums: ReadonlyMap<string, FigureSum>): (readonly [string, FigureSum])[] {
  return [...sums].sort(([a], [b]) => (a < b ? -1 : 1))
}

function byCount(counts: ReadonlyMap<string, number>): [string, number][] {
  return [...counts].sort(([a, many], [b, others]) => others - many || (a < b ? -1 : 1))
}

class FigureSum {
  #count = 0
  #failed = 0
  #input = 0
  #output = 0
  #cached = 0
  #nanodollars = 0
  readonly #buckets = new Map<number, number>()
  readonly #outcomes = new Map<string, number>()

  /** A turn adds only what none of its requests records. */
  add({ kind, outcome, buckets, failed, input, output, cached, nanodollars }: Figure): void {
    this.#input += input
    this.#output += output
    this.#cached += cached
    this.#nanodollars += nanodollars
    if (kind === 'turn' || buckets.length === 0) return
    this.#count += buckets.length
    this.#failed += failed
    for (const bucket of buckets) this.#buckets.set(bucket, (this.#buckets.get(bucket) ?? 0) + 1)
    if (kind === 'tool') this.#outcomes.set(outcome, (this.#outcomes.get(outcome) ?? 0) + buckets.length)
  }

  modelFigures(day: string, model: string): ModelFigures[] {
    const dollars = dollarsOf(this.#nanodollars)
    if (this.#count + this.#input + this.#output + dollars === 0) return []
    return [
      {
        day,
        model,
        requestCount: this.#count,
        errorCount: this.#failed,
        tokens: { input: this.#input, output: this.#output },
        cachedTokens: this.#cached,
        dollars,
        latency: this.#percentiles(),
      },
    ]
  }

  toolFigures(tool: string): ToolFigures {
    return {
      tool,
      callCount: this.#count,
      errorCount: this.#failed,
      outcomes: byCount(this.#outcomes),
      latency: this.#percentiles() ?? { p50: 0, p90: 0, p99: 0 },
    }
  }

  #percentiles(): Percentiles | undefined {
    if (this.#count === 0) return undefined
    const buckets = [...this.#buckets].sort(([a], [b]) => a - b)
    const at = (share: number): number => {
      let seen = 0
      const found = buckets.find(([, count]) => {
        seen += count
        return seen >= share * this.#count
      })
      return millisOfBucket(found?.[0] ?? 0)
    }
    return { p50: at(0.5), p90: at(0.9), p99: at(0.99) }
  }
}
