import type { Plugin, PluginOptions } from '../../../src/index.ts'
import type { SinkBehaviour } from '../../support/otlp-sink.ts'

/** An agent of whose doings somebody has to be told. */
export interface Scene {
  /** Its service name: the `job` of its series. */
  readonly host: string
  readonly alerts: readonly string[]
  readonly options?: Partial<PluginOptions>
  /** How its traces are answered; nothing: they are sent to nobody. */
  readonly answer?: SinkBehaviour
  begin?(plugin: Plugin): void
  /** Again and again. */
  go?(plugin: Plugin, round: number): void
}

const MODEL = { model: 'qwen3', provider: 'openai' }

function turn(plugin: Plugin, id: string, inside: (ids: object) => void, end: object = { completed: true }): void {
  const ids = { session_id: `session ${id}`, turn_id: id }
  plugin.on('on_session_start', ids)
  inside(ids)
  plugin.on('on_session_end', { ...ids, ...end })
}

function request(
  plugin: Plugin,
  ids: object,
  id: string,
  usage: object = { prompt_tokens: 9, output_tokens: 3 },
): void {
  const named = { ...ids, ...MODEL, api_request_id: id }
  plugin.on('pre_api_request', named)
  plugin.on('post_api_request', { ...named, api_duration: 0.2, usage })
}

function failedRequest(plugin: Plugin, ids: object, id: string): void {
  const named = { ...ids, ...MODEL, api_request_id: id }
  plugin.on('pre_api_request', named)
  plugin.on('api_request_error', { ...named, status_code: 529, retryable: true, error: { type: 'Overloaded' } })
}

function tools(plugin: Plugin, ids: object, round: number): void {
  for (const [call, status] of ['error', 'error', 'error', 'ok'].entries()) {
    const named = { ...ids, tool_name: 'terminal', tool_call_id: `${round} ${call}` }
    plugin.on('pre_tool_call', named)
    plugin.on('post_tool_call', { ...named, status, duration_ms: 5 })
  }
}

const UNREADABLE = {
  session_id: 'unreadable',
  get turn_id(): string {
    throw new Error('a host that is broken')
  },
}

export const SCENES: readonly Scene[] = [
  {
    host: 'well',
    alerts: [],
    answer: { kind: 'ok' },
    go: (plugin, round) => turn(plugin, `${round}`, ids => request(plugin, ids, `${round}`)),
  },
  {
    host: 'silent',
    alerts: ['HookspanTurnIdle'],
    begin: plugin => void plugin.on('on_session_start', { session_id: 'silent', turn_id: '1' }),
  },
  {
    host: 'stuck',
    alerts: ['HookspanTurnsStuck'],
    options: { root_span_ttl_ms: 1000 },
    begin: plugin => void plugin.on('on_session_start', { session_id: 'stuck', turn_id: 'lost' }),
    // What sweeps: it goes on with other turns.
    go: (plugin, round) => turn(plugin, `${round}`, ids => request(plugin, ids, `${round}`)),
  },
  {
    host: 'failing-turns',
    alerts: ['HookspanTurnFailures'],
    go: (plugin, round) => turn(plugin, `${round}`, () => undefined, { completed: false, failed: round % 2 === 0 }),
  },
  {
    host: 'failing-model',
    alerts: ['HookspanModelErrors'],
    go: (plugin, round) =>
      turn(plugin, `${round}`, ids => {
        failedRequest(plugin, ids, `${round}`)
        request(plugin, ids, `${round}`)
      }),
  },
  {
    host: 'dead-model',
    alerts: ['HookspanModelErrorsOnly'],
    go: (plugin, round) => turn(plugin, `${round}`, ids => failedRequest(plugin, ids, `${round}`)),
  },
  {
    host: 'loop',
    alerts: ['HookspanTokenRate'],
    go: (plugin, round) =>
      turn(plugin, `${round}`, ids =>
        request(plugin, ids, `${round}`, { prompt_tokens: 180_000, output_tokens: 4000 }),
      ),
  },
  {
    host: 'spender',
    alerts: ['HookspanSpend'],
    go: (plugin, round) =>
      turn(plugin, `${round}`, ids =>
        request(plugin, ids, `${round}`, { prompt_tokens: 9, output_tokens: 3, cost: 5 }),
      ),
  },
  {
    host: 'failing-tool',
    alerts: ['HookspanToolErrors'],
    go: (plugin, round) => turn(plugin, `${round}`, ids => tools(plugin, ids, round)),
  },
  {
    host: 'refused',
    alerts: ['HookspanSpansDropped', 'HookspanDropRate'],
    answer: { kind: 'ok', body: JSON.stringify({ partialSuccess: { rejectedSpans: '1', errorMessage: 'no' } }) },
    go: (plugin, round) => turn(plugin, `${round}`, ids => request(plugin, ids, `${round}`)),
  },
  {
    host: 'waiting',
    alerts: ['HookspanSpoolGrowing'],
    answer: { kind: 'status', status: 503 },
    go: (plugin, round) => turn(plugin, `${round}`, ids => request(plugin, ids, `${round}`)),
  },
  {
    host: 'broken',
    alerts: ['HookspanHookErrors'],
    go: plugin => void plugin.on('pre_tool_call', UNREADABLE),
  },
]
