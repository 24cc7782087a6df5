/** What a person will not have meant is told once, with the name that was probably meant, and counted. */
import { createReadStream, readdirSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { RecordReader } from '../../src/cli/hook-records.ts'
import { HOOK_NAMES } from '../../src/index.ts'
import { createTestPlugin, type TestPlugin } from '../../src/testing.ts'
import { CONTRACT_FIELDS } from '../support/contract-fields.ts'
import { script } from '../support/pages.ts'
import { SAMPLED, sample } from '../support/sample.ts'

const IDS = { session_id: 's1', turn_id: 't1' }

function told(hook: string, payload: unknown, options = {}): TestPlugin {
  const plugin = createTestPlugin(options)
  plugin.emitUntyped(hook, payload)
  plugin.emitUntyped(hook, payload)
  return plugin
}

describe('an unknown hook', () => {
  test.each([
    ['pre_tool_cal', 'there is no hook pre_tool_cal, so it is ignored; did you mean pre_tool_call?'],
    ['preToolCall', 'there is no hook preToolCall, so it is ignored; did you mean pre_tool_call?'],
    ['something_else', 'there is no hook something_else, so it is ignored'],
  ])('causes one line for %s, and is counted', (hook, line) => {
    const plugin = told(hook, IDS)
    expect(plugin.reported).toEqual([line])
    expect(plugin.stats().unread).toEqual({ hooks: 2, fields: 0, types: 0 })
    expect(plugin.stats().hooks.ignored).toBe(2)
  })

  test.each(['pi:new_event', 'pre_verify', 'kanban_task_claimed'])('is not reported for %s, which is ignored', hook => {
    const plugin = told(hook, IDS)
    expect([plugin.reported, plugin.stats().unread.hooks, plugin.stats().hooks.ignored]).toEqual([[], 0, 2])
  })
})

describe('an unknown field', () => {
  test.each([
    ['tool_nam', 'tool_name'],
    ['toolName', 'tool_name'],
    ['sesion_id', 'session_id'],
    ['arg', 'args'],
  ])('causes one line for %s, near an absent field, and is counted', (field, meant) => {
    const plugin = told('pre_tool_call', { [field]: 'x' })
    expect(plugin.reported).toEqual([
      `pre_tool_call: it has no field ${field}, so that is not read; did you mean ${meant}?`,
    ])
    expect(plugin.stats().unread).toEqual({ hooks: 0, fields: 2, types: 0 })
    expect(plugin.stats().hooks.ok + plugin.stats().hooks.duplicate).toBe(2)
  })

  test('is not reported if it resembles no field, or one that is present, too', () => {
    const plugin = told('pre_tool_call', { ...IDS, tool_name: 'ls', toolName: 'ls', telemetry_schema_version: '1' })
    expect([plugin.reported, plugin.stats().unread.fields]).toEqual([[], 0])
  })

  test('is reported for each hook that has it', () => {
    const plugin = createTestPlugin()
    for (const hook of ['pre_tool_call', 'post_tool_call']) plugin.emitUntyped(hook, { tool_nam: 'x' })
    expect(plugin.reported).toHaveLength(2)
  })
})

describe('a value of another type', () => {
  test.each<[string, unknown, string]>([
    ['duration_ms', true, 'a number and is a boolean'],
    ['duration_ms', 'soon', 'a number and is text'],
    ['duration_ms', Number.NaN, 'a number and is no finite number'],
    ['duration_ms', [12], 'a number and is a list'],
    ['tool_name', { name: 'ls' }, 'text and is an object'],
    ['session_id', false, 'text and is a boolean'],
  ])('causes one line for %s: %j, and is counted', (field, value, line) => {
    const plugin = told('post_tool_call', { [field]: value })
    expect(plugin.reported).toEqual([`post_tool_call: ${field} should be ${line}; it counts as missing`])
    expect(plugin.stats().unread).toEqual({ hooks: 0, fields: 0, types: 2 })
  })

  test('is reported for booleans and lists', () => {
    expect(told('on_session_end', { completed: 'true' }).reported[0]).toMatch(
      /completed should be true or false and is text/,
    )
    expect(told('pre_approval_request', { pattern_keys: 'rm' }).reported[0]).toMatch(/should be a list and is text/)
  })

  test.each([['a text'], [5], [[]]])('is reported for the whole payload: %j', payload => {
    const plugin = told('pre_tool_call', payload)
    expect(plugin.reported).toEqual([expect.stringMatching(/^pre_tool_call: payload should be an object and is /)])
  })

  test.each<[string, unknown]>([
    ['duration_ms', '12'],
    ['duration_ms', 12n],
    ['duration_ms', null],
    ['duration_ms', ''],
    ['session_id', 7],
    ['error_type', null],
    ['result', 12],
    ['args', undefined],
  ])('leaves %s readable or absent: %s', (field, value) => {
    const plugin = told('post_tool_call', { [field]: value })
    expect([plugin.reported, plugin.stats().unread.types]).toEqual([[], 0])
  })
})

describe('any input', () => {
  test('masks a name and puts it on one line', () => {
    const key = `sk-${'a1B2c3D4'.repeat(6)}`
    const lines = [told(`pre_tool_call\n${key}`, IDS).reported, told(`a person wrote this ${key}`, IDS).reported].flat()
    expect(lines).toHaveLength(2)
    for (const line of lines) expect(line).not.toMatch(new RegExp(`${key}|\n`))
  })

  test('shows only identifiers with capture off', () => {
    const off = { content_capture: 'off' } as const
    expect(told('what a person wrote', IDS, off).reported).toEqual([
      'there is no hook (a name that is not shown), so it is ignored',
    ])
  })

  test('reports a hundred lines, and counts all', () => {
    const plugin = createTestPlugin()
    for (let n = 0; n < 500; n++) plugin.emitUntyped(`something_${n}_else`)
    expect(plugin.reported).toHaveLength(100)
    expect(plugin.stats().unread.hooks).toBe(500)
  })

  test('does not check an object with very many fields, and counts its record', () => {
    const plugin = createTestPlugin()
    const many = Object.fromEntries(Array.from({ length: 5000 }, (_, n) => [`tool_nam${n}`, 1]))
    plugin.emitUntyped('pre_tool_call', { ...many, ...IDS })
    expect(plugin.reported.length).toBeLessThanOrEqual(100)
    expect(plugin.stats().unread.fields).toBeLessThan(300)
    expect(plugin.stats().hooks.ok).toBe(1)
  })

  test('loses nothing else if a payload or field throws', () => {
    const plugin = createTestPlugin()
    const unlisted = new Proxy(
      { ...IDS, tool_name: 'ls' },
      {
        ownKeys: () => {
          throw new Error('no')
        },
      },
    )
    plugin.emitUntyped('pre_tool_call', unlisted)
    plugin.emitUntyped('post_tool_call', {
      ...IDS,
      get duration_ms(): number {
        throw new Error('no')
      },
    })
    expect(plugin.reported.filter(line => !/error/i.test(line))).toEqual([])
    expect(plugin.stats().hooks.ok).toBeGreaterThan(0)
  })
})

test('checks exactly the fields of the interfaces', async () => {
  const { payloadFields } = await script<{ payloadFields: () => Readonly<Record<string, object>> }>(
    'contract-types.mjs',
  )
  const fieldsByHook = payloadFields()
  for (const hook of HOOK_NAMES) {
    expect(Object.keys(fieldsByHook[hook] ?? {}).sort()).toEqual([...(CONTRACT_FIELDS.get(hook) ?? [])].sort())
  }
})

describe('the lint of records of real agents', () => {
  const root = new URL('../../', import.meta.url).pathname
  const captures = ['fixtures', 'test/fixtures'].flatMap(directory =>
    readdirSync(root + directory, { recursive: true, encoding: 'utf8' })
      // What comes by the wire is no record yet.
      .filter(path => path.endsWith('.jsonl') && !path.includes('/wire/'))
      .map(path => `${directory}/${path}`),
  )

  test('has captures of every agent', () => {
    const agents = new Set(captures.map(path => path.replace('test/fixtures/', '').split('/')[0]))
    expect([...agents].sort()).toEqual([
      'ai-sdk',
      'claude-agent-sdk',
      'claude-code',
      'codex',
      'copilot',
      'cursor',
      'fixtures',
      'gemini',
      'hermes',
      'locus',
      'openai-agents',
      'openclaw',
      'opencode',
      'pi',
      'qwen',
    ])
  })

  test.each(sample(captures, 16))(`reports nothing for %s, ${SAMPLED}`, async capture => {
    const plugin = createTestPlugin()
    for await (const entry of new RecordReader(undefined).read(createReadStream(root + capture))) {
      if ('record' in entry) plugin.emitUntyped(entry.record.hook, entry.record.payload, entry.record.meta)
    }
    expect(plugin.stats().unread).toEqual({ hooks: 0, fields: 0, types: 0 })
    expect(plugin.stats().hooks.ok).toBeGreaterThan(0)
    expect(plugin.reported).toEqual([])
  })
})

describe('a value with nothing readable', () => {
  const USAGE = 'post_api_request: no tokens can be read from usage; docs/hooks.md lists the names of its fields'

  test.each([
    [{ spent: 12 }, true],
    [{ input_tokens: 'many' }, true],
    ['12 tokens', true],
    [12, true],
    [undefined, false],
    [null, false],
    [{}, false],
    [{ input_tokens: null }, false],
    [{ input_tokens: 0, output_tokens: 0 }, false],
    [{ total_tokens: 12 }, false],
  ])('is reported for usage %o: %s', (usage, isSaid) => {
    const plugin = told('post_api_request', { ...IDS, usage })
    expect(plugin.reported).toEqual(isSaid ? [USAGE] : [])
    expect(plugin.stats().unread.types).toBe(isSaid ? 2 : 0)
  })

  test.each([
    ['completd', 'status completd is unknown, so it is the outcome and no error; did you mean completed?'],
    ['Brilliant', 'status brilliant is unknown, so it is the outcome and no error'],
    ['killed', undefined],
    ['pending', undefined],
    ['  OK ', undefined],
    ['', undefined],
  ])('is reported for the status %s of a tool', (status, line) => {
    const plugin = told('post_tool_call', { ...IDS, tool_name: 'ls', status })
    expect(plugin.reported).toEqual(line === undefined ? [] : [`post_tool_call: ${line}`])
  })

  test('is not reported for the status of a result', () => {
    expect(told('post_tool_call', { ...IDS, tool_name: 'ls', result: { status: 'brilliant' } }).reported).toEqual([])
  })
})
