// docs/hooks.md, out of the contract and of the plan that says which hook draws which span.
import { HOOKS } from '../build/contract/index.js'
import { HOOK_PLAN } from '../build/tracker/spans/hook-plan.js'
import { contractInterfaces, describePayload, payloadInterfaces } from './contract-types.mjs'
import { fieldEffects } from './field-effects.mjs'
import { code, generatedBy, table } from './markdown.mjs'

const INTRO = `# Hooks

What an agent tells hookspan. A hook fires, a record of it comes in, and a span starts or ends: [spans.md](spans.md) says
what is then written on it.

In code a hook is a call, \`plugin.emit('pre_tool_call', payload, meta)\`, in which a misspelt name does not compile; for what
is not typed, out of a file or another program, there is \`plugin.emitUntyped(hook, payload, meta)\`. Or it is a function that
the host calls, \`plugin.handlers.pre_tool_call(payload)\`. In a file, or through a pipe into \`hookspan replay -\`, it is one line of JSON:

\`\`\`json
{"hook": "pre_tool_call", "at": 1795256104330, "payload": {"tool_name": "terminal", "args": {"command": "ls"}, "session_id": "s1", "turn_id": "s1:t1", "tool_call_id": "call_1", "api_request_id": "r1"}}
\`\`\`

- Every field is optional, for hosts differ; what is missing costs the attributes that it would have made. Two make the
  difference between a tree and a guess: \`session_id\` and \`turn_id\`.
- The names are the wire names of \`hermes.observer.v1\`. Fields that are not listed are ignored, and a hook that is not
  listed is ignored and counted: both are additions of a newer host, not errors.
- What looks like a slip is said once, in a line that names what was probably meant, and counted in \`stats().unread\`: a hook
  that is not known, a field whose name is near that of one which is missing, a value that nothing can be read out of,
  such as usage without tokens, and a status of a tool that is unknown.
  \`hookspan replay --strict\` exits with 1 when there is one. Of a running agent the first hundred records of each hook are
  looked at, and from then on each sixteenth.
- A value of a wrong type is treated as if it were missing. Nothing that comes in makes hookspan throw.
- A callback returns nothing. Only the end of a turn gives a promise, of the flush, for hosts that want to wait. What is
  told by these hooks changes nothing in the agent: to block a tool, add context or replace a result is for
  [hooks that act](control-hooks.md).
`

const FIRST_LINE = `The first line of a file may describe it: \`{"fixture": {"host": "my-agent"}}\`. Its host is then the host of all
records that name none. A line that is no record is reported with its number and skipped.
`

const AFTER_PLAN = `A turn is one user message and everything that follows from it until the answer: one trace, with \`session\` as its root.
Some hosts fire \`on_session_start\` once a session and some once a turn; both are understood. A host may also fire none about
sessions: a turn that has its \`post_llm_call\` is then completed, and ends at the next prompt, after 30 seconds, or when the
process ends. What opens a turn, and what happens to records that come late, twice or never, is in [design.md](design.md#which-turn-a-record-belongs-to).
What becomes of a caller's \`traceparent\`: [opentelemetry.md](opentelemetry.md#set-the-parent-of-a-turn).
`

const BEFORE_PAYLOADS = `The last column is what a field becomes, found out by leaving it out of a turn that has them all: attributes (on
whatever span of the turn), or, in plain words, the span's name, its end, its status, a link, an event, a span of its own.
A \`–\` means that it only stands in for another field, counts in metrics, decides which span the record belongs to, or is
not read.
`

const USAGE = `## Usage

\`usage\` is understood in the spellings of the providers and of the agents (\`prompt_tokens\`, \`input_tokens\`, \`inputTokens\`,
\`cache_read_input_tokens\`, \`prompt_tokens_details.cached_tokens\`, …). Input includes what was read from or written to a
cache, output includes reasoning; where a provider counts the cache beside its input, it is added once. Numbers may be
text; what is not a number, or negative, is as good as not there. All zero is no usage.
`

const EFFECTS = {
  start: 'starts it',
  end: 'ends it',
  event: 'tells of it',
  identity: 'ends what is open of the session',
}

const CORRELATION = {
  type: '`explicit`, `inferred` or `ambiguous`',
  about: 'How sure an adapter is of the ids that it filled in; the last two mark the spans',
}

const HAS_IDS = {
  Identity: 'The [ids](#ids)',
  DelegationIdentity: 'The [ids of a delegation](#ids)',
}

function planTable() {
  const rows = Object.entries(HOOKS).map(([hook, meaning]) => {
    const { definition, phase } = HOOK_PLAN[hook]
    return [`[${code(hook)}](#${hook})`, meaning, `[${definition.kind}](spans.md#${definition.kind})`, EFFECTS[phase]]
  })
  return table(['hook', 'it fires when', 'span', 'what it does'], rows)
}

function idTable(fields) {
  return table(
    ['field', 'type', 'note'],
    fields.map(({ name, type, about }) => [code(name), type, about]),
  )
}

function recordTable(interfaces) {
  const meta = interfaces.get('HookMeta').fields
  return idTable([
    { name: 'hook', type: 'string', about: 'One of the names below' },
    { name: 'payload', type: 'object', about: 'What the hook says: its own section below' },
    ...meta.map(field => (field.name === 'correlation' ? { ...field, ...CORRELATION } : field)),
  ])
}

function payloadTable(hook, fields) {
  const effects = fieldEffects(
    hook,
    fields.map(({ name }) => name),
  )
  const rows = fields.map(({ name, type, about }) => {
    return [code(name), type, about, [...effects.get(name)].join(', ') || '–']
  })
  return table(['field', 'type', 'note', 'becomes'], rows)
}

function section(interfaces, hook, name) {
  const { ids, base, fields } = describePayload(interfaces, name)
  const [first = '', ...rest] = HOOKS[hook]
  const before = base === undefined ? HAS_IDS[ids] : `All of [${hookOf(base)}](#${hookOf(base)})`
  const lead = `### ${hook}\n\n${first.toUpperCase()}${rest.join('')}.`
  return [lead, ...(before === undefined ? [] : [`${before}, and:`]), payloadTable(hook, fields)].join('\n\n')
}

const hookOf = payload => [...payloadInterfaces()].find(([, name]) => name === payload)[0]

/** The page, ending in a line break. */
export function hooksDoc() {
  const interfaces = contractInterfaces()
  const sections = [...payloadInterfaces()].map(([hook, name]) => section(interfaces, hook, name))
  return `${generatedBy('src/contract', 'scripts/hooks-doc.mjs')}

${INTRO}
${recordTable(interfaces)}

${FIRST_LINE}
## Which hook draws which span

${planTable()}

${AFTER_PLAN}
## Ids

Ids are compared, never parsed. A number is taken for its text; an empty string or \`null\` is the same as none.

${idTable(interfaces.get('Identity').fields)}

Hooks about child agents carry these instead:

${table(
  ['field', 'type'],
  interfaces.get('DelegationIdentity').fields.map(({ name, type }) => [code(name), type]),
)}

## Payloads

${BEFORE_PAYLOADS}
${sections.join('\n\n')}

${USAGE}`
}
