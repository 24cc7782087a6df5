// The effects of each payload field, found by removing the field: no list to maintain.
import { COMPLETE_RECORDS, isAgentsOwn } from './complete-records.mjs'
import { observe } from './observed-spans.mjs'

const EVERYTHING = {
  content_capture: 'full',
  capture_sender_id: true,
  capture_conversation_history: true,
}

/** `llm.input_messages.0.message.role` → `llm.input_messages` */
const family = name => name.replace(/\.\d+\..*$/, '')

/** All facts of a span: attribute or description → value. */
function factsOf({ name, attributes, events, links, status, endAt }) {
  const facts = new Map()
  for (const [attribute, value] of attributes) {
    const key = isAgentsOwn(attribute) ? 'attributes of those names' : `\`${family(attribute)}\``
    facts.set(key, `${facts.get(key) ?? ''}\n${JSON.stringify(value)}`)
  }
  facts.set('the name', name)
  facts.set('the end', endAt)
  facts.set('an event', JSON.stringify(events))
  facts.set('a link', JSON.stringify(links))
  facts.set('the status', JSON.stringify(status))
  return facts
}

/** Spans are identified by kind and start, because names and ids may be removed. */
function outcome(hook, gone) {
  const records = COMPLETE_RECORDS.map(record => {
    if (record.hook !== hook) return record
    const payload = Object.fromEntries(Object.entries(record.payload).filter(([name]) => !gone.includes(name)))
    return { ...record, payload }
  })
  return new Map(observe(records, EVERYTHING).map(span => [`${span.kind} ${span.startAt}`, factsOf(span)]))
}

function differences(before, after) {
  const changed = new Set()
  for (const [span, facts] of before) {
    const left = after.get(span)
    if (left === undefined) changed.add(`a \`${span.split(' ')[0]}\` span`)
    else
      for (const name of new Set([...facts.keys(), ...left.keys()]))
        if (facts.get(name) !== left.get(name)) changed.add(name)
  }
  return changed
}

const complete = outcome('', [])

/**
 * Removes field by field, in this order: if one field is a fallback for another, only the second removal shows.
 *
 * @param bare the outcome without any of the fields
 */
function shed(hook, fields, bare, effects) {
  const gone = []
  let before = complete
  for (const field of fields) {
    gone.push(field)
    const after = gone.length === fields.length ? bare : outcome(hook, gone)
    for (const name of differences(before, after)) effects.get(field).add(name)
    before = after
  }
}

/** Field → its effects on spans, for one hook. */
export function fieldEffects(hook, fields) {
  const effects = new Map(fields.map(field => [field, new Set()]))
  const bare = outcome(hook, fields)
  shed(hook, fields, bare, effects)
  shed(hook, [...fields].reverse(), bare, effects)
  return effects
}
