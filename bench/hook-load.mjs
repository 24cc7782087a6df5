const EVENT_BYTES = 2048
const TOOLS_A_TURN = 9
const TEXT = 'The login test compares seconds with milliseconds since the change of yesterday. '.repeat(30)

/** Hook records of a turn with nine tools, as JSON; all but its end are of 2 KB. */
function turnOf(session, number) {
  const ids = { session_id: session, turn_id: `${session}:${number}` }
  const event = (hook, payloadOf) => {
    const told = text => JSON.stringify({ hook, payload: { ...ids, ...payloadOf(text) } })
    return told(TEXT.slice(0, EVENT_BYTES - told('').length))
  }
  const tools = Array.from({ length: TOOLS_A_TURN }, (_, n) => {
    const call = { tool_name: 'terminal', tool_call_id: `${session}:${number}:${n}` }
    return [
      event('pre_tool_call', command => ({ ...call, args: { command } })),
      event('post_tool_call', result => ({ ...call, result, status: 'ok' })),
    ]
  })
  return [
    event('pre_llm_call', user_message => ({ user_message, model: 'claude-sonnet-4-6' })),
    ...tools.flat(),
    event('post_llm_call', assistant_response => ({ assistant_response, model: 'claude-sonnet-4-6' })),
    JSON.stringify({ hook: 'on_session_end', payload: { ...ids, completed: true } }),
  ]
}

/** @param from the number of the first turn */
export function turnsOf(session, from, count) {
  return Array.from({ length: count }, (_, n) => turnOf(session, from + n)).flat()
}
