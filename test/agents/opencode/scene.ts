import type { HostEvent } from '../../../src/agents/host-event.ts'

const STARTED_AT = 1_795_000_000_000
const STEP_MILLIS = 10

const MODEL = { modelID: 'fake-1', providerID: 'fake' }
const PARAMS = { id: 'fake-1', providerID: 'fake', api: { url: 'http://model.test/v1' } }
const TOKENS = { total: 137, input: 100, output: 14, reasoning: 3, cache: { read: 20, write: 0 } }

/** What opencode tells of sessions, one call for each thing that happens, in the words of the real captures. */
export class Scene {
  readonly events: HostEvent[] = []
  #at = STARTED_AT

  /** An event as it comes, ten milliseconds after the one before. */
  tell(event: string, data: unknown, output?: unknown): this {
    this.#at += STEP_MILLIS
    this.events.push(output === undefined ? { event, at: this.#at, data } : { event, at: this.#at, data, output })
    return this
  }

  bus(type: string, properties: Readonly<Record<string, unknown>>): this {
    return this.tell(`event.${type}`, properties)
  }

  later(millis: number): this {
    this.#at += millis
    return this
  }

  created(sessionID: string, info: Readonly<Record<string, unknown>> = {}): this {
    return this.bus('session.created', { sessionID, info: { id: sessionID, title: 'New session', ...info } })
  }

  titled(sessionID: string, title: string): this {
    return this.bus('session.updated', { sessionID, info: { id: sessionID, title } })
  }

  /** The user says something; nothing is at work on it yet. */
  said(sessionID: string, id: string, text: string): this {
    const message = { id, role: 'user', sessionID, agent: 'build', model: MODEL }
    const parts = [{ id: `${id}:p`, messageID: id, sessionID, type: 'text', text }]
    return this.tell('chat.message', { sessionID, model: MODEL }, { message, parts }).bus('message.updated', {
      sessionID,
      info: message,
    })
  }

  /** What is said is taken up: the first step begins. */
  prompt(sessionID: string, id: string, text: string): this {
    return this.said(sessionID, id, text).busy(sessionID)
  }

  busy(sessionID: string): this {
    return this.bus('session.status', { sessionID, status: { type: 'busy' } })
  }

  idle(sessionID: string): this {
    return this.bus('session.status', { sessionID, status: { type: 'idle' } }).bus('session.idle', { sessionID })
  }

  params(sessionID: string, userId: string, agent = 'build'): this {
    const data = { sessionID, agent, model: PARAMS, message: { id: userId, role: 'user', sessionID } }
    return this.tell('chat.params', data, { maxOutputTokens: 4096, options: {} })
  }

  /** An assistant message begins, or is told again with more in it. */
  assistant(sessionID: string, userId: string, id: string, info: Readonly<Record<string, unknown>> = {}): this {
    const time = { created: this.#at }
    return this.bus('message.updated', {
      sessionID,
      info: { id, sessionID, parentID: userId, role: 'assistant', time, ...MODEL, ...info },
    })
  }

  /** A step begins, and its model request. */
  step(sessionID: string, userId: string, id: string, info: Readonly<Record<string, unknown>> = {}): this {
    return this.assistant(sessionID, userId, id, info).params(sessionID, userId)
  }

  part(sessionID: string, messageID: string, part: Readonly<Record<string, unknown>>): this {
    return this.bus('message.part.updated', { sessionID, part: { sessionID, messageID, ...part } })
  }

  text(sessionID: string, messageID: string, text: string): this {
    return this.part(sessionID, messageID, { id: `${messageID}:t`, type: 'text', text })
  }

  tool(
    sessionID: string,
    messageID: string,
    callID: string,
    state: Readonly<Record<string, unknown>>,
    tool = 'bash',
  ): this {
    return this.part(sessionID, messageID, { id: `${messageID}:${callID}`, type: 'tool', tool, callID, state })
  }

  runs(sessionID: string, messageID: string, callID: string, tool = 'bash', input: object = { command: 'ls' }): this {
    return this.tool(sessionID, messageID, callID, { status: 'pending', input: {} }, tool).tool(
      sessionID,
      messageID,
      callID,
      { status: 'running', input, time: { start: this.#at + 2 * STEP_MILLIS } },
      tool,
    )
  }

  ran(sessionID: string, messageID: string, callID: string, tool = 'bash', output = 'fine'): this {
    return this.tool(sessionID, messageID, callID, { status: 'completed', input: {}, output }, tool)
  }

  /** The end of a step, as often as it is told. */
  finished(sessionID: string, userId: string, id: string, finish = 'stop'): this {
    const completed = this.#at
    return this.part(sessionID, id, { id: `${id}:f`, type: 'step-finish', reason: finish, tokens: TOKENS })
      .assistant(sessionID, userId, id, { finish, tokens: TOKENS })
      .assistant(sessionID, userId, id, { finish, tokens: TOKENS, time: { created: completed, completed } })
  }

  /** A step that is an answer. */
  answers(sessionID: string, userId: string, id: string, text: string): this {
    return this.step(sessionID, userId, id).text(sessionID, id, text).finished(sessionID, userId, id)
  }

  asked(sessionID: string, id: string, callID: string): this {
    const tool = { messageID: 'a1', callID }
    return this.bus('permission.asked', { id, sessionID, permission: 'bash', patterns: ['ls'], metadata: {}, tool })
  }

  replied(sessionID: string, requestID: string, reply: string): this {
    return this.bus('permission.replied', { sessionID, requestID, reply })
  }
}

/** Everything that a session can tell, once: the captures have most of it many times. */
export const everything: readonly HostEvent[] = new Scene()
  .created('s')
  .prompt('s', 'u1', 'all')
  .params('s', 'u1', 'title')
  .step('s', 'u1', 'a1')
  .bus('session.status', { sessionID: 's', status: { type: 'retry', attempt: 1, message: 'on fire', next: 1 } })
  .busy('s')
  .params('s', 'u1')
  .runs('s', 'a1', 'c1')
  .asked('s', 'p1', 'c1')
  .runs('s', 'a1', 'c2', 'task', { subagent_type: 'general', prompt: 'look' })
  .created('k', { parentID: 's', agent: 'general' })
  .tool('s', 'a1', 'c2', { status: 'running', input: {}, metadata: { sessionId: 'k' } }, 'task')
  .prompt('k', 'v1', 'look')
  .replied('s', 'p1', 'once')
  .titled('s', 'All')
  .answers('k', 'v1', 'b1', 'Found.')
  .idle('k')
  .ran('s', 'a1', 'c1')
  .ran('s', 'a1', 'c2', 'task')
  .finished('s', 'u1', 'a1', 'tool-calls')
  .said('s', 'u2', 'and this')
  .answers('s', 'u1', 'a2', 'All of it.')
  .answers('s', 'u2', 'a3', 'And that.')
  .idle('s')
  .prompt('s', 'u3', 'stop')
  .step('s', 'u3', 'a4')
  .bus('session.error', { sessionID: 's', error: { name: 'MessageAbortedError', data: {} } })
  .idle('s')
  .assistant('s', 'u3', 'a4', { time: { created: 1, completed: 2 } })
  .idle('s')
  .tell('dispose', {}).events
