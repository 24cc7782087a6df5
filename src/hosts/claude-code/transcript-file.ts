import { LineReader } from '../base/line-reader.ts'
import type { World } from '../inlet.ts'
import { TranscriptLines } from './transcript-lines.ts'
import { openFile, type Place } from './transcript-place.ts'
import type { Whose } from './types.ts'

/**
 * Transcripts lag behind the hooks: mostly by a tenth of a second, on a busy machine by more than one. Waiting costs the agent
 * nothing.
 */
const PATIENCE_MILLIS = 1500
/** For a file that is not there. */
export const ABSENT_PATIENCE_MILLIS = 500
/** Where it was in vain before. */
const LESS_PATIENCE_MILLIS = 160
export const LOOK_MILLIS = 20

/** One transcript, and how far it has been read. */
export class TranscriptFile {
  readonly #path: string
  readonly #reader = new LineReader()
  readonly whose: Whose
  readonly lines: TranscriptLines
  isThere = false
  /** Its agent has ended, and that is not written yet. */
  isOwing = false
  /** Hooks at which what is awaited has not come: a hook of somebody else's takes long, or it is never written. */
  readonly #vain = new Set<string>()

  constructor(path: string, whose: Whose) {
    this.#path = path
    this.whose = whose
    this.lines = new TranscriptLines(whose)
  }

  /** Reads until it is enough, or for as long as it is worth it. */
  async until(event: string, { place, wait }: World, isEnough: (lines: TranscriptLines) => boolean): Promise<void> {
    for (let waited = 0; ; waited += LOOK_MILLIS) {
      this.isThere = await this.#read(place)
      if (isEnough(this.lines)) {
        this.#vain.delete(event)
        this.isOwing = false
        return
      }
      if (waited >= this.#patienceFor(event)) {
        this.#vain.add(event)
        this.isOwing = this.whose.agent_id !== undefined && event !== 'PreToolUse'
        return
      }
      await wait(LOOK_MILLIS)
    }
  }

  #patienceFor(event: string): number {
    if (this.isThere) return this.#vain.has(event) ? LESS_PATIENCE_MILLIS : PATIENCE_MILLIS
    return this.#vain.has(event) ? 0 : ABSENT_PATIENCE_MILLIS
  }

  /** What has been written since it was given up. */
  async readRest({ place }: World): Promise<void> {
    this.isOwing = false
    await this.#read(place)
    this.lines.advance(Number.POSITIVE_INFINITY, false)
  }

  async #read(place: Place): Promise<boolean> {
    const file = await openFile(this.#path, place)
    if (file === undefined) return false
    try {
      await this.#reader.read(
        file,
        line => this.lines.line(line),
        () => this.lines.restart(),
      )
      return true
    } finally {
      await file.close()
    }
  }
}
