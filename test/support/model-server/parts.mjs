/** The texts of what is a text itself, or a list of parts that may have one. */
export function textsOf(content) {
  if (typeof content === 'string') return [content]
  if (!Array.isArray(content)) return []
  return content.map(part => part.text ?? part.refusal ?? '').filter(text => text !== '')
}

export function joined(content) {
  return textsOf(content).join('\n')
}

/** A text as a model would stream it: in two pieces, where it is long enough. */
export function pieces(text) {
  const middle = Math.ceil(text.length / 2)
  return [text.slice(0, middle), text.slice(middle)].filter(piece => piece !== '')
}

/** The error of the two protocols of OpenAI. */
export function openaiError(status, message) {
  const type = status >= 500 ? 'server_error' : 'invalid_request_error'
  const code = { 401: 'invalid_api_key', 404: 'model_not_found', 429: 'rate_limit_exceeded' }[status] ?? null
  return { error: { message, type: status === 429 ? 'rate_limit_error' : type, param: null, code } }
}
