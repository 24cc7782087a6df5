import { expect, expectTypeOf, test } from 'vitest'
import { KEY_NAMES, KEY_ROWS, variableOf } from '../../../src/plugin/config/keys.ts'
import { resolveConfig } from '../../../src/plugin/config/resolve.ts'
import type { BackendConfig, ResolvedConfig, UserConfig } from '../../../src/plugin/config/types.ts'
import { resolved, scratchHome } from './scratch-home.ts'

test("has the specification's default for every key without any configuration", () => {
  const { config, problems, sources } = resolved({})
  expect(problems).toEqual([])
  expect(config).toEqual({
    enabled: true,
    backends: [],
    local_log: true,
    local_log_max_bytes: 256 * 1024 * 1024,
    local_log_max_age_hours: 168,
    log_flush_ms: 100,
    service_name: 'hookspan',
    project_name: undefined,
    agent_name: undefined,
    resource_attributes: {},
    namespace: 'hermes',
    conventions: ['own', 'gen_ai', 'openinference'],
    span_names: 'hermes',
    sample_rate: undefined,
    content_capture: 'preview',
    preview_max_chars: 1200,
    content_max_chars: 65_535,
    capture_conversation_history: false,
    capture_sender_id: false,
    workspace_capture: 'name',
    redact: true,
    redact_patterns: [],
    root_span_ttl_ms: 600_000,
    open_work_ttl_ms: 86_400_000,
    delegating_tools: [],
    parent: 'link',
    propagate_context: true,
    force_flush_on_session_end: true,
    force_flush_wait_ms: 1500,
    metrics_interval_ms: 60_000,
    prometheus: undefined,
    span_batch_max_queue_size: 2048,
    span_batch_schedule_delay_ms: 1000,
    span_batch_max_export_batch_size: 512,
    span_batch_export_timeout_ms: 10_000,
    hooks: undefined,
    deterministic_ids: false,
    handle_signals: false,
    debug: false,
  })
  expect([...sources.values()].every(source => source.from === 'default')).toBe(true)
  expect([...sources.keys()]).toEqual(Object.keys(config))
})

test('has at most 41 keys', () => {
  expect(KEY_NAMES.length).toBeLessThanOrEqual(41)
})

test.each(KEY_NAMES)('has one line of description and a variable: %s', key => {
  expect(key).toMatch(/^[a-z]+(_[a-z]+)*$/)
  expect(KEY_ROWS[key].about).toMatch(/^[^\n]{4,120}[^.\n]$/)
  expect(variableOf(key)).toBe(`HOOKSPAN_${key.toUpperCase()}`)
})

test('names service and agent after the host; Hermes runs as hermes-agent', () => {
  const names = (hostName?: string) => {
    const { config } = resolveConfig({ env: {}, home: scratchHome(), hostName })
    return [config.service_name, config.agent_name]
  }
  expect(names('pi')).toEqual(['pi', 'pi'])
  expect(names('hermes')).toEqual(['hermes-agent', 'hermes-agent'])
  expect(names()).toEqual(['hookspan', undefined])
  expect(resolved({ hostName: 'pi', env: { HOOKSPAN_SERVICE_NAME: 'mine' } }).config.service_name).toBe('mine')
})

test('freezes the resolved configuration', () => {
  const { config } = resolved({})
  expect(Object.isFrozen(config) && Object.isFrozen(config.conventions)).toBe(true)
})

test('cuts a batch larger than its queue, with a line if it was configured', () => {
  const small = resolved({ env: { HOOKSPAN_SPAN_BATCH_MAX_QUEUE_SIZE: '100' } })
  expect([small.config.span_batch_max_export_batch_size, small.problems]).toEqual([100, []])
  const large = resolved({ code: { span_batch_max_export_batch_size: 5000 } })
  expect(large.config.span_batch_max_export_batch_size).toBe(2048)
  const message =
    'config: span_batch_max_export_batch_size: 5000 is more than span_batch_max_queue_size (code); using 2048'
  expect(large.problems).toEqual([{ level: 'warning', key: 'span_batch_max_export_batch_size', message }])
})

test('has the types of the rows', () => {
  expectTypeOf<ResolvedConfig['enabled']>().toEqualTypeOf<boolean>()
  expectTypeOf<ResolvedConfig['sample_rate']>().toEqualTypeOf<number | undefined>()
  expectTypeOf<ResolvedConfig['preview_max_chars']>().toEqualTypeOf<number>()
  expectTypeOf<ResolvedConfig['content_capture']>().toEqualTypeOf<'off' | 'preview' | 'full'>()
  expectTypeOf<ResolvedConfig['conventions']>().toEqualTypeOf<
    readonly ('own' | 'gen_ai' | 'gen_ai_next' | 'openinference' | 'langfuse')[]
  >()
  expectTypeOf<ResolvedConfig['backends']>().toEqualTypeOf<readonly BackendConfig[]>()
  expectTypeOf<ResolvedConfig['prometheus']>().toEqualTypeOf<
    { readonly host: string; readonly port: number } | undefined
  >()
  expectTypeOf<{
    backends: ['console', { type: 'phoenix'; api_key_env: 'K' }]
    sample_rate: 0.5
  }>().toExtend<UserConfig>()
  expectTypeOf<{ content_capture: 'everything' }>().not.toExtend<UserConfig>()
})
