import { humanCost, humanCount, humanDuration } from '../../reading/human-figures.ts'
import type { LongValue, SpanDetail } from '../server/api.ts'

export interface Fact {
  readonly label: string
  readonly text: string
}

export interface FactGroup {
  readonly title: string
  readonly facts: readonly Fact[]
}

export interface Content {
  readonly label: string
  readonly attribute: string
  readonly value: LongValue
}

export interface SpanStory {
  readonly contents: readonly Content[]
  readonly groups: readonly FactGroup[]
  readonly notices: readonly string[]
}

type Figure = (value: unknown) => string

const asText: Figure = value => (Array.isArray(value) ? value.map(String).join(', ') : String(value))
const asCount: Figure = value => (typeof value === 'number' ? humanCount(value) : asText(value))
const asMillis: Figure = value => (typeof value === 'number' ? humanDuration(value) : asText(value))
const asSeconds: Figure = value => (typeof value === 'number' ? humanDuration(value * 1000) : asText(value))
const asShare: Figure = value => (typeof value === 'number' ? `${Math.round(value * 1000) / 10} %` : asText(value))
const asCost: Figure = value => (typeof value === 'number' ? humanCost(value) : asText(value))
const asYes: Figure = value => (value === true ? 'yes' : value === false ? 'no' : asText(value))

/** Names separated by blanks: the first that the span has is used. A leading dot stands for the namespace. */
type FactRow = readonly [label: string, names: string, figure?: Figure]

const GROUPS: Readonly<Record<string, readonly FactRow[]>> = {
  Error: [
    ['Type', 'error.type'],
    ['Message', 'error.message'],
    ['Reason', '.error.reason'],
    ['Status code', 'http.response.status_code gen_ai.response.status_code'],
    ['Retryable', '.retryable', asYes],
    ['Incomplete because', '.span.incomplete'],
  ],
  Model: [
    ['Model', 'gen_ai.request.model llm.model_name'],
    ['Response model', 'gen_ai.response.model'],
    ['Provider', 'gen_ai.provider.name llm.provider'],
    ['Upstream provider', '.response.upstream_provider'],
    ['Finish reason', 'gen_ai.response.finish_reason llm.finish_reason gen_ai.response.finish_reasons'],
    ['Time to first token', 'gen_ai.response.time_to_first_chunk', asSeconds],
    ['Previous attempts', '.api.attempt', asCount],
    ['Request number', '.api.call_count', asCount],
    ['Messages', '.request.message_count', asCount],
    ['Tools offered', '.request.tool_count', asCount],
    ['Tools called', '.response.tool_calls', asCount],
    ['Temperature', 'gen_ai.request.temperature'],
    ['Max tokens', 'gen_ai.request.max_tokens', asCount],
    ['Reasoning effort', '.request.reasoning_effort'],
    ['Streamed', 'gen_ai.request.stream', asYes],
  ],
  Tokens: [
    ['Input', 'gen_ai.usage.input_tokens llm.token_count.prompt .turn.tokens.input', asCount],
    [
      'Cached input',
      'gen_ai.usage.cache_read.input_tokens llm.token_count.prompt_details.cache_read .turn.tokens.cache_read',
      asCount,
    ],
    [
      'Written to cache',
      'gen_ai.usage.cache_creation.input_tokens llm.token_count.prompt_details.cache_write .turn.tokens.cache_write',
      asCount,
    ],
    ['Output', 'gen_ai.usage.output_tokens llm.token_count.completion .turn.tokens.output', asCount],
    [
      'Reasoning',
      'gen_ai.usage.reasoning.output_tokens llm.token_count.completion_details.reasoning .turn.tokens.reasoning',
      asCount,
    ],
    ['In sub-agents', '.turn.subagent_tokens.total', asCount],
    ['In auxiliary calls', '.turn.auxiliary_tokens.total', asCount],
    ['Context used', '.context.used_ratio', asShare],
    ['Context window', '.context.max_tokens', asCount],
    ['Cost', 'llm.cost.total', asCost],
  ],
  Tool: [
    ['Tool', 'gen_ai.tool.name tool.name'],
    ['Outcome', '.tool.outcome'],
    ['Blocked by', '.tool.blocked_by'],
    ['Target', '.tool.target'],
    ['Call', 'gen_ai.tool.call.id tool.id'],
  ],
  Guard: [
    ['Guard', '.hook.name'],
    ['Phase', '.hook.phase'],
    ['Decision', '.hook.verdict'],
    ['Action', '.hook.action'],
    ['Message to the model', '.hook.reason'],
    ['Message to the user', '.hook.detail'],
    ['Rewritten fields', '.hook.rewritten_fields'],
    ['Failure', '.hook.failure'],
    ['Priority', '.hook.priority'],
    ['Duration', '.hook.duration_ms', asMillis],
  ],
  Approval: [
    ['Rule', '.approval.pattern_key'],
    ['Reason', '.approval.description'],
    ['Answer', '.approval.choice'],
    ['Decided by', '.approval.decided_by'],
    ['Wait', '.approval.duration_ms', asMillis],
    ['Timed out', '.approval.timed_out', asYes],
  ],
  'Sub-agent and skill': [
    ['Role', '.subagent.role'],
    ['Status', '.subagent.status'],
    ['Child session', '.subagent.child_session_id'],
    ['Skill', '.skill.name'],
    ['Source', '.skill.path .skill.source'],
  ],
  Turn: [
    ['Agent', 'gen_ai.agent.name'],
    ['Status', '.turn.final_status'],
    ['Exit reason', '.turn.exit_reason'],
    ['Tools used', '.turn.tools'],
    ['Tool calls', '.turn.tool_call_count', asCount],
    ['Failed tool calls', '.turn.tool_error_count', asCount],
    ['Requests', '.turn.api_call_count', asCount],
    ['Retries', '.turn.retry_count', asCount],
    ['Waiting for approval', '.turn.approval_wait_ms', asMillis],
  ],
}

const CONTENTS: readonly FactRow[] = [
  ['Command', '.tool.command .approval.command'],
  ['Goal', '.subagent.goal'],
  ['Instructions', 'gen_ai.system_instructions'],
  ['Arguments', 'gen_ai.tool.call.arguments tool.parameters'],
  ['Input', 'gen_ai.input.messages input.value'],
  ['Result', 'gen_ai.tool.call.result'],
  ['Summary', '.subagent.summary'],
  ['Output', 'gen_ai.output.messages output.value gen_ai.content.completion'],
]

/** The same content under another convention's label; shown only once. */
const SAME: Readonly<Record<string, string>> = { Input: 'Arguments', Output: 'Result' }

const MASK = '[REDACTED]'

export function spanStory({ attributes, namespace, statusMessage }: SpanDetail): SpanStory {
  const nameIn = (names: string): string | undefined =>
    names
      .split(' ')
      .map(name => (name.startsWith('.') ? namespace + name : name))
      .find(name => Object.hasOwn(attributes, name))
  const contents = CONTENTS.flatMap(([label, names]): Content[] => {
    const attribute = nameIn(names)
    const value = attribute === undefined ? undefined : attributes[attribute]
    return attribute === undefined || value === undefined ? [] : [{ label, attribute, value }]
  })
  const labels = new Set(contents.map(({ label }) => label))
  const groups = Object.entries(GROUPS).map(([title, rows]) => ({
    title,
    facts: rows.flatMap(([label, names, figure = asText]): Fact[] => {
      const name = nameIn(names)
      const value = name === undefined ? undefined : attributes[name]?.value
      return value === undefined || value === null || value === '' ? [] : [{ label, text: figure(value) }]
    }),
  }))
  return {
    contents: contents.filter(({ label }) => !labels.has(SAME[label] ?? '')),
    groups: withMessage(groups, statusMessage).filter(({ facts }) => facts.length > 0),
    notices: noticesOf(attributes, namespace),
  }
}

/** The message of a failure is in the span's status, and often nowhere else. */
function withMessage(groups: readonly FactGroup[], message: string | undefined): readonly FactGroup[] {
  const [failed, ...rest] = groups
  if (message === undefined || failed === undefined || failed.facts.some(({ text }) => text === message)) return groups
  return [{ ...failed, facts: [...failed.facts, { label: 'Description', text: message }] }, ...rest]
}

function noticesOf(attributes: SpanDetail['attributes'], namespace: string): string[] {
  const values = Object.values(attributes)
  const masked = values.filter(({ value }) => typeof value === 'string' && value.includes(MASK)).length
  const isCut = attributes[`${namespace}.content.truncated`]?.value === true
  return [
    masked === 0 ? '' : `Secrets were masked before storage and appear as ${MASK}.`,
    isCut ? 'Values over the content_capture limit were truncated before storage. The rest was not stored.' : '',
    attributes[`${namespace}.span.retroactive`]?.value === true
      ? 'The start was not recorded: it is derived from the duration.'
      : '',
  ].filter(notice => notice !== '')
}
