import type { AttributeRow } from './gen-ai-table.ts'

const text: AttributeRow = { type: 'string' }
const int: AttributeRow = { type: 'int' }
const double: AttributeRow = { type: 'double' }
const json: AttributeRow = { type: 'json' }
const oneOf = (...values: string[]): AttributeRow => ({ type: 'string', values })

/** Types of the names of the general conventions that we write. */
export const GENERAL_ATTRIBUTES: Readonly<Record<string, AttributeRow>> = {
  'error.type': text,
  'error.message': text,
  'exception.escaped': { type: 'boolean' },
  'exception.message': text,
  'exception.type': text,
  'host.arch': {
    type: 'string',
    values: ['amd64', 'arm32', 'arm64', 'ia64', 'ppc32', 'ppc64', 's390x', 'x86'],
  },
  'host.name': text,
  'http.response.status_code': int,
  'jsonrpc.request.id': text,
  'mcp.method.name': text,
  'mcp.protocol.version': text,
  'mcp.session.id': text,
  'network.transport': oneOf('pipe', 'tcp'),
  'os.type': oneOf(
    'aix',
    'darwin',
    'dragonflybsd',
    'freebsd',
    'hpux',
    'linux',
    'netbsd',
    'openbsd',
    'solaris',
    'windows',
    'zos',
  ),
  'process.pid': int,
  'process.runtime.name': text,
  'process.runtime.version': text,
  'server.address': text,
  'server.port': int,
  'service.instance.id': text,
  'service.name': text,
  'session.id': text,
  'telemetry.distro.name': text,
  'telemetry.distro.version': text,
  'telemetry.sdk.language': oneOf('nodejs'),
  'telemetry.sdk.name': text,
  'telemetry.sdk.version': text,
  'user.id': text,
  'vcs.ref.head.name': text,
  'vcs.repository.name': text,
}

/** Types of the OpenInference names that we write. */
export const OPENINFERENCE_ATTRIBUTES: Readonly<Record<string, AttributeRow>> = {
  'openinference.span.kind': oneOf('LLM', 'AGENT', 'TOOL', 'CHAIN', 'GUARDRAIL'),
  'openinference.project.name': text,
  'tag.tags': { type: 'string[]' },
  metadata: json,
  'input.value': text,
  'input.mime_type': oneOf('text/plain', 'application/json'),
  'output.value': text,
  'output.mime_type': oneOf('text/plain', 'application/json'),
  'llm.model_name': text,
  'llm.provider': text,
  'llm.system': text,
  'llm.invocation_parameters': json,
  'llm.cost.total': double,
  'llm.finish_reason': text,
  'llm.token_count.prompt': int,
  'llm.token_count.completion': int,
  'llm.token_count.total': int,
  'llm.token_count.prompt_details.cache_read': int,
  'llm.token_count.prompt_details.cache_write': int,
  'llm.token_count.completion_details.reasoning': int,
  'tool.name': text,
  'tool.id': text,
  'tool.parameters': json,
  'message.role': text,
  'message.content': text,
  'message.name': text,
  'message.tool_call_id': text,
  'tool_call.id': text,
  'tool_call.function.name': text,
  'tool_call.function.arguments': text,
}

/** Names that only the hooks reference gives, without a namespace. */
const OF_THE_REFERENCE: Readonly<Record<string, AttributeRow>> = {
  'correlation.id': text,
  'gen_ai.content.completion': text,
  'gen_ai.response.finish_reason': text,
  'gen_ai.response.status_code': int,
  'http.duration_ms': double,
  'llm.response.duration_ms': double,
  'error.message': text,
}

const IS = /\.(retroactive|truncated|synthesized|is_subagent|completed|interrupted|failed|granted|timed_out|retryable)$/
const FRACTION = /_(ms|ratio)$|\.confidence$|\.cost\.total$/
const NUMBER =
  /count$|\.tokens\.|_tokens(\.(input|output|total))?$|\.number$|_chars$|\.attempt$|\.tool_calls$|\.max_retries$|\.priority$/

/** Of our own names the name tells the type. */
export function ownRow(name: string): AttributeRow {
  const known = OF_THE_REFERENCE[name]
  if (known !== undefined) return known
  if (/\.(pattern_keys|rewritten_fields)$/.test(name)) return { type: 'string[]' }
  if (IS.test(name)) return { type: 'boolean' }
  if (FRACTION.test(name)) return double
  return NUMBER.test(name) ? int : text
}
