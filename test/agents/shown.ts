/** Captures of real runs, a folder a host; their first line says of what. */
export const FIXTURES: string = new URL('../fixtures/', import.meta.url).pathname

/** What a reader of a trace wants to know of its spans. */
export const SHOWN: readonly string[] = [
  'gen_ai.usage.input_tokens',
  'gen_ai.usage.cache_read.input_tokens',
  'gen_ai.usage.output_tokens',
  'gen_ai.usage.reasoning.output_tokens',
  'gen_ai.response.finish_reason',
  'http.response.status_code',
  'hermes.tool.outcome',
  'hermes.approval.choice',
  'hermes.turn.number',
  'hermes.turn.final_status',
  'hermes.turn.tokens.total',
  'hermes.turn.exit_reason',
]
