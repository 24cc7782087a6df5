import { describe, expect, test } from 'vitest'
import { createTestPlugin, type TestPlugin } from '../../src/testing.ts'
import { tellSpoilt } from '../support/hostile-scene.ts'
import { scratchPlugin, tellTurn } from './scratch-plugin.ts'

const KEY = 'ghp_example0000000000example0000000000'
const IDS = { session_id: 's1', turn_id: 't1' }

function tell(plugin: TestPlugin, said: unknown): void {
  plugin.emit('on_session_start', { ...IDS, model: 'qwen3' })
  plugin.emit('pre_llm_call', { ...IDS, user_message: 'from Anna Schmidt', tags: ['of Anna'] })
  plugin.emit('pre_api_request', { ...IDS, api_request_id: 'r1', messages: [{ role: 'user', content: 'Anna asks' }] })
  plugin.emit('post_api_request', { ...IDS, api_request_id: 'r1' })
  plugin.emit('pre_tool_call', { ...IDS, tool_name: 'mail-to-Anna', tool_call_id: 'c1', args: said })
  plugin.emit('post_tool_call', { ...IDS, tool_name: 'mail-to-Anna', tool_call_id: 'c1', error_message: 'no Anna' })
  plugin.emit('on_session_end', { ...IDS, failed: true, turn_exit_reason: 'Anna left' })
}

const written = (plugin: TestPlugin): string => JSON.stringify(plugin.spans())
const withoutAnna = (text: string): string => text.replaceAll('Anna', '<name>')

describe('redact', () => {
  test.each(['preview', 'full', 'off'] as const)('sees every text that reaches a span (content_capture: %s)', mode => {
    const plugin = createTestPlugin({ content_capture: mode, redact: withoutAnna })
    const json = JSON.stringify({ Anna: [{ note: 'Anna' }] })
    tell(plugin, { to: 'Anna', Anna: 1, json, deep: [{ of: 'Anna' }] })
    expect(written(plugin)).not.toContain('Anna')
    expect(written(plugin)).toContain('<name>')
    expect(plugin.reported).toEqual([])
  })

  test('cannot restore text that is masked without it', () => {
    const seen: string[] = []
    const plugin = createTestPlugin({
      content_capture: 'full',
      redact: text => {
        seen.push(text)
        return `${text.replaceAll('[REDACTED]', KEY)} password=hunter2 ${KEY}`
      },
    })
    tell(plugin, { password: 'hunter3', note: `with ${KEY}` })
    expect(written(plugin)).not.toMatch(/ghp_example|hunter/)
    expect(seen.join()).toContain(KEY)
  })

  test.each<[string, unknown, string]>([
    [
      'throws',
      () => {
        throw new TypeError('of Anna')
      },
      'redact: it threw a TypeError',
    ],
    ['returns no text', () => undefined, 'redact: it returned no text'],
    [
      'is asynchronous',
      async () => {
        throw new Error('later')
      },
      'redact: it returned a promise',
    ],
  ])('withholds the text when it %s, and is reported once', async (_, redact, line) => {
    const plugin = createTestPlugin({ content_capture: 'full', redact: redact as () => string })
    tell(plugin, { to: 'Anna' })
    await new Promise(setImmediate)
    expect(written(plugin)).not.toContain('Anna')
    expect(written(plugin)).toContain('[REDACTED]')
    expect(plugin.reported).toEqual([`${line}; such texts are withheld as [REDACTED]`])
    expect(plugin.stats().hooks).toMatchObject({ ok: 7, error: 0 })
  })

  test('loses only the texts at which it throws', () => {
    const redact = (text: string): string => {
      if (text.includes('asks')) throw new Error('no')
      return text
    }
    const plugin = createTestPlugin({ content_capture: 'full', redact })
    tell(plugin, {})
    expect(written(plugin)).not.toContain('asks')
    expect(written(plugin)).toContain('from Anna Schmidt')
  })

  test('is reported in one line if it is no function, and masking continues', () => {
    const { plugin, lines } = scratchPlugin({ redact: 'yes please' as never })
    tellTurn(plugin)
    expect(lines).toEqual([expect.stringMatching(/^config: redact: expected true or false, got "yes please"/)])
  })

  test('sees the patterns’ short keys, too', () => {
    const plugin = createTestPlugin({ content_capture: 'full', redact_patterns: ['EMP-\\d+'] })
    tellSpoilt(plugin, 's1', 'pre_tool_call', payload => ({ ...payload, args: { 'EMP-17': 1 } }))
    expect(written(plugin)).not.toContain('EMP-17')
  })
})
