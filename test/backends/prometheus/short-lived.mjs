/** An agent on the command line: one turn, and it is over. Arguments: where its metrics go, its home. */
import { createPlugin } from '../../../dist/index.js'

const [endpoint, name] = process.argv.slice(2)
const backend = { type: 'otlp', name: 'metrics', endpoint, traces: false }
const plugin = createPlugin({ host: name, backends: [backend] })
const ids = { session_id: `session ${process.pid}`, turn_id: `turn ${process.pid}` }
const request = { ...ids, api_request_id: `request ${process.pid}`, model: 'qwen3', provider: 'openai' }

plugin.on('on_session_start', ids)
plugin.on('pre_api_request', request)
plugin.on('post_api_request', { ...request, api_duration: 0.4, usage: { prompt_tokens: 1000, output_tokens: 50 } })
plugin.on('on_session_end', { ...ids, completed: true })
await plugin.shutdown()
