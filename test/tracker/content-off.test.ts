/** What `content_capture: off` lets out: no prose from any field, and words only from the fields that the page names. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { HookName, Plugin, PluginOptions } from '../../src/index.ts'
import { createTestPlugin, type TestPlugin } from '../../src/testing.ts'
import { scratchPlugin } from '../plugin/scratch-plugin.ts'
import { CONTRACT_FIELDS } from '../support/contract-fields.ts'
import { START_AT } from '../support/feed.ts'
import { tellSpoilt } from '../support/hostile-scene.ts'
import { IS_DEEP, SAMPLED, sample } from '../support/sample.ts'

const WORD = 'quokka'
const PROSE = `the ${WORD} sleeps`

/** Keys that are read inside a value of a host. */
const INNER_KEYS =
  'model type name message status error timeout blocked stop stop_sequences reasoning_effort code total path file_path url command cmd skill content role id messages input system method text'.split(
    ' ',
  )

const under = (text: string): object => Object.fromEntries(INNER_KEYS.map(key => [key, text]))

/** A sentence, in every dress in which it could pass for something else. */
const SENTENCES: readonly (() => unknown)[] = [
  () => PROSE,
  () => `${PROSE}\n`,
  () => `${WORD}\u00a0sleeps`,
  () => `眠る${WORD}`,
  () => WORD.repeat(40),
  () => `${'x'.repeat(190)} ${WORD}`,
  () => `https://host.example/${WORD}?q=${WORD}`,
  () => [PROSE, PROSE],
  () => under(PROSE),
  () => ({ body: under(PROSE), assistant_message: under(PROSE), error: under(PROSE) }),
  () => JSON.stringify(under(PROSE)),
  () => JSON.stringify({ status: 'error', error: under(PROSE) }),
  () => ({ path: `/home/${PROSE}/skills/${PROSE}/SKILL.md` }),
  () => Object.assign(new Error(PROSE), { name: PROSE, type: PROSE }),
  () => ({
    get message() {
      throw Object.assign(new Error(PROSE), { name: PROSE })
    },
  }),
]

const CASES = [...CONTRACT_FIELDS].map(([hook, fields]) => ({ hook, fields }))
const ASKED = { capture_sender_id: true, capture_conversation_history: true } as const

/** Everything that leaves a plugin, as one text. */
async function whatLeft(plugin: TestPlugin): Promise<string> {
  await plugin.shutdown()
  return JSON.stringify([plugin.spans(), await plugin.metrics(), plugin.reported]).toLowerCase()
}

function tellInField(plugin: Plugin, hook: HookName, field: string, values: readonly (() => unknown)[]): void {
  for (const [index, make] of values.entries()) {
    tellSpoilt(plugin as TestPlugin, `s${index}`, hook, payload => ({ ...payload, [field]: make() }))
  }
}

const create = (options: Omit<PluginOptions, 'host'> = {}): TestPlugin =>
  createTestPlugin({ host: 'agent', content_capture: 'off', ...options })

beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'], now: START_AT + 60_000 }))
afterEach(() => void vi.useRealTimers())

describe('prose', () => {
  test.each(CASES)(`appears nowhere, in any field of $hook, ${SAMPLED}`, async ({ hook, fields }) => {
    for (const span_names of sample(['hermes', 'semconv'] as const, 1)) {
      for (const field of sample(fields, Math.ceil(fields.length / 120))) {
        const plugin = create({ span_names, ...ASKED })
        tellInField(plugin, hook, field, SENTENCES)
        const left = await whatLeft(plugin)
        expect(plugin.spans().length, field).toBeGreaterThan(0)
        expect(left.includes(WORD) ? left.slice(left.indexOf(WORD) - 200).slice(0, 300) : '', field).toBe('')
      }
    }
  })

  test('is written nowhere if a host throws it or sends it beside the payload', async () => {
    const plugin = create()
    const thrown = Object.assign(new Error(PROSE), { name: PROSE })
    for (const [index, { hook, fields }] of CASES.entries()) {
      const throwing = Object.fromEntries(fields.map(field => [field, { get: () => boom(thrown), enumerable: true }]))
      tellSpoilt(plugin, `s${index}`, hook, () => Object.defineProperties({}, throwing))
      const beside = { host: PROSE, delivery_id: `${PROSE} ${index}`, correlation: PROSE }
      tellSpoilt(plugin, `b${index}`, hook, payload => payload, beside)
    }
    expect(plugin.reported.length).toBeGreaterThan(0)
    expect(await whatLeft(plugin)).not.toContain(WORD)
  })

  test(`appears in no file of the trace log or of debugging, and in no line for the user, ${SAMPLED}`, async () => {
    const { plugin, lines, home } = scratchPlugin({ content_capture: 'off', debug: true, host: 'agent', ...ASKED })
    for (const { hook, fields } of CASES) {
      for (const field of sample(fields, Math.ceil(fields.length / 16))) tellInField(plugin, hook, field, SENTENCES)
    }
    await plugin.shutdown()
    const files = readdirSync(home, { recursive: true, withFileTypes: true }).filter(entry => entry.isFile())
    const texts = files.map(({ parentPath, name }) => readFileSync(join(parentPath, name), 'utf8').toLowerCase())
    expect(texts.join('').length).toBeGreaterThan(100_000)
    expect(texts.filter(text => text.includes(WORD))).toEqual([])
    expect(lines.join('\n').toLowerCase()).not.toContain(WORD)
  })

  test("keeps prose of the user's own settings", () => {
    const plugin = create({ agent_name: 'My Agent' })
    tellInField(plugin, 'on_session_start', 'model', [() => 'qwen3'])
    expect(plugin.spans().at(-1)?.attributes).toMatchObject({ 'gen_ai.agent.name': 'My Agent' })
  })
})

describe('a word', () => {
  const seen = new Set<string>()

  /** Whatever their entries are called, they are those of the field. */
  const flat = new Set(['metadata', 'attributes'])

  /** Where a word may stand in a field, by the name of the place. */
  const placesOf = (field: string): [string, (word: string) => unknown][] => [
    [field, word => word],
    [field, word => [word]],
    ...INNER_KEYS.flatMap((key): [string, (word: string) => unknown][] => [
      [flat.has(field) ? field : `${field}.${key}`, word => ({ [key]: word })],
      [`${field}.${key}`, word => JSON.stringify({ [key]: word })],
      [`${field}.body.${key}`, word => ({ body: { [key]: word } })],
      [`${field}.error.${key}`, word => ({ status: 'error', error: { [key]: word } })],
    ]),
  ]

  test.each(CASES)(
    `is exported from those fields of $hook that docs/privacy.md names, ${SAMPLED}`,
    async ({ hook, fields }) => {
      const all = sample(fields, Math.ceil(fields.length / 120)).flatMap(field =>
        placesOf(field).map(place => [field, ...place] as const),
      )
      const places = sample(all, Math.ceil(all.length / 6))
      const found = new Set<number>()
      // A label keeps its first hundred values.
      for (let from = 0; from < places.length; from += 80) {
        const plugin = create()
        for (const [at, [field, , make]] of places.slice(from, from + 80).entries()) {
          const value = make(`${WORD}-${from + at}-`)
          tellSpoilt(plugin, `s${from + at}`, hook, payload => ({ ...payload, [field]: value }))
        }
        for (const [, index] of (await whatLeft(plugin)).matchAll(/quokka-(\d+)-/g)) found.add(Number(index))
      }
      const letOut = [...found].map(index => places[index]?.[1] ?? '')
      expect(letOut.filter(place => !declared().includes(place))).toEqual([])
      for (const place of letOut) seen.add(place)
    },
  )

  if (IS_DEEP) {
    test('is written from every field that docs/privacy.md names', () => {
      expect([...seen].sort()).toEqual(declared().sort())
    })
  }

  test('is the server name of an address, and the skill name of a path', async () => {
    const plugin = create()
    tellInField(plugin, 'pre_api_request', 'base_url', [() => `https://me:${WORD}@host.example/${WORD}?${WORD}`])
    tellInField(plugin, 'pre_tool_call', 'args', [() => ({ path: `/home/${WORD}/skills/dogfood/${WORD}.md` })])
    const left = await whatLeft(plugin)
    expect(left).not.toContain(WORD)
    expect(left).toContain('host.example')
    expect(left).toContain('dogfood')
  })

  test('is an outcome of a result only if hookspan defines it', () => {
    const outcomes = ['timed_out', 'denied', 'failed', WORD].map(status => {
      const plugin = create()
      const spoil = (payload: object): object => ({ ...payload, status: undefined, result: { status } })
      tellSpoilt(plugin, 's1', 'post_tool_call', spoil)
      const tool = plugin.spans().find(({ attributes }) => attributes['hermes.span.kind'] === 'tool')
      return tool?.attributes['hermes.tool.outcome']
    })
    expect(outcomes).toEqual(['timeout', 'blocked', 'error', 'completed'])
  })
})

function boom(thrown: Error): never {
  throw thrown
}

/** The fields that the page names under `off`. */
function declared(): string[] {
  const page = readFileSync(new URL('../../docs/privacy.md', import.meta.url), 'utf8')
  const list = /<!-- in every mode -->([\s\S]*?)<!-- \/in every mode -->/.exec(page)?.[1] ?? ''
  return [...list.matchAll(/`([\w.]+)`/g)].map(([, field = '']) => field)
}
