import { humanCost, humanCount, humanDuration } from '../../reading/human-figures.ts'
import type { LongValue, LongValues, SpanStory } from './api.ts'

/** Names by label, separated by blanks: the first that the span has is used. A leading dot stands for the namespace. */
type Names = Readonly<Record<string, string>>

const GROUPS: Readonly<Record<string, Names>> = {
  Error: {
    Type: 'error.type',
    Message: 'error.message',
    Reason: '.error.reason',
    'Status code': 'http.response.status_code gen_ai.response.status_code',
    Retryable: '.retryable',
    'Incomplete because': '.span.incomplete',
  },
  Model: {
    Model: 'gen_ai.request.model llm.model_name',
    'Response model': 'gen_ai.response.model',
    Provider: 'gen_ai.provider.name llm.provider',
    'Upstream provider': '.response.upstream_provider',
    'Finish reason': 'gen_ai.response.finish_reason llm.finish_reason gen_ai.response.finish_reasons',
    'Time to first token': 'gen_ai.response.time_to_first_chunk',
    'Previous attempts': '.api.attempt',
    'Request number': '.api.call_count',
    Messages: '.request.message_count',
    'Tools offered': '.request.tool_count',
    'Tools called': '.response.tool_calls',
    Temperature: 'gen_ai.request.temperature',
    'Max tokens': 'gen_ai.request.max_tokens',
    'Reasoning effort': '.request.reasoning_effort',
    Streamed: 'gen_ai.request.stream',
  },
  Tokens: {
    Input: 'gen_ai.usage.input_tokens llm.token_count.prompt .turn.tokens.input',
    'Cached input':
      'gen_ai.usage.cache_read.input_tokens llm.token_count.prompt_details.cache_read .turn.tokens.cache_read',
    'Written to cache':
      'gen_ai.usage.cache_creation.input_tokens llm.token_count.prompt_details.cache_write .turn.tokens.cache_write',
    Output: 'gen_ai.usage.output_tokens llm.token_count.completion .turn.tokens.output',
    Reasoning:
      'gen_ai.usage.reasoning.output_tokens llm.token_count.completion_details.reasoning .turn.tokens.reasoning',
    'In sub-agents': '.turn.subagent_tokens.total',
    'In auxiliary calls': '.turn.auxiliary_tokens.total',
    'Context used': '.context.used_ratio',
    'Context window': '.context.max_tokens',
    Cost: 'llm.cost.total',
  },
  Tool: {
    Tool: 'gen_ai.tool.name tool.name',
    Outcome: '.tool.outcome',
    'Blocked by': '.tool.blocked_by',
    Target: '.tool.target',
    Call: 'gen_ai.tool.call.id tool.id',
  },
  Guard: {
    Guard: '.hook.name',
    Phase: '.hook.phase',
    Decision: '.hook.verdict',
    Action: '.hook.action',
    'Message to the model': '.hook.reason',
    'Message to the user': '.hook.detail',
    'Rewritten fields': '.hook.rewritten_fields',
    Failure: '.hook.failure',
    Priority: '.hook.priority',
    Duration: '.hook.duration_ms',
  },
  Approval: {
    Rule: '.approval.pattern_key',
    Reason: '.approval.description',
    Answer: '.approval.choice',
    'Decided by': '.approval.decided_by',
    Wait: '.approval.duration_ms',
    'Timed out': '.approval.timed_out',
  },
  'Sub-agent and skill': {
    Role: '.subagent.role',
    Status: '.subagent.status',
    'Child session': '.subagent.child_session_id',
    Skill: '.skill.name',
    Source: '.skill.path .skill.source',
  },
  Turn: {
    Agent: 'gen_ai.agent.name',
    Status: '.turn.final_status',
    'Exit reason': '.turn.exit_reason',
    'Tools used': '.turn.tools',
    'Tool calls': '.turn.tool_call_count',
    'Failed tool calls': '.turn.tool_error_count',
    Requests: '.turn.api_call_count',
    Retries: '.turn.retry_count',
    'Waiting for approval': '.turn.approval_wait_ms',
  },
}

const CONTENTS: Names = {
  Command: '.tool.command .approval.command',
  Goal: '.subagent.goal',
  Instructions: 'gen_ai.system_instructions',
  Arguments: 'gen_ai.tool.call.arguments tool.parameters',
  Input: 'gen_ai.input.messages input.value',
  Result: 'gen_ai.tool.call.result',
  Summary: '.subagent.summary',
  Output: 'gen_ai.output.messages output.value gen_ai.content.completion',
}

/** The same content under another convention's label; shown only once. */
const SAME: Readonly<Record<string, string>> = { Input: 'Arguments', Output: 'Result' }

const MASK = '[REDACTED]'

/** @param attributes cut, as they are sent */
export function spanStory(attributes: LongValues, namespace: string, statusMessage: string | undefined): SpanStory {
  const named = (names: string): readonly [name: string, value: LongValue] | undefined =>
    names
      .split(' ')
      .map(name => (name.startsWith('.') ? namespace + name : name))
      .flatMap(name => (Object.hasOwn(attributes, name) ? [[name, attributes[name] as LongValue] as const] : []))
      .at(0)
  const contents = Object.entries(CONTENTS).flatMap(([label, names]) => {
    const [attribute] = named(names) ?? []
    return attribute === undefined ? [] : [{ label, attribute }]
  })
  const labels = new Set(contents.map(({ label }) => label))
  const groups = Object.entries(GROUPS).map(([title, rows]) => {
    const facts = Object.entries(rows).flatMap(([label, names]) => {
      const [name, found] = named(names) ?? []
      const value = found?.value ?? ''
      return name === undefined || value === '' ? [] : [{ label, text: textOf(name, value) }]
    })
    // The message of a failure is in the span's status, and often nowhere else.
    if (title === 'Error' && statusMessage !== undefined && !facts.some(({ text }) => text === statusMessage))
      facts.push({ label: 'Description', text: statusMessage })
    return { title, facts }
  })
  const isSet = (name: string): boolean => attributes[namespace + name]?.value === true
  const isMasked = Object.values(attributes).some(({ value }) => typeof value === 'string' && value.includes(MASK))
  const notices = [
    isMasked && `Secrets were masked before storage and appear as ${MASK}.`,
    isSet('.content.truncated') &&
      'Values over the content_capture limit were truncated before storage. The rest was not stored.',
    isSet('.span.retroactive') && 'The start was not recorded: it is derived from the duration.',
  ]
  return {
    contents: contents.filter(({ label }) => !labels.has(SAME[label] ?? '')),
    groups: groups.filter(({ facts }) => facts.length > 0),
    notices: notices.filter(notice => notice !== false),
  }
}

function textOf(name: string, value: unknown): string {
  if (Array.isArray(value)) return value.map(String).join(', ')
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  if (typeof value !== 'number') return String(value)
  if (name.endsWith('_ms')) return humanDuration(value)
  if (name.endsWith('time_to_first_chunk')) return humanDuration(value * 1000)
  if (name.endsWith('_ratio')) return `${Math.round(value * 1000) / 10} %`
  if (name === 'llm.cost.total') return humanCost(value)
  return Number.isInteger(value) ? humanCount(value) : String(value)
}
