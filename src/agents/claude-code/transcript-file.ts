import type { AgentFolders } from '../base/agent-file.ts'
import { AppendedLineReader } from '../base/appended-line-reader.ts'
import type { AdapterEnvironment } from '../receiver-adapter.ts'
import { TranscriptLines } from './transcript-lines.ts'
import { openFile } from './transcript-place.ts'
import type { Whose } from './types.ts'

/**
 * Transcripts lag behind the hooks, usually by a tenth of a second, on a busy machine by over a second. The wait does not delay
 * the agent.
 */
const PATIENCE_MILLIS = 1500
/** Timeout for a missing file. */
export const ABSENT_PATIENCE_MILLIS = 500
/** Timeout after an earlier wait for the same hook was in vain. */
const LESS_PATIENCE_MILLIS = 160
export const LOOK_MILLIS = 20

export class TranscriptFile {
  readonly #path: string
  readonly #reader = new AppendedLineReader()
  readonly whose: Whose
  readonly lines: TranscriptLines
  isThere = false
  /** The agent has ended; its last lines are not written yet. */
  isOwing = false
  /** Hooks for which the awaited lines did not appear: a hook of another program is slow, or the lines are never written. */
  readonly #vain = new Set<string>()

  constructor(path: string, whose: Whose) {
    this.#path = path
    this.whose = whose
    this.lines = new TranscriptLines(whose)
  }

  /** Reads until `isEnough` returns true, or until the timeout for this hook. */
  async until(
    event: string,
    { place, wait }: AdapterEnvironment,
    isEnough: (lines: TranscriptLines) => boolean,
  ): Promise<void> {
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

  /** Reads the lines written since the last timeout. */
  async readRest({ place }: AdapterEnvironment): Promise<void> {
    this.isOwing = false
    await this.#read(place)
    this.lines.advance(Number.POSITIVE_INFINITY, false)
  }

  async #read(place: AgentFolders): Promise<boolean> {
    const file = await openFile(this.#path, place)
    if (file === undefined) return false
    try {
      await this.#reader.readNewLines(
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
