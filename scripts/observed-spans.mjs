// Spans as the built code draws them, with the moment at which each attribute is set: an ended span no longer tells.
import { readFileSync } from 'node:fs'
import { createPluginIn } from '../dist/wiring/create-plugin.js'

/** What is written down of one span. `attributes`: name → `{value, phases}`, phases being start, later, end. */
class ObservedSpan {
  constructor(name, options, number) {
    this.name = name
    this.options = options
    this.attributes = new Map()
    this.events = []
    this.links = [...(options.links ?? [])]
    this.status = undefined
    this.isDrawn = false
    this.pending = []
    this.context = { traceId: '1'.padStart(32, '0'), spanId: String(number).padStart(16, '0'), traceFlags: 1 }
  }

  get kind() {
    return this.attributes.get('hermes.span.kind')?.value
  }

  spanContext() {
    return this.context
  }

  isRecording() {
    return true
  }

  setAttributes(given) {
    const attributes = Object.entries(given).filter(([, value]) => value !== undefined)
    if (this.isDrawn) this.pending.push(...attributes)
    else this.#note(attributes, 'start')
    this.isDrawn = true
  }

  addEvent(name, attributes) {
    this.events.push({ name, attributes })
  }

  addLink(link) {
    this.links.push(link)
  }

  setStatus(status) {
    this.status = status
  }

  end(at) {
    this.endAt = at
    this.settle('end')
  }

  /** What was set during one hook: at the span's end, or somewhere between. */
  settle(phase) {
    this.#note(this.pending.splice(0), phase)
  }

  #note(attributes, phase) {
    for (const [name, value] of attributes) {
      const known = this.attributes.get(name)
      this.attributes.set(name, { value, phases: new Set([...(known?.phases ?? []), phase]) })
    }
  }
}

function observer() {
  const spans = []
  const startSpan = (name, options) => {
    spans.push(new ObservedSpan(name, options, spans.length + 1))
    return spans.at(-1)
  }
  return { spans, tracerProvider: { getTracer: () => ({ startSpan }) } }
}

/** The spans of a run of records, in the order of their starts. `options` are those of `createPlugin`. */
export function observe(records, options = {}) {
  const { spans, tracerProvider } = observer()
  const surroundings = { env: {}, home: '/nonexistent', isReplay: true }
  const plugin = createPluginIn({ host: 'my-agent', tracerProvider, ...options }, surroundings)
  for (const { hook, payload, ...meta } of records) {
    plugin.on(hook, payload, meta)
    for (const span of spans) span.settle('later')
  }
  return spans
}

/** The records of a bundled recording. */
export function recording(name) {
  const lines = readFileSync(new URL(`../fixtures/${name}`, import.meta.url), 'utf8').split('\n')
  return lines.filter(line => line !== '').map(line => JSON.parse(line)).filter(({ hook }) => hook !== undefined)
}
