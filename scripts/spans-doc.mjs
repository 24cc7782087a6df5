// docs/spans.md, out of the definitions and of what they write on the spans of real and of made-up turns.
import { SpanKind } from '@opentelemetry/api'
import { resolveConfig } from '../build/plugin/config/resolve.js'
import { attributeOptionsOf } from '../build/plugin/settings.js'
import { HOOK_PLAN } from '../build/tracker/spans/hook-plan.js'
import { skill } from '../build/tracker/spans/skill.js'
import { code, generatedBy, table } from './markdown.mjs'
import { attributeFacts, CONVENTION_NAMES, eventFacts } from './span-facts.mjs'
import { SPAN_KINDS } from './span-kinds.mjs'

const INTRO = `# Spans

What hookspan writes: one trace per turn, and on each span the attributes below. They are not copied from the code but
seen: this page is made by replaying the bundled recordings, and a turn in which every field of every hook is set.
Which hook starts and ends which span is in [hooks.md](hooks.md).

\`\`\`text
session            the turn, one trace
├─ llm             its loop
│  ├─ api          an attempt that failed
│  ├─ api          its retry, which asks for tools
│  │  ├─ tool
│  │  │  ├─ hook      a control hook that looked at it
│  │  │  └─ approval
│  │  └─ tool
│  │     └─ subagent
│  │        └─ session   the turn of the child agent
│  └─ api
├─ skill
└─ auxiliary
\`\`\`

How to read the tables:

- \`hermes.\` is the \`namespace\`, a configuration key. Three sets of names are written side by side and can be switched
  off one by one (\`conventions\`): **own**, **gen_ai** (OpenTelemetry's GenAI names as backends read them today, v1.41),
  **openinference** (Phoenix, Arize). The **general** ones are always there. [**gen_ai_next**](opentelemetry.md#newer-genai-conventions) adds what OpenTelemetry has not
  released yet; it is off unless you name it.
- *set* says when: at the \`start\` of the span, at its \`end\`, or \`later\`, when a record in between brings it.
- *needs* says what must be on: \`content\` is anything but \`content_capture: off\`; a key is that key, \`gen_ai_next\` that set. Nothing: always.
- An attribute is there only when the host said something. What is absent, empty or switched off is not written: there
  is no \`"None"\`, no \`"undefined"\`, no zero that means unknown.
- *type*: numbers are integers where the host's are. Text that says it is JSON parses, also after it was cut.
- Ids and names have at most 200 characters, a command or target 500, content what [configuration.md](configuration.md)
  says. Secrets are masked in all of them, see [privacy.md](privacy.md).
`

const EVERY_SPAN = `## On every span

Status OK is set on what went well, ERROR where the kind says so below; each span
with ERROR has an \`error.type\`, which is how it ended where no error was named.

A span is as long as what is known of it, and no time is made up: it has length zero where it began and ended in the same
millisecond, where a failed request is told without its start and without a duration, where a side call is known from a sum only,
and where nothing came after a start that had to be ended.
`

const MARKS = `What [belongs to a turn](extending.md#what-belongs-to-a-turn) stands on them, too, under these names and, its \`attributes\`, under their own. With
\`langfuse\` among the \`conventions\`, or as a backend, tags are \`langfuse.trace.tags\` as well, and each entry of the metadata is
\`langfuse.trace.metadata.<key>\`.

These appear where they have something to say:

| attribute | value |
| --- | --- |
| \`hermes.span.incomplete\` | hookspan had to end the span: \`turn_ended\`, \`orphaned\` (no record for \`root_span_ttl_ms\`, or for \`open_work_ttl_ms\` where work was open), \`superseded\` (the same began again), \`shutdown\`, \`crashed\` (its process was killed; ended by the next one). Its status is unset (of a turn that fell silent OK, of a request whose stream broke off ERROR), and it is counted |
| \`hermes.span.retroactive\` | \`true\`: its start was never seen and is computed from a duration |
| \`hermes.correlation\` | \`inferred\` or \`ambiguous\`: an adapter, or hookspan itself, was not sure of the ids |
`

const AFTER_KINDS = `## Links

\`hermes.link\` on the link says what it is:

| value | from | to |
| --- | --- | --- |
| \`previous_turn\` | the root of a turn | the root of the turn before, of the same session |
| \`previous_session\` | the root of the first turn after a reset | the last root of the session that was replaced |
| \`parent\` | the root of a turn | its caller, known from a \`traceparent\` (unless [\`parent\`](opentelemetry.md#set-the-parent-of-a-turn) makes it the parent); of a child agent the turn of its parent, known by its session |
| \`delegation\` | the root of a child agent | its \`subagent\` span, where the child began before its delegation was told |
`

const TOTALS = `## Totals

What a turn used stands on the root of its \`session\`, in three parts. Each token is in one of them:

| part | on the root | in the [metrics](metrics.md) | what |
| --- | --- | --- | --- |
| own | \`hermes.turn.tokens.*\` | \`part="own"\` | the requests of its own loop |
| sub-agents | \`hermes.turn.subagent_tokens.total\` | \`part="subagent"\` | all of its child agents, at any depth, their side calls included |
| side calls | \`hermes.turn.auxiliary_tokens.total\` | \`part="auxiliary"\` | what the host asked a model beside the loop: a title, a summary, a check |
| all | \`hermes.turn.all_tokens.*\` | their sum | what a backend comes to that adds up the requests of the trace, and what the header of \`hookspan tree\` says |

A child's turn has a root, too, with its own parts. Input has what was cached in it, output the reasoning.

On a root stands what was known when it ended. What a child agent uses after that is told to the nearest turn above that is
still open; if there is none it is in the trace and in the metrics only, and \`hermes.turn.subagent_open_count\` says how many
of its children were still at work. The same holds for a side call after the end, such as one for a title.
`

const RESOURCE = `## On the resource

\`service.name\`, \`service.instance.id\`, \`telemetry.sdk.*\`, \`telemetry.distro.*\`, \`process.pid\`, \`process.runtime.*\`,
\`host.name\`, \`host.arch\`, \`os.type\`, \`openinference.project.name\` with \`project_name\`, and what
\`resource_attributes\` holds. With \`deterministic_ids\` those of the process and the machine are left out.
`

const MARKED = new Set(['hermes.span.incomplete', 'hermes.span.retroactive', 'hermes.correlation'])

function shorten(value) {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  const line = text.replace(/\s+/g, ' ')
  return code(line.length > 60 ? `${line.slice(0, 59)}…` : line)
}

const PHASES = ['start', 'later', 'end']

function attributeTable(facts) {
  const rows = facts.map(({ name, type, phases, needs, example }) => [
    code(name),
    type,
    PHASES.filter(phase => phases.has(phase)).join(', '),
    needs,
    shorten(example),
  ])
  return table(['attribute', 'type', 'set', 'needs', 'example'], rows)
}

/** A table for each convention that has something in it. */
function attributeTables(facts) {
  return CONVENTION_NAMES.map(convention => [convention, facts.filter(fact => fact.convention === convention)])
    .filter(([, found]) => found.length > 0)
    .map(([convention, found]) => `**${convention}**\n\n${attributeTable(found)}`)
    .join('\n\n')
}

/** What the definitions make of placeholders, in both naming schemes. */
function namesOf(definition) {
  const payload = {
    model: '{model}',
    tool_name: '{name}',
    name: '{name}',
    child_role: '{role}',
    pattern_key: '{pattern_key}',
    hook_name: '{name}',
    aux_task: '{task}',
    agent_name: '{agent}',
  }
  const schemes = ['hermes', 'semconv'].map(span_names => {
    const draw = attributeOptionsOf(
      resolveConfig({ env: {}, home: '/nonexistent', code: { span_names } }).config,
      () => undefined,
    )
    const [full, bare] = [definition.name(payload, draw), definition.name({}, draw)]
    return full === bare ? code(full) : `${code(full)} (else ${code(bare)})`
  })
  return { hermes: schemes[0], semconv: schemes[1] }
}

const DEFINITIONS = new Map(
  [...Object.values(HOOK_PLAN).map(({ definition }) => definition), skill].map(each => [each.kind, each]),
)

function hooksOf(kind) {
  const hooks = Object.entries(HOOK_PLAN).filter(
    ([, plan]) => plan.definition.kind === kind && plan.phase !== 'identity',
  )
  return hooks.map(([hook, { phase }]) => `[${code(hook)}](hooks.md#${hook}) (${phase})`).join(', ') || 'none'
}

function kindSection({ kind, title, about, key, parent, status }, facts) {
  const definition = DEFINITIONS.get(kind)
  const names = namesOf(definition)
  const properties = [
    `name: ${names.hermes}; with \`span_names: semconv\` ${names.semconv}`,
    `OTel kind: ${SpanKind[definition.spanKind]}`,
    `hooks: ${hooksOf(kind)}`,
    `an end finds its start by: ${key}`,
    `parent: ${parent}`,
    `status: ${status}`,
  ]
  const list = properties.map(property => `- ${property}`).join('\n')
  return `## ${kind}\n\n${title} ${about}\n\n${list}\n\n${attributeTables(facts)}`
}

function eventTable() {
  const rows = eventFacts().map(({ kind, name, attributes }) => [code(name), kind, attributes.map(code).join(', ')])
  return table(['event', 'on', 'attributes'], rows)
}

/** On every kind alike: said once. */
function commonOf(facts) {
  const [first, ...others] = SPAN_KINDS.map(({ kind }) => facts.get(kind).map(({ name }) => name))
  return first.filter(name => others.every(names => names.includes(name)))
}

/** The page, ending in a line break. */
export function spansDoc() {
  const facts = attributeFacts()
  const common = commonOf(facts)
  const onEvery = facts.get('session').filter(({ name }) => common.includes(name))
  const isOwn = ({ name }) => !common.includes(name) && !MARKED.has(name)
  const sections = SPAN_KINDS.map(words => kindSection(words, facts.get(words.kind).filter(isOwn)))
  return `${generatedBy('src/tracker/spans', 'scripts/spans-doc.mjs')}

${INTRO}
${EVERY_SPAN}
${attributeTables(onEvery)}

${MARKS}
${sections.join('\n\n')}

## Events

${eventTable()}

${AFTER_KINDS}
${TOTALS}
${RESOURCE}
`
}
