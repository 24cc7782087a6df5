/** Of each tool result, question and answer. */
const CONTENT_CHARS = 4096
const TOOLS = 18
const LINE = 'src/session.ts: the login test compares seconds with "milliseconds", since the change of yesterday.\n'
const TEXT = LINE.repeat(CONTENT_CHARS / LINE.length + 1)

export const SPANS_PER_TURN = TOOLS + 2
export const HOOKS_PER_SPAN = 2

/** Sessions side by side, each at its own place in a turn: every call of `next` tells one hook of the next session. */
export class Sessions {
  #plugin
  #lanes
  #next = 0
  /** Spans. */
  ended = 0

  constructor(plugin, count) {
    this.#plugin = plugin
    this.#lanes = Array.from({ length: count }, (_, lane) => this.#turns(lane))
    // Their turns must not all end in the same moment.
    for (const [lane, turns] of this.#lanes.entries()) for (let step = 0; step < lane % 40; step++) turns.next()
  }

  next() {
    const lane = this.#lanes[this.#next]
    this.#next = (this.#next + 1) % this.#lanes.length
    lane.next()
  }

  *#turns(lane) {
    for (let turn = 0; ; turn++) yield* this.#turn({ session_id: `s${lane}`, turn_id: `s${lane}.t${turn}` })
  }

  *#turn(ids) {
    const model = 'claude-sonnet-4-6'
    yield this.#start('on_session_start', { ...ids, model, platform: 'cli' })
    yield this.#start('pre_llm_call', { ...ids, model, user_message: content() })
    for (let tool = 0; tool < TOOLS; tool++) {
      const call = { ...ids, tool_name: 'terminal', tool_call_id: `${ids.turn_id}.c${tool}` }
      yield this.#start('pre_tool_call', { ...call, args: { command: 'npm test -- login' } })
      yield this.#end('post_tool_call', { ...call, status: 'ok', result: content() })
    }
    yield this.#end('post_llm_call', { ...ids, model, assistant_response: content() })
    yield this.#end('on_session_end', { ...ids, completed: true })
  }

  #start(hook, payload) {
    void this.#plugin.on(hook, payload)
  }

  #end(hook, payload) {
    this.ended++
    void this.#plugin.on(hook, payload)
  }
}

let ordinal = 0

/** Never the same twice, as what tools print. */
function content() {
  return `${ordinal++} ${TEXT}`.slice(0, CONTENT_CHARS)
}
