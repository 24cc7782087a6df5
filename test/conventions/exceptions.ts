/**
 * What we write although the conventions do not have it, or no longer, and why. One that is not needed any more fails.
 */
export const EXCEPTIONS: Readonly<Record<string, string>> = {
  'error.message': 'deprecated for names of each domain; a name of the reference of the hooks, on a tool that failed',
  'exception.escaped': 'deprecated; the reference of the hooks asks for it on a failed request, and readers expect it',
  'http.duration_ms': 'a name of the reference of the hooks, on a request',
  'llm.response.duration_ms': 'a name of the reference of the hooks, on a request',
  'correlation.id': 'a name of the reference of the hooks, where the host sent one',
  'gen_ai.content.completion': 'a name of the reference of the hooks, written beside gen_ai.output.messages',
  'gen_ai.response.finish_reason':
    'a name of the reference of the hooks, written beside gen_ai.response.finish_reasons',
  'gen_ai.response.status_code': 'a name of the reference of the hooks, written beside http.response.status_code',
  'gen_ai.execute_tool.duration': 'later than v1.41; tools have no metric there',
  'gen_ai.invoke_agent.duration': 'later than v1.41; agents have no metric there',
}

/** Well-known values of `gen_ai.provider.name` that the registry has not, and why we write them. */
export const PROVIDER_EXCEPTIONS: Readonly<Record<string, string>> = {
  moonshot_ai: 'later than v1.41; the value is open',
}

/** Where what is written with `gen_ai_next` is as v1.41 has it and not as the names since, and why. */
export const NEXT_EXCEPTIONS: Readonly<Record<string, string>> = {
  'gen_ai.request.top_k': 'an int since; a fraction that a host says is written as it is said',
  'chat gen_ai.usage.cache_creation.input_tokens': 'another name since; written beside it for readers of v1.41',
  'invoke_agent gen_ai.provider.name': 'no more on an agent within a process; readers of v1.41 look for it',
}
