/** GitHub Copilot CLI: what it sends of itself, beside its hooks. */
import { expect, test } from 'vitest'
import { CopilotAdapters } from '../../../src/agents/copilot/receiver-adapter.ts'
import type { HostEvent } from '../../../src/agents/host-event.ts'
import { readTraces } from '../../../src/receiver/traces.ts'
import { replayEvents } from '../replay-fixture.ts'
import { chat, executeTool, exported, invokeAgent, invokeChild, SESSION, START } from './telemetry.ts'

const NO_FILES = { folders: [], uid: undefined }
const BASH = { tool_name: 'Bash', tool_input: { command: 'npm test' } }

/** A receiver's two ways in: hooks in the order in which they come, and spans beside them. */
class Scene {
  readonly events: HostEvent[] = []
  /** How long it has been waited for spans, each time. */
  readonly waits: number[] = []
  #giveUp: () => void = () => undefined
  #lane: Promise<void> = Promise.resolve()
  readonly #adapters = new CopilotAdapters({
    place: NO_FILES,
    wait: (millis, signal) => {
      this.waits.push(millis)
      return new Promise<void>(resolve => {
        this.#giveUp = resolve
        signal?.addEventListener('abort', () => resolve())
      })
    },
  })

  hook(at: number, event: string, data: object = {}): void {
    const body = { hook_event_name: event, session_id: SESSION, ...data }
    const { hooks } = this.#adapters
    this.#lane = this.#lane.then(async () => {
      for (const one of hooks.events({ body, headers: {}, at: START + at })) {
        this.events.push(one)
        this.events.push(...((await hooks.enrich?.(one)) ?? []))
      }
    })
  }

  spans(...spans: readonly object[]): void {
    const bytes = Buffer.from(JSON.stringify(exported(spans)))
    for (const body of readTraces(bytes, 'application/json', ['github-copilot'], 1e6).spans) {
      this.events.push(...this.#adapters.spans.events({ body, headers: {}, at: START + 60_000 }))
    }
  }

  /** Until nothing goes on but a wait. */
  async settled(): Promise<void> {
    await new Promise(setImmediate)
  }

  /** Nothing comes any more. */
  async inVain(): Promise<void> {
    await this.settled()
    this.#giveUp()
    await this.settled()
  }

  async tree(): Promise<string> {
    await this.inVain()
    return (await replayEvents('copilot', this.events)).tree
  }
}

const REQUEST =
  'api.gpt-5.2 OK [gen_ai.usage.input_tokens=1000, gen_ai.usage.cache_read.input_tokens=900, gen_ai.usage.output_tokens=20, gen_ai.response.finish_reason=stop]'

/** One turn with a tool; its two requests are exported when it is over. */
async function oneTurn(scene: Scene): Promise<void> {
  scene.hook(0, 'UserPromptSubmit', { prompt: 'run the tests' })
  scene.hook(500, 'PreToolUse', BASH)
  scene.hook(900, 'PostToolUse', BASH)
  scene.hook(1500, 'Stop')
  await scene.settled()
}

function spansOfOneTurn(): object[] {
  return [
    chat({ id: 'a', from: 10, to: 490 }),
    executeTool({ id: 'b', from: 500, to: 900 }),
    chat({ id: 'c', from: 910, to: 1490 }),
    invokeAgent({ id: 'd', from: 5, to: 1510 }),
  ]
}

test('adds requests that arrive after the end of their turn to the turn and its sums, and tools from hooks alone', async () => {
  const scene = new Scene()
  await oneTurn(scene)
  scene.spans(...spansOfOneTurn())
  expect(await scene.tree()).toBe(
    [
      'agent OK [hermes.turn.number=1, hermes.turn.final_status=completed, hermes.turn.tokens.total=2040, hermes.turn.exit_reason=completed]',
      '  llm.gpt-5.2-2026-08 OK',
      `    ${REQUEST}`,
      '    tool.Bash OK (inferred) [hermes.tool.outcome=completed]',
      `    ${REQUEST}`,
    ].join('\n'),
  )
})

test('ends the turn when its spans have arrived, and not before', async () => {
  const scene = new Scene()
  await oneTurn(scene)
  const last = (): string | undefined => scene.events.at(-1)?.event
  expect(last()).toBe('Stop')
  const [first, ...others] = spansOfOneTurn()
  // A child agent's ends, too, and it is not over.
  scene.spans(first as object, invokeChild({ id: 'e', from: 20, to: 1505 }))
  await scene.settled()
  expect(last()).toBe('span:request')
  scene.spans(...others)
  await scene.settled()
  expect(last()).toBe('span:read')
  expect(scene.events.filter(({ event }) => event === 'span:read')).toHaveLength(2)
})

test('records the times, the models and the first chunk of a request', async () => {
  const scene = new Scene()
  await oneTurn(scene)
  scene.spans(...spansOfOneTurn())
  await scene.settled()
  const { plugin } = await replayEvents('copilot', scene.events)
  const [span] = plugin.spans().filter(({ name }) => name.startsWith('api'))
  expect([span?.startAt, span?.endAt]).toEqual([START + 10, START + 490])
  expect(span?.attributes).toMatchObject({
    'gen_ai.request.model': 'gpt-5.2',
    'gen_ai.response.model': 'gpt-5.2-2026-08',
    'gen_ai.response.id': 'resp-a',
    'gen_ai.response.finish_reasons': ['stop'],
    'gen_ai.usage.cache_creation.input_tokens': 50,
    'gen_ai.response.time_to_first_chunk': 0.125,
  })
})

test('waits once for an agent that sends no spans', async () => {
  const scene = new Scene()
  await oneTurn(scene)
  await scene.inVain()
  scene.hook(2000, 'UserPromptSubmit', { prompt: 'again' })
  scene.hook(3000, 'Stop')
  scene.hook(3100, 'SessionEnd', { reason: 'complete' })
  await scene.settled()
  expect(scene.waits).toEqual([8000])
  expect(scene.events.at(-1)).toMatchObject({ event: 'span:read' })
})

test('puts spans that arrive after the wait below their turn, and not in its sums', async () => {
  const scene = new Scene()
  await oneTurn(scene)
  await scene.inVain()
  scene.spans(...spansOfOneTurn())
  const tree = await scene.tree()
  expect(tree.split('\n').filter(line => line.includes(' api'))).toHaveLength(2)
  expect(tree.split('\n').filter(line => line.startsWith('agent'))).toHaveLength(1)
  expect(tree).not.toContain('tokens.total')
})

test('puts a request that began before the first hook in the first turn of its session', async () => {
  const scene = new Scene()
  scene.hook(500, 'PreToolUse', BASH)
  scene.hook(900, 'PostToolUse', BASH)
  scene.hook(1500, 'Stop')
  await scene.settled()
  scene.spans(...spansOfOneTurn())
  expect((await scene.tree()).match(/tokens\.total=2040/g)).toHaveLength(1)
})

test('records a repeated export once', async () => {
  const scene = new Scene()
  await oneTurn(scene)
  const [first, ...others] = spansOfOneTurn()
  scene.spans(first as object)
  scene.spans(first as object, ...others)
  scene.spans(...others)
  expect((await scene.tree()).match(/ api\S* OK/g)).toHaveLength(2)
})

test('records a failed request once, from its hook', async () => {
  const scene = new Scene()
  const error = { name: 'RateLimitError', message: 'rate limited' }
  scene.hook(0, 'UserPromptSubmit', { prompt: 'x' })
  scene.hook(300, 'ErrorOccurred', { error, error_context: 'model_call', recoverable: true })
  scene.hook(1500, 'Stop')
  await scene.settled()
  scene.spans(chat({ id: 'a', from: 10, to: 299, more: { 'error.type': 'RateLimitError' } }))
  scene.spans({ ...chat({ id: 'b', from: 10, to: 299 }), status: { code: 2 } })
  scene.spans(chat({ id: 'c', from: 400, to: 1490 }), invokeAgent({ id: 'd', from: 5, to: 1510 }))
  await scene.settled()
  const { hooks } = await replayEvents('copilot', scene.events)
  expect(hooks.filter(hook => hook.endsWith('api_request') || hook === 'api_request_error')).toEqual([
    'pre_api_request',
    'api_request_error',
    'pre_api_request',
    'post_api_request',
  ])
})

test('separates the first request of a queued prompt from the last spans of the turn before', async () => {
  const scene = new Scene()
  await oneTurn(scene)
  scene.hook(1600, 'UserPromptSubmit', { prompt: 'next' })
  scene.hook(2500, 'Stop')
  await scene.settled()
  scene.spans(...spansOfOneTurn(), chat({ id: 'e', from: 1610, to: 2400 }))
  await scene.settled()
  scene.spans(invokeAgent({ id: 'f', from: 1605, to: 2510 }))
  const roots = (await scene.tree()).split('\n').filter(line => line.startsWith('agent'))
  expect(roots.map(line => /tokens\.total=(\d+)/.exec(line)?.[1])).toEqual(['2040', '1020'])
})

test('counts a session without hooks, or one that has ended, as ignored', async () => {
  const scene = new Scene()
  await oneTurn(scene)
  scene.spans(chat({ id: 'x', from: 10, to: 20, session: 'another' }), ...spansOfOneTurn())
  await scene.settled()
  scene.hook(2000, 'SessionEnd', { reason: 'complete' })
  await scene.settled()
  scene.spans(chat({ id: 'y', from: 1000, to: 1200 }))
  const { plugin } = await replayEvents('copilot', scene.events)
  expect(plugin.stats().hooks).toMatchObject({ ignored: 2, error: 0 })
  expect(plugin.spans().filter(({ name }) => name === 'agent')).toHaveLength(1)
})

test('keeps only the answer of the content, by the capture policy', async () => {
  const scene = new Scene()
  await oneTurn(scene)
  const key = `ghp_${'a1B2'.repeat(9)}`
  const said = (content: string): string => JSON.stringify([{ role: 'assistant', parts: [{ type: 'text', content }] }])
  const more = {
    'gen_ai.output.messages': said(`all green, with ${key}`),
    'gen_ai.input.messages': said('what was asked'),
    'gen_ai.system_instructions': 'you are',
  }
  scene.spans(chat({ id: 'a', from: 910, to: 1490, more }), invokeAgent({ id: 'd', from: 5, to: 1510 }))
  await scene.settled()
  expect(JSON.stringify(scene.events)).not.toMatch(/what was asked|you are|definitions/)
  const { plugin } = await replayEvents('copilot', scene.events)
  const outputs = plugin.spans().map(({ name, attributes }) => [name.split('.')[0], attributes['output.value']])
  expect(Object.fromEntries(outputs)).toMatchObject({
    llm: expect.stringMatching(/^all green, with (?!ghp_a1B2)/),
    api: expect.stringMatching(/^all green, with (?!ghp_a1B2)/),
  })
  expect(JSON.stringify(plugin.spans())).not.toContain(key)
})

test('does not accept a hook as a span', () => {
  const { hooks } = new CopilotAdapters({ place: NO_FILES, wait: () => Promise.resolve() })
  for (const name of ['span:request', 'span:read']) {
    expect(hooks.events({ body: { hook_event_name: name }, headers: {}, at: START })).toEqual([])
  }
})
