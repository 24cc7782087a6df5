import { appendFileSync } from 'node:fs'
import { expect } from 'vitest'
import type { ChaosSink } from '../../support/chaos-sink.mjs'
import { spanKey, toldSpans } from '../../support/witness.ts'
import type { Host } from '../host.ts'
import type { Scene } from '../scene.ts'
import { droppedBy } from '../work-through.ts'

/** Sums over runs and backends: a span that two backends are to get counts twice. */
export interface SoakSums {
  readonly told: number
  readonly once: number
  /** Delivered more than once, each time the same. */
  readonly repeated: number
  /** Rejected by the collector, or counted by the process as lost where nothing could be kept. */
  readonly counted: number
  /** Told so shortly before a kill that there was no time to save it. */
  readonly unsaved: number
  /** Everything else that is missing. */
  readonly lost: number
  /** Open when the process was killed, and delivered as such. */
  readonly crashed: number
}

/** One row of the table, as `soak.mjs` reads it. */
export interface SoakRow extends SoakSums {
  /** Rows come as they are done. */
  readonly place: number
  readonly what: string
  readonly runs: number
  readonly figures: string
  readonly problems: readonly string[]
}

const INCOMPLETE = 'hermes.span.incomplete'

export class Tally {
  readonly problems: string[] = []
  runs = 0
  #sums: SoakSums = { told: 0, once: 0, repeated: 0, counted: 0, unsaved: 0, lost: 0, crashed: 0 }

  /** What came of a run at one backend; `excused` problems are none. */
  add(scene: Scene, sink: ChaosSink, excused: RegExp = /^$/): void {
    const { told, problems } = scene.check(sink)
    const lost = lostIn(problems)
    this.addSums(told, sink.deliveries, {
      lost,
      counted: 0,
      unsaved: told - sink.deliveries.size - lost,
      crashed: crashedAt(sink),
    })
    const real = problems.filter(problem => !excused.test(problem))
    this.problems.push(...real, ...(real.length > 0 ? [scene.stderrOfHosts()] : []))
  }

  /** The same of one where something must be missing, and the host must have counted just that as lost, for `only`. */
  addCounted(scene: Scene, host: Host, sink: ChaosSink): void {
    const arrived = new Set(sink.accepted.map(spanKey))
    const mayMiss = new Set([...toldSpans(host.account().witness).keys()].filter(key => !arrived.has(key)))
    const { told, problems } = scene.check(sink, { mayMiss })
    const counted = droppedBy(host) ?? 0
    const lost = Math.max(0, mayMiss.size - counted)
    this.addSums(told, sink.deliveries, { lost, counted, unsaved: 0, crashed: 0 })
    this.problems.push(...problems)
    if (mayMiss.size !== counted) this.problems.push(`${mayMiss.size} are missing, ${counted} are counted as lost`)
  }

  addSums(
    told: number,
    deliveries: ReadonlyMap<string, number>,
    missing: Omit<SoakSums, 'told' | 'once' | 'repeated'>,
  ): void {
    const once = [...deliveries.values()].filter(times => times === 1).length
    const added = { told, once, repeated: deliveries.size - once, ...missing }
    const keys = Object.keys(added) as (keyof SoakSums)[]
    this.#sums = Object.fromEntries(keys.map(key => [key, this.#sums[key] + added[key]])) as unknown as SoakSums
  }

  /** Runs one, and takes down what it breaks of: the others go on. */
  async run(what: string, play: () => Promise<void>): Promise<void> {
    this.runs++
    const before = this.problems.length
    try {
      await play()
    } catch (error) {
      this.problems.push(String((error as Error).message))
    }
    for (let at = before; at < this.problems.length; at++) this.problems[at] = `${what}: ${this.problems[at]}`
  }

  /** Puts the row where `soak.mjs` finds it, and fails when something is wrong. */
  end(place: number, what: string, figures: string): void {
    const row: SoakRow = { place, what, runs: this.runs, ...this.#sums, figures, problems: this.problems }
    const path = process.env['HOOKSPAN_SOAK_ROWS']
    if (path !== undefined) appendFileSync(path, `${JSON.stringify(row)}\n`)
    expect({ problems: this.problems.slice(0, 20), lost: row.lost }).toEqual({ problems: [], lost: 0 })
  }
}

function crashedAt({ accepted }: ChaosSink): number {
  return new Set(accepted.filter(span => span.attributes[INCOMPLETE] === 'crashed').map(({ spanId }) => spanId)).size
}

/** The checker says a few by name, and how many more there are. */
function lostIn(problems: readonly string[]): number {
  return problems
    .map(problem => /^(?:open and )?lost: (?:(\d+) more$)?/.exec(problem))
    .reduce((sum, match) => sum + (match === null ? 0 : Number(match[1] ?? 1)), 0)
}

/** All of them, so many at a time. */
export async function inParallel<Item>(
  items: readonly Item[],
  most: number,
  run: (item: Item) => Promise<void>,
): Promise<void> {
  const left = [...items]
  const worker = async (): Promise<void> => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) await run(item)
  }
  await Promise.all(Array.from({ length: most }, worker))
}

export function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
}

export const mebi = (bytes: number): string => `${(bytes / 1_048_576).toFixed(1)} MiB`
