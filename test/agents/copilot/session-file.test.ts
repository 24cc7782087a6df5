/** GitHub Copilot CLI: the session file, read for its hooks. */
import { appendFileSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { CopilotAdapters } from '../../../src/agents/copilot/receiver-adapter.ts'
import type { HostEvent } from '../../../src/agents/host-event.ts'
import { readTraces } from '../../../src/receiver/traces.ts'
import { afterwards } from '../../support/afterwards.ts'
import { replayEvents } from '../replay-fixture.ts'
import { chat, exported, SESSION, START } from './telemetry.ts'

class Scene {
  readonly events: HostEvent[] = []
  /** What the agent does while the adapter waits for its file. */
  meanwhile: () => void = () => undefined
  readonly #home: string
  readonly #adapters: CopilotAdapters

  constructor() {
    this.#home = realpathSync(mkdtempSync(join(tmpdir(), 'hookspan-copilot-')))
    afterwards(() => rmSync(this.#home, { recursive: true, force: true }))
    const wait = (): Promise<void> => Promise.resolve(this.meanwhile())
    this.#adapters = new CopilotAdapters({ place: { folders: [this.#home], uid: process.getuid?.() }, wait })
  }

  write(at: number, type: string, data: object = {}, agentId?: string): void {
    const folder = join(this.#home, 'session-state', SESSION)
    mkdirSync(folder, { recursive: true })
    const id = `${type} ${at} ${agentId ?? ''}`
    const line = { type, data, agentId, id, timestamp: new Date(START + at).toISOString(), parentId: null }
    appendFileSync(join(folder, 'events.jsonl'), `${JSON.stringify(line)}\n`)
  }

  clear(): void {
    writeFileSync(join(this.#home, 'session-state', SESSION, 'events.jsonl'), '')
  }

  turn(at: number, name: string): void {
    this.write(at, 'user.message', { content: name, interactionId: name, delivery: 'idle' })
    this.write(at + 10, 'assistant.turn_start')
    const usage = { model: 'm', inputTokens: 100, outputTokens: 10, duration: 20, apiCallId: name }
    this.write(at + 40, 'session.usage_record', { usage })
    this.write(at + 41, 'assistant.message', { apiCallId: name, content: `answer to ${name}` })
  }

  async hook(at: number, event: string, data: object = {}): Promise<void> {
    const timestamp = new Date(START + at).toISOString()
    const body = { hook_event_name: event, session_id: SESSION, timestamp, ...data }
    for (const one of this.#adapters.hooks.events({ body, headers: {}, at: START + at + 50 })) {
      this.events.push(one, ...((await this.#adapters.hooks.enrich?.(one)) ?? []))
    }
  }

  spans(...spans: readonly object[]): void {
    const bytes = Buffer.from(JSON.stringify(exported(spans)))
    for (const body of readTraces(bytes, 'application/json', ['github-copilot'], 1e6).spans)
      this.events.push(...this.#adapters.spans.events({ body, headers: {}, at: START + 60_000 }))
  }

  async tree(): Promise<string> {
    const { tree } = await replayEvents('copilot', this.events)
    return tree.replace(/ \[[^\]]*tokens\.total=(\d+)[^\]]*\]/g, ' $1').replace(/ \[[^\]]*\]/g, '')
  }
}

const ONE_TURN = 'agent OK 110\n  llm.m OK\n    api.m OK'

test('waits for lines that the agent writes after the hook', async () => {
  const scene = new Scene()
  scene.meanwhile = () => {
    scene.meanwhile = () => undefined
    scene.turn(10, 'one')
  }
  await scene.hook(0, 'UserPromptSubmit', { prompt: 'one' })
  scene.write(99, 'assistant.turn_end')
  scene.write(100, 'hook.start')
  await scene.hook(100, 'Stop')
  expect(await scene.tree()).toBe(ONE_TURN)
})

test('skips turns from before the first hook of a session', async () => {
  const scene = new Scene()
  scene.turn(-9000, 'history')
  scene.turn(-5000, 'more history')
  scene.turn(10, 'one')
  await scene.hook(0, 'UserPromptSubmit', { prompt: 'one' })
  scene.write(100, 'hook.start')
  await scene.hook(100, 'Stop')
  expect(await scene.tree()).toBe(ONE_TURN)
})

test('emits each line once when the file is read again', async () => {
  const scene = new Scene()
  scene.turn(10, 'one')
  await scene.hook(0, 'UserPromptSubmit', { prompt: 'one' })
  scene.clear()
  await scene.hook(50, 'PreToolUse')
  scene.turn(10, 'one')
  scene.write(100, 'hook.start')
  await scene.hook(100, 'Stop')
  expect(await scene.tree()).toBe(ONE_TURN)
})

test('ends a turn before it begins the next one, whichever line is read first', async () => {
  const scene = new Scene()
  scene.turn(10, 'one')
  await scene.hook(0, 'UserPromptSubmit', { prompt: 'one' })
  scene.write(100, 'hook.start')
  scene.turn(120, 'two')
  await scene.hook(100, 'Stop')
  await scene.hook(110, 'UserPromptSubmit', { prompt: 'two' })
  scene.write(200, 'hook.start')
  await scene.hook(200, 'Stop')
  expect(await scene.tree()).toBe(`${ONE_TURN}\n\n${ONE_TURN}`)
})

test('ends a turn by Stop, even if the end of the process is in the file by then', async () => {
  const scene = new Scene()
  scene.turn(10, 'one')
  await scene.hook(0, 'UserPromptSubmit', { prompt: 'one' })
  scene.write(150, 'session.shutdown', { shutdownType: 'routine' })
  await scene.hook(100, 'Stop')
  await scene.hook(120, 'SessionEnd', { reason: 'complete' })
  expect(scene.events.map(({ event }) => event)).toContain('file:session.shutdown')
  expect((await replayEvents('copilot', scene.events)).tree).toContain('final_status=completed')
})

test('counts the requests of a session once, although telemetry has them as well', async () => {
  const scene = new Scene()
  scene.turn(10, 'one')
  await scene.hook(0, 'UserPromptSubmit', { prompt: 'one' })
  scene.write(100, 'hook.start')
  await scene.hook(100, 'Stop')
  scene.spans(chat({ id: 'a', from: 20, to: 50 }))
  expect(await scene.tree()).toBe(ONE_TURN)
  const { plugin } = await replayEvents('copilot', scene.events)
  expect(plugin.stats().hooks.ignored).toBe(0)
})

test('records a child agent whose hooks come first in the tree of its parent', async () => {
  const scene = new Scene()
  scene.turn(10, 'one')
  await scene.hook(0, 'UserPromptSubmit', { prompt: 'one' })
  scene.write(60, 'tool.execution_start', { toolCallId: 'T', toolName: 'task', arguments: { prompt: 'x' } })
  scene.write(61, 'subagent.started', { toolCallId: 'T', agentName: 'explorer' }, 'child')
  scene.write(70, 'user.message', { content: 'x', interactionId: 'x', delivery: 'idle' }, 'child')
  const child = { session_id: 'child', agent_id: 'child', parent_agent_id: SESSION }
  await scene.hook(65, 'UserPromptSubmit', { ...child, prompt: 'x' })
  await scene.hook(80, 'Stop', child)
  scene.write(90, 'subagent.completed', { toolCallId: 'T' }, 'child')
  scene.write(91, 'tool.execution_complete', { toolCallId: 'T', success: true })
  scene.write(100, 'hook.start')
  await scene.hook(100, 'Stop')
  expect(await scene.tree()).toBe(
    [ONE_TURN, '      tool.task OK', '        subagent.explorer OK', '          agent OK', '            llm OK'].join(
      '\n',
    ),
  )
})
