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

/** The first name that the span has is used. A leading dot stands for the namespace. */
interface FactRow {
  readonly label: string
  readonly names: readonly string[]
  readonly figure?: Figure
}

function fact(label: string, names: string | readonly string[], figure?: Figure): FactRow {
  return { label, names: typeof names === 'string' ? [names] : names, ...(figure !== undefined && { figure }) }
}

const GROUPS: readonly { readonly title: string; readonly rows: readonly FactRow[] }[] = [
  {
    title: 'Error',
    rows: [
      fact('Type', 'error.type'),
      fact('Message', 'error.message'),
      fact('Reason', '.error.reason'),
      fact('Status code', ['http.response.status_code', 'gen_ai.response.status_code']),
      fact('Retryable', '.retryable', asYes),
      fact('Incomplete because', '.span.incomplete'),
    ],
  },
  {
    title: 'Model',
    rows: [
      fact('Model', ['gen_ai.request.model', 'llm.model_name']),
      fact('Response model', 'gen_ai.response.model'),
      fact('Provider', ['gen_ai.provider.name', 'llm.provider']),
      fact('Upstream provider', '.response.upstream_provider'),
      fact('Finish reason', ['gen_ai.response.finish_reason', 'llm.finish_reason', 'gen_ai.response.finish_reasons']),
      fact('Time to first token', 'gen_ai.response.time_to_first_chunk', asSeconds),
      fact('Previous attempts', '.api.attempt', asCount),
      fact('Request number', '.api.call_count', asCount),
      fact('Messages', '.request.message_count', asCount),
      fact('Tools offered', '.request.tool_count', asCount),
      fact('Tools called', '.response.tool_calls', asCount),
      fact('Temperature', 'gen_ai.request.temperature'),
      fact('Max tokens', 'gen_ai.request.max_tokens', asCount),
      fact('Reasoning effort', '.request.reasoning_effort'),
      fact('Streamed', 'gen_ai.request.stream', asYes),
    ],
  },
  {
    title: 'Tokens',
    rows: [
      fact('Input', ['gen_ai.usage.input_tokens', 'llm.token_count.prompt', '.turn.tokens.input'], asCount),
      fact(
        'Cached input',
        [
          'gen_ai.usage.cache_read.input_tokens',
          'llm.token_count.prompt_details.cache_read',
          '.turn.tokens.cache_read',
        ],
        asCount,
      ),
      fact(
        'Written to cache',
        [
          'gen_ai.usage.cache_creation.input_tokens',
          'llm.token_count.prompt_details.cache_write',
          '.turn.tokens.cache_write',
        ],
        asCount,
      ),
      fact('Output', ['gen_ai.usage.output_tokens', 'llm.token_count.completion', '.turn.tokens.output'], asCount),
      fact(
        'Reasoning',
        [
          'gen_ai.usage.reasoning.output_tokens',
          'llm.token_count.completion_details.reasoning',
          '.turn.tokens.reasoning',
        ],
        asCount,
      ),
      fact('In sub-agents', '.turn.subagent_tokens.total', asCount),
      fact('In auxiliary calls', '.turn.auxiliary_tokens.total', asCount),
      fact('Context used', '.context.used_ratio', asShare),
      fact('Context window', '.context.max_tokens', asCount),
      fact('Cost', 'llm.cost.total', asCost),
    ],
  },
  {
    title: 'Tool',
    rows: [
      fact('Tool', ['gen_ai.tool.name', 'tool.name']),
      fact('Outcome', '.tool.outcome'),
      fact('Blocked by', '.tool.blocked_by'),
      fact('Target', '.tool.target'),
      fact('Call', ['gen_ai.tool.call.id', 'tool.id']),
    ],
  },
  {
    title: 'Guard',
    rows: [
      fact('Guard', '.hook.name'),
      fact('Phase', '.hook.phase'),
      fact('Decision', '.hook.verdict'),
      fact('Action', '.hook.action'),
      fact('Message to the model', '.hook.reason'),
      fact('Message to the user', '.hook.detail'),
      fact('Rewritten fields', '.hook.rewritten_fields'),
      fact('Failure', '.hook.failure'),
      fact('Priority', '.hook.priority'),
      fact('Duration', '.hook.duration_ms', asMillis),
    ],
  },
  {
    title: 'Approval',
    rows: [
      fact('Rule', '.approval.pattern_key'),
      fact('Reason', '.approval.description'),
      fact('Answer', '.approval.choice'),
      fact('Decided by', '.approval.decided_by'),
      fact('Wait', '.approval.duration_ms', asMillis),
      fact('Timed out', '.approval.timed_out', asYes),
    ],
  },
  {
    title: 'Sub-agent and skill',
    rows: [
      fact('Role', '.subagent.role'),
      fact('Status', '.subagent.status'),
      fact('Child session', '.subagent.child_session_id'),
      fact('Skill', '.skill.name'),
      fact('Source', ['.skill.path', '.skill.source']),
    ],
  },
  {
    title: 'Turn',
    rows: [
      fact('Agent', 'gen_ai.agent.name'),
      fact('Status', '.turn.final_status'),
      fact('Exit reason', '.turn.exit_reason'),
      fact('Tools used', '.turn.tools'),
      fact('Tool calls', '.turn.tool_call_count', asCount),
      fact('Failed tool calls', '.turn.tool_error_count', asCount),
      fact('Requests', '.turn.api_call_count', asCount),
      fact('Retries', '.turn.retry_count', asCount),
      fact('Waiting for approval', '.turn.approval_wait_ms', asMillis),
    ],
  },
]

interface ContentRow {
  readonly label: string
  readonly names: readonly string[]
}

const CONTENTS: readonly ContentRow[] = [
  { label: 'Command', names: ['.tool.command', '.approval.command'] },
  { label: 'Goal', names: ['.subagent.goal'] },
  { label: 'Instructions', names: ['gen_ai.system_instructions'] },
  { label: 'Arguments', names: ['gen_ai.tool.call.arguments', 'tool.parameters'] },
  { label: 'Input', names: ['gen_ai.input.messages', 'input.value'] },
  { label: 'Result', names: ['gen_ai.tool.call.result'] },
  { label: 'Summary', names: ['.subagent.summary'] },
  { label: 'Output', names: ['gen_ai.output.messages', 'output.value', 'gen_ai.content.completion'] },
]

/** The same content under another convention's label; shown only once. */
const SAME: Readonly<Record<string, string>> = { Input: 'Arguments', Output: 'Result' }

const MASK = '[REDACTED]'

export function spanStory({ attributes, namespace, statusMessage }: SpanDetail): SpanStory {
  const nameIn = (names: readonly string[]): string | undefined =>
    names.map(name => (name.startsWith('.') ? namespace + name : name)).find(name => Object.hasOwn(attributes, name))
  const contents = CONTENTS.flatMap(({ label, names }): Content[] => {
    const attribute = nameIn(names)
    const value = attribute === undefined ? undefined : attributes[attribute]
    return attribute === undefined || value === undefined ? [] : [{ label, attribute, value }]
  })
  const labels = new Set(contents.map(({ label }) => label))
  const groups = GROUPS.map(({ title, rows }) => ({
    title,
    facts: rows.flatMap(({ label, names, figure = asText }): Fact[] => {
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

export function editIn(value: unknown): { readonly before: string; readonly after: string } | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const fields = value as Readonly<Record<string, unknown>>
  for (const [old, fresh] of EDITS) {
    const [before, after] = [fields[old], fields[fresh]]
    if (typeof before === 'string' && typeof after === 'string') return { before, after }
  }
  return undefined
}

const EDITS = [
  ['old_string', 'new_string'],
  ['oldString', 'newString'],
  ['old_str', 'new_str'],
  ['oldText', 'newText'],
  ['old_text', 'new_text'],
] as const
