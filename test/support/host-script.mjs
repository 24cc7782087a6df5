import { pick, wholeNumber } from './seeded.mjs'

/**
 * What an agent does, as lanes: a lane is one session, a generator of moves in order. A move is a hook to fire
 * (`{hook, key, payload}`), a child to start (`{begin: lane}`) or to wait for (`{await: lane}`), or a time in which
 * nothing happens (`{napMillis}`). `key` names the span that the hook starts or ends; the checker finds it again by
 * what the span carries: the turn's id, the model, the id of the tool call, the session of the child.
 */
export class HostScript {
  #random
  #name
  #contentChars
  #lanes = []
  #sessions = 0

  constructor({ random, name, sessions, contentChars }) {
    this.#random = random
    this.#name = name
    this.#contentChars = contentChars
    for (let index = 0; index < sessions; index++) this.#lanes.push(this.#newLane())
  }

  /** The next hook of any lane that is not waiting; undefined when all are. */
  next(now) {
    for (let tries = 0; tries < 20; tries++) {
      const lane = pick(this.#random, this.#lanes)
      if (lane.wakeAt > now || lane.awaits?.isOver === false) continue
      const hook = this.#advance(lane, now)
      if (hook !== undefined) return hook
    }
    return undefined
  }

  #advance(lane, now) {
    const { value: move, done } = lane.moves.next()
    if (done) {
      lane.isOver = true
      this.#lanes.splice(this.#lanes.indexOf(lane), 1, ...(lane.isChild ? [] : [this.#newLane()]))
    } else if (move.begin) this.#lanes.push(move.begin)
    else if (move.await) lane.awaits = move.await
    else if (move.napMillis) lane.wakeAt = now + move.napMillis
    else return move
    return undefined
  }

  #newLane() {
    const id = `${this.#name}.s${this.#sessions++}`
    return { moves: this.#session(id), wakeAt: 0, isOver: false, isChild: false }
  }

  *#session(session) {
    const turns = wholeNumber(this.#random, 1, 3)
    for (let turn = 0; turn < turns; turn++) yield* this.#turn(session, `${session}.t${turn}`, 1)
    yield { hook: 'on_session_finalize', key: '', payload: { session_id: session } }
  }

  *#turn(session, turn, depth) {
    const ids = { session_id: session, turn_id: turn }
    const random = this.#random
    const hook = (name, key, payload = {}) => ({ hook: name, key, payload: { ...ids, ...payload } })
    yield hook('on_session_start', `session ${turn}`, { platform: 'cli', model: 'qwen3' })
    yield hook('pre_llm_call', `llm ${turn}`, { model: 'qwen3', user_message: `do ${turn}` })
    if (random() < 0.2) yield* this.#sideCall(hook, `${turn}.aux`)
    const requests = wholeNumber(random, 1, 3)
    for (let request = 1; request <= requests; request++) {
      yield* this.#request(hook, `${turn}.r${request}`, request)
      yield* this.#tools(hook, ids, `${turn}.r${request}`, depth)
    }
    if (random() < 0.1) yield* this.#interrupted(hook, turn)
    else {
      yield hook('post_llm_call', `llm ${turn}`, { assistant_response: `done ${turn}` })
      yield hook('on_session_end', `session ${turn}`, { completed: true })
    }
  }

  /** The end of a turn that ends what is open below it, too. */
  *#interrupted(hook, turn) {
    yield hook('pre_tool_call', `tool ${turn}.cut`, { tool_name: 'terminal', tool_call_id: `${turn}.cut` })
    const end = hook('on_session_end', `session ${turn}`, { interrupted: true })
    yield { ...end, alsoEnds: [`tool ${turn}.cut`, `llm ${turn}`] }
  }

  *#sideCall(hook, model) {
    yield hook('pre_auxiliary_call', `auxiliary ${model}`, { model, aux_task: 'title', api_request_id: model })
    yield hook('post_auxiliary_call', `auxiliary ${model}`, { model, aux_task: 'title', api_request_id: model })
  }

  *#request(hook, model, ordinal) {
    const failures = this.#random() < 0.1 ? 1 : 0
    for (let attempt = 0; attempt <= failures; attempt++) {
      const name = `${model}.a${attempt}`
      const about = { model: name, api_request_id: model, api_call_count: ordinal, retry_count: attempt }
      yield hook('pre_api_request', `api ${name}`, { ...about, provider: 'openai', message_count: 3 })
      if (this.#random() < 0.1) yield { napMillis: wholeNumber(this.#random, 20, 400) }
      const failure = { status_code: 503, retryable: true, error: { type: 'Overloaded', message: 'try again' } }
      if (attempt < failures) yield hook('api_request_error', `api ${name}`, { ...about, ...failure })
    }
    const name = `${model}.a${failures}`
    const usage = { prompt_tokens: 100, completion_tokens: 20, total_tokens: 120 }
    const about = { model: name, api_request_id: model, api_call_count: ordinal, retry_count: failures }
    yield hook('post_api_request', `api ${name}`, { ...about, finish_reason: 'stop', usage })
  }

  *#tools(hook, ids, prefix, depth) {
    const tools = Array.from({ length: wholeNumber(this.#random, 0, 3) }, (_, index) => `${prefix}.c${index}`)
    const isParallel = this.#random() < 0.5
    if (!isParallel) {
      for (const id of tools) {
        yield* this.#startTool(hook, ids, id, depth)
        yield this.#endTool(hook, id)
      }
      return
    }
    for (const id of tools) yield* this.#startTool(hook, ids, id, 0)
    for (const id of tools.reverse()) yield this.#endTool(hook, id)
  }

  *#startTool(hook, ids, id, depth) {
    const delegates = depth > 0 && this.#random() < 0.2
    const tool_name = delegates ? 'delegate_task' : pick(this.#random, ['terminal', 'read_file', 'web_search'])
    const args = { command: `work on ${id}` }
    yield hook('pre_tool_call', `tool ${id}`, { tool_name, tool_call_id: id, args })
    if (this.#random() < 0.15) yield* this.#approval(hook, id)
    if (this.#random() < 0.1) yield { napMillis: wholeNumber(this.#random, 100, 800) }
    if (delegates) yield* this.#delegation(ids, id, depth - 1)
  }

  #endTool(hook, id) {
    const result = `${id} ${'x'.repeat(this.#contentChars)}`
    return hook('post_tool_call', `tool ${id}`, { tool_call_id: id, status: 'ok', result })
  }

  *#approval(hook, id) {
    const about = { tool_call_id: id, pattern_key: 'shell' }
    yield hook('pre_approval_request', `approval ${id}`, { ...about, command: 'rm -r build' })
    yield hook('post_approval_response', `approval ${id}`, { ...about, choice: 'once' })
  }

  *#delegation({ session_id, turn_id }, id, depth) {
    const child = `${id}.child`
    const about = { parent_session_id: session_id, parent_turn_id: turn_id, child_session_id: child, tool_call_id: id }
    const hook = (name, payload) => ({ hook: name, key: `subagent ${child}`, payload: { ...about, ...payload } })
    const lane = { moves: this.#turn(child, `${child}.t0`, depth), wakeAt: 0, isOver: false, isChild: true }
    yield hook('subagent_start', { child_role: 'helper', child_goal: 'help' })
    yield { begin: lane }
    yield { await: lane }
    yield hook('subagent_stop', { child_role: 'helper', child_status: 'completed' })
  }
}

/** One turn with so many tools that nothing waits for. */
export function* burst(name, tools, contentChars) {
  const turn = `${name}.burst`
  const ids = { session_id: name, turn_id: turn }
  const result = 'x'.repeat(contentChars)
  yield { hook: 'on_session_start', key: `session ${turn}`, payload: { ...ids, model: 'qwen3' } }
  yield { hook: 'pre_llm_call', key: `llm ${turn}`, payload: { ...ids, model: 'qwen3', user_message: 'hurry' } }
  for (let index = 0; index < tools; index++) {
    const call = { ...ids, tool_name: 'terminal', tool_call_id: `${turn}.c${index}` }
    yield { hook: 'pre_tool_call', key: `tool ${turn}.c${index}`, payload: call }
    yield { hook: 'post_tool_call', key: `tool ${turn}.c${index}`, payload: { ...call, status: 'ok', result } }
  }
  yield { hook: 'post_llm_call', key: `llm ${turn}`, payload: { ...ids, assistant_response: 'done' } }
  yield { hook: 'on_session_end', key: `session ${turn}`, payload: { ...ids, completed: true } }
}
