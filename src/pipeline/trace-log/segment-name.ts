const NAME = /^(\d+)-(\d+)\.jsonl$/

let lastStartAt = 0

/** A name that is this process' alone, in the order of time: several pipelines of one process have a segment each. */
export function newSegmentName(): string {
  lastStartAt = Math.max(Date.now(), lastStartAt + 1)
  return `${lastStartAt}-${process.pid}`
}

export interface SegmentIdentity {
  readonly name: string
  /** When it was begun. */
  readonly startAt: number
  /** Who wrote it. */
  readonly pid: number
}

/** Undefined for a file that is no segment. */
export function segmentIdentity(fileName: string): SegmentIdentity | undefined {
  const match = NAME.exec(fileName)
  if (!match) return undefined
  return { name: fileName.slice(0, -'.jsonl'.length), startAt: Number(match[1]), pid: Number(match[2]) }
}
