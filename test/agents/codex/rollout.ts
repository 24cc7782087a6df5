import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterwards } from '../../support/afterwards.ts'

export const START = 1_795_406_755_000

/** A Codex home, and where a session of it has its rollout. */
export interface Folder {
  readonly home: string
  readonly sessions: string
  readonly path: string
}

export function scratchFolder(): Folder {
  const home = realpathSync(mkdtempSync(join(tmpdir(), 'hookspan-codex-')))
  afterwards(() => rmSync(home, { recursive: true, force: true }))
  const sessions = join(home, 'sessions')
  const path = join(sessions, '2026', '11', '23', 'rollout-2026-11-23T04-05-55-s1.jsonl')
  mkdirSync(dirname(path), { recursive: true })
  return { home, sessions, path }
}

const USAGE = { input_tokens: 120, cached_input_tokens: 20, output_tokens: 17, reasoning_output_tokens: 3 }

/** Lines of a rollout. `at`: milliseconds since `START`. */
export const lines = {
  begun: (at: number, turn_id: string): string => line(at, 'event_msg', { type: 'task_started', turn_id }),
  over: (at: number, turn_id: string, more: object = {}): string =>
    line(at, 'event_msg', { type: 'task_complete', turn_id, last_agent_message: 'Done.', ...more }),
  user: (at: number, text: string): string =>
    line(at, 'response_item', { type: 'message', role: 'user', content: [{ type: 'input_text', text }] }),
  says: (at: number, text: string): string =>
    line(at, 'response_item', { type: 'message', role: 'assistant', content: [{ type: 'output_text', text }] }),
  calls: (at: number, call_id: string): string =>
    line(at, 'response_item', { type: 'function_call', call_id, name: 'exec_command', arguments: '{"cmd":"ls"}' }),
  output: (at: number, call_id: string, output: string): string =>
    line(at, 'response_item', { type: 'function_call_output', call_id, output }),
  starts: (at: number, id: string, agent: string): string => {
    const item = { id, status: 'completed', tool: 'spawn_agent', receiver_agents: [{ thread_id: agent }] }
    return line(at, 'event_msg', { type: 'item_completed', item })
  },
  used: (at: number, turn_id: string, response_id: string): string =>
    line(at, 'token_usage_record', { turn_id, response_id, usage: USAGE }),
}

function line(at: number, type: string, payload: object): string {
  return `${JSON.stringify({ timestamp: new Date(START + at).toISOString(), type, payload })}\n`
}
