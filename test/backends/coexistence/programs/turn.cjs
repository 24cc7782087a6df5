const { trace } = require('@opentelemetry/api')

const STEP_MILLIS = 100

/**
 * Tells the plugin a turn, and lets the host do its own work where a tool would.
 *
 * @returns what the end of the session promised, and whether any hook changed which span of the host is active
 */
async function tellTurn(plugin, session, startAt, work = async () => undefined) {
  const active = trace.getActiveSpan()
  const ids = { session_id: session, turn_id: `${session}.1` }
  const request = { ...ids, api_request_id: `${session}.r`, model: 'qwen3', provider: 'openai' }
  const call = { ...ids, tool_name: 'fetch', tool_call_id: `${session}.c`, api_request_id: `${session}.r` }
  let at = startAt
  let isActiveKept = true
  const tell = (hook, payload) => {
    const promise = plugin.on(hook, payload, { at })
    at += STEP_MILLIS
    isActiveKept &&= trace.getActiveSpan() === active
    return promise
  }
  tell('on_session_start', { ...ids, model: 'qwen3' })
  tell('pre_llm_call', { ...ids, model: 'qwen3', user_message: 'look it up' })
  tell('pre_api_request', request)
  tell('post_api_request', {
    ...request,
    usage: { prompt_tokens: 11, completion_tokens: 7 },
    finish_reason: 'tool_calls',
  })
  tell('pre_tool_call', { ...call, args: { url: 'http://example.com' } })
  await work()
  tell('post_tool_call', { ...call, status: 'ok', result: 'found' })
  tell('post_llm_call', { ...ids, model: 'qwen3', assistant_response: 'done' })
  const flushed = tell('on_session_end', { ...ids, completed: true })
  return { flushed, isActiveKept }
}

module.exports = { tellTurn }
