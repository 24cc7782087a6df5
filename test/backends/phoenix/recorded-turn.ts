import type { PluginOptions } from '../../../src/index.ts'
import { createPluginIn } from '../../../src/plugin/create-plugin.ts'
import { type FedSpan, spansOfFiles } from '../workload/fed-span.ts'

/** Older than anything that a page would cut off, and not in the future. */
const AGO_MILLIS = 60_000

export interface RecordedTurn {
  readonly spans: readonly FedSpan[]
  readonly warnings: readonly string[]
  /** What became of it at the one backend. */
  readonly sent: { readonly delivered: number; readonly spooled: number; readonly dropped: number }
}

export interface TurnOptions {
  readonly home: string
  readonly config: PluginOptions
  readonly asked?: string
  readonly answered?: string
  /** When it began, for a turn that is to be the same again. */
  readonly at?: number
}

/** However busy the server is with what it stores. */
const PATIENCE = { force_flush_wait_ms: 60_000, span_batch_export_timeout_ms: 60_000 }

/** A turn with one request and one tool, through a plugin of its own. */
export async function recordTurn({
  home,
  config,
  asked = 'Say hello.',
  answered = 'Hello.',
  at = Date.now() - AGO_MILLIS,
}: TurnOptions): Promise<RecordedTurn> {
  const warnings: string[] = []
  const say = (line: string): number => warnings.push(line)
  const diagnostics = { warn: say, error: say, debug: () => undefined }
  const plugin = createPluginIn(
    { host: 'agent', ...PATIENCE, ...config },
    { env: {}, home, isReplay: true, diagnostics },
  )
  const ids = { session_id: 'conversation', turn_id: 'turn', model: 'gpt-4o' }
  const request = { ...ids, provider: 'openai', api_request_id: 'r1' }
  const call = { ...ids, tool_name: 'terminal', tool_call_id: 'c1', args: { command: asked } }
  plugin.on('on_session_start', ids, { at })
  plugin.on('pre_llm_call', { ...ids, user_message: asked }, { at: at + 1 })
  plugin.on(
    'pre_api_request',
    { ...request, request: { body: { messages: [message('user', asked)] } } },
    { at: at + 2 },
  )
  const usage = { prompt_tokens: 120, completion_tokens: 7 }
  const response = { assistant_message: message('assistant', answered) }
  plugin.on('post_api_request', { ...request, usage, response }, { at: at + 800 })
  plugin.on('pre_tool_call', call, { at: at + 801 })
  plugin.on('post_tool_call', { ...call, status: 'ok', result: answered }, { at: at + 900 })
  plugin.on('post_llm_call', { ...ids, assistant_response: answered }, { at: at + 901 })
  plugin.on('on_session_end', { ...ids, completed: true }, { at: at + 902 })
  await plugin.flush()
  await plugin.shutdown()
  const { backends, traceFiles } = plugin.stats()
  const backend = backends.find(({ name }) => name === 'phoenix')
  const { delivered = 0, spooled = 0, dropped = 0 } = backend ?? {}
  return { spans: spansOfFiles(traceFiles), warnings, sent: { delivered, spooled, dropped } }
}

function message(role: string, content: string): object {
  return { role, content }
}
