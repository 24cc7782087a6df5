import type { FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { type AgentFolders, openAgentFile } from '../base/agent-file.ts'
import { AppendedLineReader } from '../base/appended-line-reader.ts'
import type { FindingOwner } from '../base/findings.ts'
import type { AdapterEnvironment } from '../receiver-adapter.ts'
import { ClaudeTranscript } from './transcript.ts'

/** The format of Claude Code's agent ids. In a path, it cannot leave the folder. */
const AGENT_ID = /^[\w-]{1,128}$/

/**
 * Returns the path of a child agent's transcript, in a folder beside that of its session. Returns undefined if the id is invalid.
 */
export function agentFile(transcript: string, agentId: string, ending: '.jsonl' | '.meta.json'): string | undefined {
  if (!AGENT_ID.test(agentId) || !transcript.endsWith('.jsonl')) return undefined
  return join(transcript.slice(0, -'.jsonl'.length), 'subagents', `agent-${agentId}${ending}`)
}

export async function openFile(path: string, place: AgentFolders): Promise<FileHandle | undefined> {
  return openAgentFile(path, place, 'projects')
}

/**
 * Transcripts lag behind the hooks, usually by a tenth of a second, on a busy machine by over a second. The wait does not delay
 * the agent.
 */
const PATIENCE_MILLIS = 1500
export const ABSENT_PATIENCE_MILLIS = 500
/** Timeout after an earlier wait for the same hook was in vain. */
const LESS_PATIENCE_MILLIS = 160
export const LOOK_MILLIS = 20

export class TranscriptFile {
  readonly #path: string
  readonly #reader = new AppendedLineReader()
  readonly owner: FindingOwner
  readonly lines: ClaudeTranscript
  isThere = false
  /** The agent has ended; its last lines are not written yet. */
  hasPendingLines = false
  /** Hooks for which the awaited lines did not appear: a hook of another program is slow, or the lines are never written. */
  readonly #vainWaits = new Set<string>()

  constructor(path: string, owner: FindingOwner) {
    this.#path = path
    this.owner = owner
    this.lines = new ClaudeTranscript(owner)
  }

  /** Reads until `isEnough` returns true, or until the timeout for this hook. */
  async readUntil(
    event: string,
    { place, wait }: AdapterEnvironment,
    isEnough: (lines: ClaudeTranscript) => boolean,
  ): Promise<void> {
    for (let waited = 0; ; waited += LOOK_MILLIS) {
      this.isThere = await this.#read(place)
      if (isEnough(this.lines)) {
        this.#vainWaits.delete(event)
        this.hasPendingLines = false
        return
      }
      if (waited >= this.#patienceFor(event)) {
        this.#vainWaits.add(event)
        this.hasPendingLines = this.owner.agent_id !== undefined && event !== 'PreToolUse'
        return
      }
      await wait(LOOK_MILLIS)
    }
  }

  #patienceFor(event: string): number {
    if (this.isThere) return this.#vainWaits.has(event) ? LESS_PATIENCE_MILLIS : PATIENCE_MILLIS
    return this.#vainWaits.has(event) ? 0 : ABSENT_PATIENCE_MILLIS
  }

  async readRest({ place }: AdapterEnvironment): Promise<void> {
    this.hasPendingLines = false
    await this.#read(place)
    this.lines.advance(Number.POSITIVE_INFINITY, false)
  }

  #read(place: AgentFolders): Promise<boolean> {
    const { lines } = this
    return this.#reader.readFrom(
      openFile(this.#path, place),
      line => lines.addLine(line),
      () => lines.restart(),
    )
  }
}
