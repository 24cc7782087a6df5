import { appendFileSync, mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { GeminiAdapter } from '../../../src/agents/gemini/receiver-adapter.ts'
import type { HostEvent } from '../../../src/agents/host-event.ts'
import type { ReceiverAdapter } from '../../../src/agents/receiver-adapter.ts'
import { afterwards } from '../../support/afterwards.ts'
import { replayEvents } from '../replay-fixture.ts'

const START = Date.UTC(2026, 10, 22, 10)

/** A Gemini CLI that fires hooks, and writes its session file. */
export class Scene {
  readonly folder: string
  readonly path: string
  readonly events: HostEvent[] = []
  adapter: ReceiverAdapter

  constructor() {
    const home = realpathSync(mkdtempSync(join(tmpdir(), 'hookspan-gemini-')))
    afterwards(() => rmSync(home, { recursive: true, force: true }))
    this.folder = join(home, '.gemini')
    this.path = join(this.folder, 'tmp', 'app', 'chats', 'session-s1.jsonl')
    mkdirSync(dirname(this.path), { recursive: true })
    this.adapter = this.newAdapter()
  }

  newAdapter(): ReceiverAdapter {
    return new GeminiAdapter({
      place: { folders: [this.folder], uid: process.getuid?.() },
      wait: async () => undefined,
    })
  }

  /** A hook, so many milliseconds after the start, and what was found for it. */
  async hook(name: string, at: number, data: object = {}): Promise<readonly HostEvent[]> {
    const base = { session_id: 's1', transcript_path: this.path, hook_event_name: name, timestamp: timeAt(at) }
    const told: HostEvent[] = []
    // The program that brings it takes its time.
    for (const event of this.adapter.events({ body: { ...base, ...data }, headers: {}, at: START + at + 90 })) {
      told.push(event, ...((await this.adapter.enrich?.(event)) ?? []))
    }
    this.events.push(...told)
    return told
  }

  /** @param agent writes into the file of a child */
  writes(line: object | string, agent?: string): void {
    const path = agent === undefined ? this.path : join(dirname(this.path), 's1', `${agent}.jsonl`)
    mkdirSync(dirname(path), { recursive: true })
    appendFileSync(path, typeof line === 'string' ? line : `${JSON.stringify(line)}\n`)
  }

  async tree(shown?: readonly string[]): Promise<string> {
    const { plugin, tree } = await replayEvents('gemini', this.events)
    return shown === undefined ? tree : plugin.tree({ attributes: [...shown] })
  }
}

export function timeAt(at: number): string {
  return new Date(START + at).toISOString()
}

export const lines = {
  sent: (at: number, text?: string): object => ({
    id: `sent-${at}`,
    timestamp: timeAt(at),
    type: 'user',
    content: text === undefined ? [{ functionResponse: {} }] : [{ text }],
  }),
  answer: (at: number, content = '', toolCalls?: readonly object[]): object => ({
    id: `answer-${at}`,
    timestamp: timeAt(at),
    type: 'gemini',
    content,
    tokens: { input: 100, output: 10, cached: 20, thoughts: 5, tool: 2, total: 117 },
    model: 'gemini-3',
    ...(toolCalls === undefined ? {} : { toolCalls }),
  }),
  call: (at: number, id: string, more: object = {}): object => ({
    id,
    name: 'read_file',
    args: { file_path: 'a' },
    status: 'success',
    timestamp: timeAt(at),
    ...more,
  }),
}

export const read = (file_path = 'a'): object => ({ tool_name: 'read_file', tool_input: { file_path } })
