// The attributes of each span kind, when they are set, and the settings that they need: observed, not declared.
import { GEN_AI, GEN_AI_NEXT, GENERAL, OPENINFERENCE, OWN } from '../build/contract/semconv/index.js'
import { COMPLETE_RECORDS, isAgentsOwn } from './complete-records.mjs'
import { observe, recording } from './observed-spans.mjs'

/** In order: attributes of the first run need no setting; those that first occur in a later run need its setting. */
const RUNS = [
  ['', { content_capture: 'off' }],
  ['content', { content_capture: 'preview' }],
  ['`content_capture: full`', { content_capture: 'full' }],
  ['`capture_sender_id`', { capture_sender_id: true }],
  ['`capture_conversation_history`', { capture_conversation_history: true }],
  ['`project_name`', { project_name: 'my-agents' }],
  ['`prices`', { prices: true }],
  ['`keep`', { keep: true }],
  ['a small `preview_max_chars`', { preview_max_chars: 8 }],
  ['`gen_ai_next`', { conventions: ['own', 'gen_ai_next'] }],
]

const CONVENTIONS = {
  own: OWN,
  gen_ai: GEN_AI,
  gen_ai_next: GEN_AI_NEXT,
  openinference: OPENINFERENCE,
  general: GENERAL,
}

export const CONVENTION_NAMES = Object.keys(CONVENTIONS)

/** `llm.input_messages.0.message.role` → `llm.input_messages.N.message.role` */
const generic = name => name.replace(/\.\d+(?=\.)/g, '.N')

const conventionOf = new Map()
for (const [convention, names] of Object.entries(CONVENTIONS)) {
  for (const name of Object.values(names)) {
    const written = name.replace('{ns}', 'hermes')
    // Names of v1.41 that later versions put on more spans are listed under v1.41.
    if (!conventionOf.has(written)) conventionOf.set(written, convention)
  }
}

function convention(name) {
  const found = conventionOf.get(name) ?? conventionOf.get(name.replace(/\.N\..*$/, ''))
  if (found === undefined) throw new Error(`${name} is in no file of src/contract/semconv`)
  return found
}

function typeOf(value) {
  return Array.isArray(value) ? 'string[]' : typeof value
}

/** The recordings come first because their values are better examples. Each runs separately, so that turns do not meet. */
function allSpans(options) {
  const sources = [recording('demo-session.jsonl'), recording('hermes-turn.jsonl'), COMPLETE_RECORDS]
  return sources.flatMap(records => observe(records, options))
}

function add(facts, span, needs) {
  const ofKind = facts.get(span.kind) ?? new Map()
  facts.set(span.kind, ofKind)
  for (const [raw, value] of span.attributes) {
    if (isAgentsOwn(raw)) continue
    const name = generic(raw)
    const seen = { name, convention: convention(name), needs, phases: new Set(), type: typeOf(value), example: value }
    const known = ofKind.get(name) ?? seen
    for (const phase of span.phasesOf(raw)) known.phases.add(phase)
    ofKind.set(name, known)
  }
}

const ORDER = [...conventionOf.keys()]
const place = ({ name }) => ORDER.indexOf(name.replace(/\.N\..*$/, ''))

/** Kind → its attributes as `{name, convention, type, phases, needs, example}`, in the order of `src/contract/semconv`. */
export function attributeFacts() {
  const facts = new Map()
  for (const [needs, options] of RUNS) for (const span of allSpans(options)) add(facts, span, needs)
  return new Map([...facts].map(([kind, ofKind]) => [kind, [...ofKind.values()].sort((a, b) => place(a) - place(b))]))
}

/** Kind → name of an event → its attributes. */
export function eventFacts() {
  const facts = new Map()
  for (const { kind, events } of allSpans({})) {
    for (const { name, attributes } of events)
      facts.set(`${kind} ${name}`, { kind, name, attributes: Object.keys(attributes) })
  }
  return [...facts.values()]
}
