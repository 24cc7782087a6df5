import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterwards } from '../../support/afterwards.ts'
import { START } from './scene.ts'

/** Lines as Claude Code writes them, so many milliseconds after the start. */
export const lines = {
  prompt: (at: number, promptId: string, text: string = 'go'): string =>
    line('user', at, { promptId, message: { role: 'user', content: text } }),
  request: (at: number, id: string, querySource: string = 'sdk'): string =>
    line('api-request', at, { id, querySource, params: { model: 'claude' } }),
  /** One block of an answer. */
  block: (at: number, id: string, block: object, more: object = {}): string =>
    line('assistant', at, {
      message: {
        id,
        model: 'claude',
        stop_reason: 'tool_use',
        usage: { input_tokens: 100, output_tokens: 17 },
        content: [block],
      },
      ...more,
    }),
  result: (at: number, tool_use_id: string, promptId?: string, more: object = {}, is_error = false): string =>
    line('user', at, {
      promptId,
      message: {
        role: 'user',
        content: [{ type: 'tool_result', tool_use_id, content: 'as the model sees it', is_error }],
      },
      ...more,
    }),
  /** A hook that timed out. */
  cancelled: (at: number, hookEvent: string, toolUseID: string, more: object = {}): string =>
    line('attachment', at, {
      attachment: { type: 'hook_cancelled', hookName: hookEvent, toolUseID, hookEvent, ...more },
    }),
  error: (at: number): string =>
    line('system', at, {
      subtype: 'api_error',
      uuid: `error-${at}`,
      error: { status: 529, formatted: '529 overloaded' },
      retryInMs: 500,
      maxRetries: 10,
    }),
  failure: (at: number, said: string = 'API Error: 400'): string =>
    line('assistant', at, {
      uuid: `failure-${at}`,
      isApiErrorMessage: true,
      apiErrorStatus: 400,
      error: 'invalid_request',
      message: { model: '<synthetic>', content: [{ type: 'text', text: said }] },
    }),
  interruption: (at: number): string =>
    line('user', at, {
      uuid: `stop-${at}`,
      message: { role: 'user', content: [{ type: 'text', text: '[Request interrupted by user]' }] },
    }),
  feedback: (at: number): string =>
    line('user', at, { isMeta: true, message: { role: 'user', content: 'Stop hook feedback:\nnot yet' } }),
  stopped: (at: number): string => line('system', at, { subtype: 'stop_hook_summary' }),
}

export const text = (said: string): object => ({ type: 'text', text: said })
export const use = (id: string): object => ({ type: 'tool_use', id, name: 'Bash', input: {} })

function line(type: string, at: number, more: object): string {
  return `${JSON.stringify({ type, timestamp: new Date(START + at).toISOString(), ...more })}\n`
}

export interface Folder {
  /** A Claude configuration. */
  readonly folder: string
  /** A project's folder in it. */
  readonly project: string
  /** A transcript in that, which is not there yet. */
  readonly path: string
}

export function scratchFolder(): Folder {
  const home = realpathSync(mkdtempSync(join(tmpdir(), 'hookspan-claude-')))
  afterwards(() => rmSync(home, { recursive: true, force: true }))
  const folder = join(home, '.claude')
  const project = join(folder, 'projects', '-work')
  mkdirSync(project, { recursive: true })
  return { folder, project, path: join(project, 's1.jsonl') }
}
