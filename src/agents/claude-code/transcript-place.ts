import type { FileHandle } from 'node:fs/promises'
import { homedir } from 'node:os'
import { isAbsolute, join, normalize } from 'node:path'
import { type AgentFolders, openAgentFile } from '../base/agent-file.ts'

/** The format of Claude Code's agent ids. In a path, it cannot leave the folder. */
const AGENT_ID = /^[\w-]{1,128}$/

/** @param env environment of the reading process */
export function ownPlace(env: Readonly<Record<string, string | undefined>>): AgentFolders {
  const own = env['CLAUDE_CONFIG_DIR']?.trim() ?? ''
  const folders = [join(homedir(), '.claude'), ...(isAbsolute(own) ? [own] : [])]
  return { folders: folders.map(folder => normalize(folder)), uid: process.getuid?.() }
}

/**
 * Returns the path of a child agent's transcript, in a folder beside that of its session. Returns undefined if the id is invalid.
 */
export function agentFile(transcript: string, agentId: string, ending: '.jsonl' | '.meta.json'): string | undefined {
  if (!AGENT_ID.test(agentId) || !transcript.endsWith('.jsonl')) return undefined
  return join(transcript.slice(0, -'.jsonl'.length), 'subagents', `agent-${agentId}${ending}`)
}

/** Opens a file of Claude Code below `projects` in a configuration folder. */
export async function openFile(path: string, place: AgentFolders): Promise<FileHandle | undefined> {
  return openAgentFile(path, place, 'projects')
}
