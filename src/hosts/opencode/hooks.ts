/**
 * `hookspan/hooks/opencode`: hooks that act in opencode. Measured with opencode 1.18.33: what a plugin throws before a tool is what
 * the model gets in its place, what it throws after one makes an error of it, and one that hangs is waited for as long as it takes.
 */
import { idOf, peek, textOf } from '../../contract/foreign.ts'
import {
  type Able,
  type ControlHooks,
  type HookIds,
  HostHooks,
  type HostHooksOptions,
  type Injection,
  type Phase,
  type ToolArguments,
  type ToolCall,
  toolCallOf,
} from '../../hooks/index.ts'
import { runningPlugin } from '../attach.ts'
import { LimitedMap } from '../base/limited-map.ts'
import {
  addToResult,
  become,
  resultSeen,
  retype,
  sessionOf,
  setResult,
  textAt,
  textPlaces,
  typedParts,
} from './hook-shapes.ts'
import { screenOf } from './screen.ts'
import type { PluginInput } from './types.ts'

export type { Client, PluginInput } from './types.ts'

const HOST = 'opencode'
const SESSIONS_LIMIT = 200

/**
 * What a hook can decide in opencode. A plugin cannot ask a person: `ask` blocks, and says so. What it makes of an answer is of the
 * text alone; a tool that failed is not shown to it.
 */
export const ABLE: Able = {
  beforeTurn: ['rewrite', 'inject'],
  beforeModel: ['rewrite', 'inject'],
  afterModel: ['rewrite'],
  beforeTool: ['block', 'rewrite'],
  afterTool: ['block', 'rewrite', 'inject'],
}

/** How long the hooks may take, and where lines for the person go. */
export type AttachOptions = Pick<HostHooksOptions, 'limitMillis' | 'report'>

/** What opencode calls. */
export type Listener = (input: unknown, output?: unknown) => Promise<void>

/** What a plugin gives opencode. */
export type GuardedHooks = Readonly<Record<string, Listener>>

/** A plugin, as opencode calls it. */
export type GuardPlugin = (input?: PluginInput) => Promise<GuardedHooks>

/**
 * A plugin that has hooks asked in opencode; beside hookspan's own plugin, whichever of both is loaded first. A file of a plugin exports
 * nothing else: opencode calls every export.
 *
 * @example
 * // ~/.config/opencode/plugins/guards.js
 * import { attachHooks } from 'hookspan/hooks/opencode'
 * import { hooks } from '/home/me/guards/hooks.js'
 * export const Guards = attachHooks(hooks)
 */
export function attachHooks(hooks: ControlHooks, options: AttachOptions = {}): GuardPlugin {
  let asked: HostHooks | undefined
  return input => {
    // opencode runs an instance of each plugin for each directory; what cannot be done is said once.
    asked ??= new HostHooks({
      report: screenOf(input?.client),
      ...options,
      host: HOST,
      hooks,
      able: ABLE,
      plugin: () => runningPlugin(HOST),
    })
    return Promise.resolve(new OpencodeHooks(asked, textOf(peek(input, 'directory'))).listeners())
  }
}

class OpencodeHooks {
  readonly #hooks: HostHooks
  readonly #directory: string | undefined
  /** What is to be in the system prompt, for all requests of the turn, so that the provider's cache is of use. */
  readonly #ofTurn = new LimitedMap<string, readonly string[]>(SESSIONS_LIMIT)
  /** The same for the request that is being made. */
  readonly #ofRequest = new LimitedMap<string, readonly string[]>(SESSIONS_LIMIT)

  constructor(hooks: HostHooks, directory: string | undefined) {
    this.#hooks = hooks
    this.#directory = directory
  }

  /** Everything is changed where it is: another object would be seen by other plugins alone. */
  listeners(): GuardedHooks {
    const found: Record<string, Listener> = {}
    const on = (
      phase: Phase,
      name: string,
      act: (input: unknown, output: unknown) => Promise<void>,
      blocked: (reason: string, output: unknown) => void = () => undefined,
    ): void => {
      if (!this.#hooks.handles(phase)) return
      found[name] = (input, output) =>
        this.#hooks.guard<void>(
          phase,
          () => act(input, output),
          reason => blocked(reason, output),
        )
    }
    on('beforeTurn', 'chat.message', (input, output) => this.#prompted(input, output))
    on('beforeModel', 'experimental.chat.messages.transform', (_, output) => this.#asksModel(output))
    on('afterModel', 'experimental.text.complete', (input, output) => this.#answers(input, output))
    on('afterTool', 'tool.execute.after', (input, output) => this.#returns(input, output), withhold)
    if (this.#hooks.handles('beforeTool')) found['tool.execute.before'] = (input, output) => this.#calls(input, output)
    if (this.#hooks.handles('beforeTurn') || this.#hooks.handles('beforeModel'))
      found['experimental.chat.system.transform'] = (input, output) => Promise.resolve(this.#addSystem(input, output))
    found['event'] = input => Promise.resolve(this.#heard(peek(input, 'event')))
    return found
  }

  async #prompted(input: unknown, output: unknown): Promise<void> {
    const ids = idsOf(input)
    const parts = peek(output, 'parts')
    this.#end(ids)
    const prompt = typedParts(parts)
      .map(part => String(part['text']))
      .join('\n')
    const { isRewritten, value, injected } = await this.#hooks.run('beforeTurn', ids, { prompt })
    const user = textsFor('user', injected)
    const isTyped = typedParts(parts).length > 0
    if (isTyped && (isRewritten || user.length > 0)) retype(parts, [value, ...user].join('\n\n'))
    this.#ofTurn.set(ids.sessionId ?? '', [...textsFor('system', injected), ...(isTyped ? [] : user)])
  }

  async #asksModel(output: unknown): Promise<void> {
    const messages = peek(output, 'messages')
    const ids = { sessionId: idOf(sessionOf(messages)) }
    const places = textPlaces(messages)
    const seen = places.map(place => ({ role: place.role, text: textAt(place) }))
    const outcome = await this.#hooks.run('beforeModel', ids, { model: undefined, messages: seen })
    places.forEach((place, at) => {
      const text = outcome.value[at]?.text
      if (text !== undefined && text !== textAt(place)) place.holder[place.key] = text
    })
    const user = textsFor('user', outcome.injected)
    const last = places.findLast(({ role }) => role === 'user')
    if (last !== undefined && user.length > 0) last.holder[last.key] = [textAt(last), ...user].join('\n\n')
    const system = [...textsFor('system', outcome.injected), ...(last === undefined ? user : [])]
    this.#ofRequest.set(ids.sessionId ?? '', system)
  }

  #addSystem(input: unknown, output: unknown): void {
    const session = idOf(peek(input, 'sessionID'))
    const system = peek(output, 'system')
    // Requests of opencode's own name no session.
    if (session === undefined || !Array.isArray(system)) return
    system.push(...(this.#ofTurn.get(session) ?? []), ...(this.#ofRequest.get(session) ?? []))
    this.#ofRequest.delete(session)
  }

  async #answers(input: unknown, output: unknown): Promise<void> {
    const text = String(peek(output, 'text') ?? '')
    const seen = { model: undefined, text, toolCalls: [], attempt: 0 }
    const { isRewritten, value } = await this.#hooks.run('afterModel', idsOf(input), seen)
    if (isRewritten) Object.assign(output as object, { text: value })
  }

  /** What is thrown is what the model gets: it is thrown where nothing catches it, and nothing else is. */
  async #calls(input: unknown, output: unknown): Promise<void> {
    const judge = async (): Promise<string | undefined> => {
      const args = peek(output, 'args') as Record<string, unknown>
      const tool = this.#toolOf(input, args)
      const outcome = await this.#hooks.run('beforeTool', { ...idsOf(input), toolCallId: tool.id }, { tool })
      if (outcome.decision === 'block') return outcome.reason ?? ''
      if (outcome.isRewritten) become(args, outcome.value)
      return undefined
    }
    const reason = await this.#hooks.guard<string | undefined>('beforeTool', judge, said => said)
    if (reason !== undefined) throw new Error(reason)
  }

  async #returns(input: unknown, output: unknown): Promise<void> {
    const tool = this.#toolOf(input, peek(input, 'args'))
    const seen = { tool, result: resultSeen(output), isError: false, attempt: 0 }
    const outcome = await this.#hooks.run('afterTool', { ...idsOf(input), toolCallId: tool.id }, seen)
    const held = output as Record<string, unknown>
    if (outcome.decision === 'block') withhold(outcome.reason ?? '', output)
    else {
      if (outcome.isRewritten) setResult(held, outcome.value)
      for (const { text } of outcome.injected) addToResult(held, text)
    }
  }

  #toolOf(input: unknown, args: unknown): ToolCall {
    return toolCallOf({
      name: String(peek(input, 'tool')),
      arguments: (args ?? {}) as ToolArguments,
      id: textOf(peek(input, 'callID')),
      cwd: this.#directory,
    })
  }

  #heard(event: unknown): void {
    if (peek(event, 'type') === 'session.idle') this.#end(idsOf(peek(event, 'properties')))
  }

  #end(ids: HookIds): void {
    this.#hooks.endTurn(ids)
    this.#ofTurn.delete(ids.sessionId ?? '')
    this.#ofRequest.delete(ids.sessionId ?? '')
  }
}

/** Turns have no id that every hook of opencode names: the trace has the one that is open. */
function idsOf(input: unknown): HookIds {
  return { sessionId: idOf(peek(input, 'sessionID')) }
}

function textsFor(role: Injection['role'], injected: readonly Injection[]): string[] {
  return injected.flatMap(each => (each.role === role ? [each.text] : []))
}

function withhold(reason: string, output: unknown): void {
  setResult(output as Record<string, unknown>, reason)
}
