// Spans as the built code draws them, with the hook at which each attribute is set: an ended span no longer tells.
import { readFileSync } from 'node:fs'
import { createPluginIn } from '../build/plugin/create-plugin.js'

/** One span as it was drawn. `hookOf()` tells the number of the record that is being taken. */
class ObservedSpan {
  /** Name → value, the last one that was set. */
  attributes = new Map()
  events = []
  status = undefined
  endAt = undefined
  #hookOf
  #startHook
  #endHook
  /** Name → numbers of the records that set it. */
  #setBy = new Map()

  constructor(name, { kind, startTime, links = [], attributes = {} }, number, hookOf) {
    this.name = name
    this.startAt = startTime
    this.otelKind = kind
    this.links = [...links]
    this.number = number
    this.#hookOf = hookOf
    this.#startHook = hookOf()
    this.setAttributes(attributes)
  }

  /** Our own word for its kind. */
  get kind() {
    return this.attributes.get('hermes.span.kind')
  }

  /**
   * When an attribute was set: `start`, `later`, `end`. None where one record brought the whole span, because then there
   * is no telling.
   */
  phasesOf(name) {
    if (this.#startHook === this.#endHook) return []
    return [...this.#setBy.get(name)].map(hook =>
      hook === this.#startHook ? 'start' : hook === this.#endHook ? 'end' : 'later',
    )
  }

  spanContext() {
    return { traceId: '1'.padStart(32, '0'), spanId: String(this.number).padStart(16, '0'), traceFlags: 1 }
  }

  isRecording() {
    return true
  }

  setAttribute(name, value) {
    if (value === undefined) return
    this.attributes.set(name, value)
    this.#setBy.set(name, (this.#setBy.get(name) ?? new Set()).add(this.#hookOf()))
  }

  setAttributes(attributes) {
    for (const [name, value] of Object.entries(attributes)) this.setAttribute(name, value)
  }

  addEvent(name, attributes) {
    this.events.push({ name, attributes })
  }

  addLink(link) {
    this.links.push(link)
  }

  updateName(name) {
    this.name = name
  }

  setStatus(status) {
    this.status = status
  }

  end(at) {
    this.endAt = at
    this.#endHook = this.#hookOf()
  }
}

/** The spans of a run of records, in the order of their starts. `options` are those of `createPlugin`. */
export function observe(records, options = {}) {
  const spans = []
  let hook = 0
  const startSpan = (name, given) => {
    spans.push(new ObservedSpan(name, given, spans.length + 1, () => hook))
    return spans.at(-1)
  }
  const tracerProvider = { getTracer: () => ({ startSpan }) }
  const surroundings = { env: {}, home: '/nonexistent', isReplay: true }
  const plugin = createPluginIn({ host: 'my-agent', tracerProvider, ...options }, surroundings)
  for (const { hook: name, payload, ...meta } of records) {
    hook += 1
    plugin.emit(name, payload, meta)
  }
  return spans
}

/** The records of a bundled recording. */
export function recording(name) {
  const lines = readFileSync(new URL(`../fixtures/${name}`, import.meta.url), 'utf8').split('\n')
  const values = lines.filter(line => line !== '').map(line => JSON.parse(line))
  return values.filter(({ hook }) => hook !== undefined)
}
