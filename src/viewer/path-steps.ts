import type { DrawnKind } from './segments.ts'
import type { StoredSpan } from './stored-span.ts'

/** A span as the critical path sees it: below what it took place in, which is not always its parent. */
export interface PathPart {
  readonly span: StoredSpan
  readonly kind: DrawnKind
  /** Epoch milliseconds. What lasts longer than what it took place in ends with that: nobody waited for the rest. */
  readonly startAt: number
  endAt: number
  readonly inner: PathPart[]
  /** The request that asked for it, where one beside it did. */
  asker: PathPart | undefined
  /** A child agent that outlives its launcher, for example the tool that started it. */
  isBackground: boolean
  isTaken: boolean
}

/** A part, or as much of it as something waited for. */
export interface PathStep {
  readonly part: PathPart
  readonly fromAt: number
  readonly toAt: number
}

/** Side calls, control hooks, background children and unknown spans are on the path only where no other part explains the time. */
function isBeside({ kind, isBackground }: PathPart): boolean {
  return isBackground || kind === 'auxiliary' || kind === 'hook' || kind === 'other'
}

/**
 * What was waited for in a stretch of time, the last first: parts of `parts` that follow one another without overlap. Who
 * waited for whom is told by what a loop is: a request waits for the tools that the one before it asked for, and a tool for
 * the request that asked for it. What else went on, such as a side call or a tool in the background, fills what that leaves.
 */
export function* stepsBackwards(parts: readonly PathPart[], fromAt: number, toAt: number): Generator<PathStep, void> {
  const line = new MainLine(parts)
  const others = new Fillers(parts)
  let cursor = toAt
  while (cursor > fromAt) {
    const part = line.before(cursor)
    const until = part === undefined ? fromAt : Math.max(fromAt, Math.min(part.endAt, cursor))
    for (const step of others.between(until, cursor)) {
      yield step
      cursor = step.fromAt
    }
    if (part === undefined) return
    part.isTaken = true
    const step = { part, fromAt: Math.max(fromAt, part.startAt), toAt: Math.min(until, cursor) }
    if (step.fromAt >= step.toAt) continue
    yield step
    cursor = step.fromAt
  }
}

/** What the loop itself is made of, from its end to its beginning. Asked with times that never grow. */
class MainLine {
  readonly #requests: readonly PathPart[]
  /** What each request asked for, the last ended last; the first are those before any request. */
  readonly #asked: PathPart[][]
  #at: number
  /** Something on the path was asked for by the request that we are at. */
  #isAsked = false

  constructor(parts: readonly PathPart[]) {
    const line = parts.filter(part => !isBeside(part)).sort((a, b) => a.startAt - b.startAt)
    this.#requests = line.filter(({ kind }) => kind === 'api')
    this.#asked = Array.from({ length: this.#requests.length + 1 }, () => [])
    this.#at = this.#requests.length
    const places = new Map(this.#requests.map((request, index) => [request, index + 1]))
    let begun = 0
    for (const part of line) {
      if (part.kind === 'api') begun += 1
      else this.#asked[(part.asker && places.get(part.asker)) ?? begun]?.push(part)
    }
    // Of those that end together the longest is taken first: it is what the others did not keep waiting.
    for (const group of this.#asked) group.sort((a, b) => a.endAt - b.endAt || b.startAt - a.startAt)
  }

  /** What ended last before this, of what was waited for then. What has not ended by then was not waited for. */
  before(cursor: number): PathPart | undefined {
    for (; this.#at > 0; this.#leave()) {
      const request = this.#requests[this.#at - 1]
      const asked = this.#lastAsked(cursor)
      const isOver = request !== undefined && request.endAt <= cursor
      if (asked !== undefined && !(isOver && request.endAt > asked.endAt)) {
        this.#asked[this.#at]?.pop()
        this.#isAsked = true
        return asked
      }
      if (request !== undefined && !request.isTaken && (isOver || this.#isAsked)) {
        this.#leave()
        return request
      }
    }
    const asked = this.#lastAsked(cursor)
    this.#asked[0]?.pop()
    return asked
  }

  #leave(): void {
    this.#at -= 1
    this.#isAsked = false
  }

  #lastAsked(cursor: number): PathPart | undefined {
    const group = this.#asked[this.#at] ?? []
    for (let last = group.at(-1); last !== undefined; last = group.at(-1)) {
      if (!last.isTaken && last.endAt <= cursor) return last
      group.pop()
    }
    return undefined
  }
}

/** Everything that went on, by its end, for the stretches that the loop does not explain. */
class Fillers {
  readonly #parts: readonly PathPart[]
  #next = 0

  constructor(parts: readonly PathPart[]) {
    this.#parts = [...parts].sort((a, b) => b.endAt - a.endAt || a.startAt - b.startAt)
  }

  /** The last first. Asked with times that never grow. */
  *between(fromAt: number, toAt: number): Generator<PathStep, void> {
    let cursor = toAt
    for (let part = this.#parts[this.#next]; part !== undefined; part = this.#parts[this.#next]) {
      if (part.endAt <= fromAt) return
      this.#next += 1
      const step = { part, fromAt: Math.max(fromAt, part.startAt), toAt: part.endAt }
      if (part.isTaken || step.toAt > cursor || step.fromAt >= step.toAt) continue
      part.isTaken = true
      cursor = step.fromAt
      yield step
    }
  }
}
