import type { FileHandle } from 'node:fs/promises'
import { homedir } from 'node:os'
import { isAbsolute, join, normalize } from 'node:path'
import { openOwnFile, type Place } from '../base/own-file.ts'

export type { Place } from '../base/own-file.ts'

/** How Claude Code names its agents; as a part of a path it can lead nowhere else. */
const AGENT_ID = /^[\w-]{1,128}$/

/** @param env of the process that reads */
export function ownPlace(env: Readonly<Record<string, string | undefined>>): Place {
  const own = env['CLAUDE_CONFIG_DIR']?.trim() ?? ''
  const folders = [join(homedir(), '.claude'), ...(isAbsolute(own) ? [own] : [])]
  return { folders: folders.map(folder => normalize(folder)), uid: process.getuid?.() }
}

/** The transcript of a child agent lies beside that of its session. Undefined where the id is none. */
export function agentFile(transcript: string, agentId: string, ending: '.jsonl' | '.meta.json'): string | undefined {
  if (!AGENT_ID.test(agentId) || !transcript.endsWith('.jsonl')) return undefined
  return join(transcript.slice(0, -'.jsonl'.length), 'subagents', `agent-${agentId}${ending}`)
}

/** Opens a file of Claude Code, below `projects` in a Claude configuration. */
export async function openFile(path: string, place: Place): Promise<FileHandle | undefined> {
  return openOwnFile(path, place, 'projects')
}
