import type { DisplayKind } from './segments.ts'
import type { StoredSpan } from './stored-span.ts'

/** A span as the critical path sees it: inside the part during which it ran, which is not always its parent. */
export interface PathPart {
  readonly span: StoredSpan
  readonly kind: DisplayKind
  /** Epoch milliseconds. A part that outlasts its holder is cut at the holder's end: nothing waited for the rest. */
  readonly startAt: number
  endAt: number
  readonly inner: PathPart[]
  /** The request beside it that asked for it, if there is one. */
  requestedBy: PathPart | undefined
  /** A child agent that outlives its launcher, for example the tool that started it. */
  isBackground: boolean
  isOnPath: boolean
}

export interface PathStep {
  readonly part: PathPart
  readonly fromAt: number
  readonly toAt: number
}

/**
 * Side calls, control hooks, background children and unknown spans are on the path only where no other part explains the time.
 */
function isOffMainLine({ kind, isBackground }: PathPart): boolean {
  return isBackground || kind === 'auxiliary' || kind === 'hook' || kind === 'other'
}

/**
 * Yields the parts awaited in a period, latest first and without overlap. The agent loop defines the dependencies: a request
 * waits for the tools of the request before it, and a tool waits for the request that asked for it. Other parts, such as a side
 * call or a background tool, fill the remaining gaps.
 */
export function* stepsBackwards(parts: readonly PathPart[], fromAt: number, toAt: number): Generator<PathStep, void> {
  const line = new MainLine(parts)
  const others = new Fillers(parts)
  let cursor = toAt
  while (cursor > fromAt) {
    const part = line.takeLastEndedBefore(cursor)
    const until = part === undefined ? fromAt : Math.max(fromAt, Math.min(part.endAt, cursor))
    for (const step of others.fillGap(until, cursor)) {
      yield step
      cursor = step.fromAt
    }
    if (part === undefined) return
    part.isOnPath = true
    const step = { part, fromAt: Math.max(fromAt, part.startAt), toAt: Math.min(until, cursor) }
    if (step.fromAt >= step.toAt) continue
    yield step
    cursor = step.fromAt
  }
}

/** The parts of the agent loop, from end to start. Call with times that never increase. */
class MainLine {
  readonly #requests: readonly PathPart[]
  /** The parts that each request asked for, latest end last. The first entry has those before any request. */
  readonly #asked: PathPart[][]
  #at: number
  #isAsked = false

  constructor(parts: readonly PathPart[]) {
    const line = parts.filter(part => !isOffMainLine(part)).sort((a, b) => a.startAt - b.startAt)
    this.#requests = line.filter(({ kind }) => kind === 'api')
    this.#asked = Array.from({ length: this.#requests.length + 1 }, () => [])
    this.#at = this.#requests.length
    const places = new Map(this.#requests.map((request, index) => [request, index + 1]))
    let begun = 0
    for (const part of line) {
      if (part.kind === 'api') begun += 1
      else this.#asked[(part.requestedBy && places.get(part.requestedBy)) ?? begun]?.push(part)
    }
    // Among parts with the same end the longest is taken first: it did not wait for the others.
    for (const group of this.#asked) group.sort((a, b) => a.endAt - b.endAt || b.startAt - a.startAt)
  }

  /** The awaited part with the latest end at or before `cursor`. A part that ends later was not waited for. */
  takeLastEndedBefore(cursor: number): PathPart | undefined {
    for (; this.#at > 0; this.#stepBack()) {
      const request = this.#requests[this.#at - 1]
      const asked = this.#lastAsked(cursor)
      const isOver = request !== undefined && request.endAt <= cursor
      if (asked !== undefined && !(isOver && request.endAt > asked.endAt)) {
        this.#asked[this.#at]?.pop()
        this.#isAsked = true
        return asked
      }
      if (request !== undefined && !request.isOnPath && (isOver || this.#isAsked)) {
        this.#stepBack()
        return request
      }
    }
    const asked = this.#lastAsked(cursor)
    this.#asked[0]?.pop()
    return asked
  }

  #stepBack(): void {
    this.#at -= 1
    this.#isAsked = false
  }

  #lastAsked(cursor: number): PathPart | undefined {
    const group = this.#asked[this.#at] ?? []
    for (let last = group.at(-1); last !== undefined; last = group.at(-1)) {
      if (!last.isOnPath && last.endAt <= cursor) return last
      group.pop()
    }
    return undefined
  }
}

/** All parts, by end, for the periods that the loop does not explain. */
class Fillers {
  readonly #parts: readonly PathPart[]
  #next = 0

  constructor(parts: readonly PathPart[]) {
    this.#parts = [...parts].sort((a, b) => b.endAt - a.endAt || a.startAt - b.startAt)
  }

  /** Latest first. Call with times that never increase. */
  *fillGap(fromAt: number, toAt: number): Generator<PathStep, void> {
    let cursor = toAt
    for (let part = this.#parts[this.#next]; part !== undefined; part = this.#parts[this.#next]) {
      if (part.endAt <= fromAt) return
      this.#next += 1
      const step = { part, fromAt: Math.max(fromAt, part.startAt), toAt: part.endAt }
      if (part.isOnPath || step.toAt > cursor || step.fromAt >= step.toAt) continue
      part.isOnPath = true
      cursor = step.fromAt
      yield step
    }
  }
}
