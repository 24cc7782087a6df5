import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { codeOf, createCheckpointFile, isOffset, writeCheckpointFile } from './checkpoint-file.ts'
import { readOwnFile } from './private-place.ts'

/**
 * What one destination has got of a segment because somebody asked for it: of the traces that began at `since` or later,
 * and before `before`, everything up to `offset`; of those that began at `before` or later, everything.
 */
export interface SentState {
  /** Epoch milliseconds; 0 for all traces. */
  readonly since: number
  /** Epoch milliseconds; null for no limit. */
  readonly before: number | null
  /** Bytes. */
  readonly offset: number
}

/**
 * What is still to be sent to a destination of a segment of so many bytes, so that it has everything since then.
 * What was begun is finished first, though it may be more than is asked for now. Undefined when it has it all.
 */
export function nextPass(state: SentState | undefined, since: number, bytes: number): SentState | undefined {
  if (state === undefined) return { since, before: null, offset: 0 }
  if (state.offset < bytes) return state
  return since < state.since ? { since, before: state.since, offset: 0 } : undefined
}

function sentDirectory(stateDirectory: string): string {
  return join(stateDirectory, 'sent')
}

/**
 * What was sent of one segment to backends that nobody owed it to. A file beside the log, for as long as the segment is
 * there; only who holds the segment's checkpoint writes it.
 */
export class SentRecord {
  readonly #path: string
  readonly #states: Map<string, SentState>

  constructor(stateDirectory: string, segment: string) {
    this.#path = recordPath(stateDirectory, segment)
    this.#states = readStates(this.#path)
  }

  /** Of a destination, as `destinationOf` names it. */
  get(destination: string): SentState | undefined {
    return this.#states.get(destination)
  }

  /** Returns whether it is saved; what is not may be sent twice. */
  set(destination: string, state: SentState): boolean {
    this.#states.set(destination, state)
    const text = JSON.stringify(Object.fromEntries(this.#states))
    try {
      writeCheckpointFile(this.#path, text)
      return true
    } catch (error) {
      return codeOf(error) === 'ENOENT' && this.#create(text)
    }
  }

  #create(text: string): boolean {
    try {
      createCheckpointFile(this.#path, text)
      return true
    } catch {
      return false
    }
  }
}

/** For a segment that is gone. Never rejects. */
export async function removeSentRecord(stateDirectory: string, segment: string): Promise<void> {
  await rm(recordPath(stateDirectory, segment), { force: true }).catch(() => undefined)
}

function recordPath(stateDirectory: string, segment: string): string {
  return join(sentDirectory(stateDirectory), `${segment}.json`)
}

/** What cannot be read counts as not sent: better twice than never. */
function readStates(path: string): Map<string, SentState> {
  try {
    const parsed = JSON.parse(readOwnFile(path).toString()) as object
    return new Map(Object.entries(parsed).filter((entry): entry is [string, SentState] => isState(entry[1])))
  } catch {
    return new Map()
  }
}

function isState(value: unknown): value is SentState {
  const { since, before, offset } = (value ?? {}) as Partial<Record<keyof SentState, unknown>>
  return isOffset(since) && (before === null || isOffset(before)) && isOffset(offset)
}
