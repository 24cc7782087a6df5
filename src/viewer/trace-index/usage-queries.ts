import type { Percentiles, ToolFigures, Usage, UsageGroupRow, UsageQuery, UsageSums } from './answers.ts'
import { LocalCalendar } from './local-calendar.ts'
import { sessionTitle } from './session-queries.ts'
import { type Figure, NANO, SLOT_MILLIS, slotOf, unpackFigures } from './trace-facts.ts'
import type { TraceTable } from './trace-table.ts'

const MAX_SESSIONS = 10
const WEEK_HOURS = 168

/**
 * Sums up the usage of a period.
 *
 * @param now end of a period without `untilAt`
 * @throws {RangeError} if there is no such time zone
 */
export async function queryUsage(table: TraceTable, query: UsageQuery, now: number): Promise<Usage> {
  const { sinceAt, untilAt, by = 'model', timeZone } = query
  const calendar = new LocalCalendar(timeZone)
  const since = sinceAt === undefined ? Number.NEGATIVE_INFINITY : slotOf(sinceAt)
  const until = untilAt === undefined ? Number.POSITIVE_INFINITY : slotOf(untilAt)
  const beforeSince = sinceAt === undefined ? since : slotOf(2 * sinceAt - (untilAt ?? now))
  const [total, before] = [new UsageSum(), new UsageSum()]
  const [groups, sessions, tools]: readonly [Sums, Sums, Sums] = [new Map(), new Map(), new Map()]
  const days = new Map<string, Sums>()
  const hours = Array.from({ length: WEEK_HOURS }, () => new UsageSum())
  for (const entry of table.traces.values()) {
    const { facts } = entry
    if (facts === undefined) continue
    const { sessionId, agent, project, lastAt } = facts.turn
    if (lastAt < beforeSince * SLOT_MILLIS) continue
    for (const figure of unpackFigures(facts.figures)) {
      const { slot, kind, name } = figure
      if (kind !== 'tool' && slot >= beforeSince && slot < since) before.add(figure)
      if (slot < since || slot >= until) continue
      if (kind === 'tool') {
        sumIn(tools, name).add(figure)
        continue
      }
      const { day, weekHour } = calendar.timeOf(slot)
      const group = { agent, model: name, project, session: sessionId, day }[by]
      const ofDay = days.get(day) ?? new Map<string, UsageSum>()
      days.set(day, ofDay)
      const sums = [total, sumIn(groups, group), sumIn(ofDay, group), sumIn(sessions, sessionId), hours[weekHour]]
      for (const sum of sums) sum?.add(figure)
    }
  }
  const heaviest = heaviestFirst(sessions).slice(0, MAX_SESSIONS)
  const titles = new Map<string, string>()
  for (const [id] of heaviest) titles.set(id, await sessionTitle(table, id))
  const row = ([name, sum]: NamedSum): UsageGroupRow => {
    return { name, title: titles.get(name) ?? '', ...sum.sums(), latency: sum.percentiles() }
  }
  // A turn without requests may name a model that it never used.
  const ranked = heaviestFirst(groups).filter(([, sum]) => by !== 'model' || sum.isUsed)
  const sorted = by === 'day' ? [...groups].sort(byText) : ranked
  const hasCells = by !== 'day' && by !== 'session'
  return {
    total: total.sums(),
    before: sinceAt === undefined ? undefined : before.sums(),
    groups: sorted.map(row),
    cells: hasCells
      ? [...days].sort(byText).flatMap(([day, sums]) => {
          const used = sorted.filter(([name]) => sums.has(name))
          return used.map(([name]) => ({ day, name, ...sumIn(sums, name).sums() }))
        })
      : [],
    sessions: heaviest.map(row),
    hours: hours.map(sum => sum.sums()),
    tools: [...tools]
      .sort(byText)
      .map(([tool, sum]) => sum.toolFigures(tool))
      .sort((a, b) => b.callCount - a.callCount),
  }
}

type NamedSum = readonly [name: string, sum: UsageSum]

function byText([a]: readonly [string, ...unknown[]], [b]: readonly [string, ...unknown[]]): number {
  return a < b ? -1 : 1
}

type Sums = Map<string, UsageSum>

function sumIn(sums: Sums, name: string): UsageSum {
  const known = sums.get(name)
  if (known !== undefined) return known
  const sum = new UsageSum()
  sums.set(name, sum)
  return sum
}

function heaviestFirst(sums: Sums): NamedSum[] {
  return [...sums].sort(byText).sort(([, a], [, b]) => b.nanodollars - a.nanodollars || b.tokens - a.tokens)
}

class UsageSum {
  #failed = 0
  #input = 0
  #output = 0
  #cached = 0
  #turns = 0
  nanodollars = 0
  readonly #durations: number[] = []

  get tokens(): number {
    return this.#input + this.#output
  }

  get isUsed(): boolean {
    return this.#durations.length + this.tokens + this.nanodollars > 0
  }

  /** A turn adds only what none of its requests records. */
  add({ kind, durations, failed, input, output, cached, nanodollars }: Figure): void {
    this.#input += input
    this.#output += output
    this.#cached += cached
    this.nanodollars += nanodollars
    if (kind === 'turn') {
      this.#turns += 1
      return
    }
    this.#failed += failed
    for (const duration of durations) this.#durations.push(duration)
  }

  sums(): UsageSums {
    return {
      dollars: this.nanodollars / NANO,
      input: this.#input,
      output: this.#output,
      cachedTokens: this.#cached,
      requestCount: this.#durations.length,
      errorCount: this.#failed,
      turnCount: this.#turns,
    }
  }

  toolFigures(tool: string): ToolFigures {
    const latency = this.percentiles() ?? { p50: 0, p90: 0, p99: 0 }
    return { tool, callCount: this.#durations.length, errorCount: this.#failed, latency }
  }

  percentiles(): Percentiles | undefined {
    const sorted = Float64Array.from(this.#durations).sort()
    if (sorted.length === 0) return undefined
    const at = (share: number): number => sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0
    return { p50: at(0.5), p90: at(0.9), p99: at(0.99) }
  }
}
