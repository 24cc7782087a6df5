/**
 * `hookspan/hooks/opencode`: guards in opencode.
 *
 * Measured with opencode 1.18.33: an error thrown before a tool becomes the result for the model. An error thrown after a tool
 * makes the tool fail. opencode waits for a plugin without a timeout.
 */
import { idOf, isArray, peek, textOf } from '../../contract/foreign.ts'
import { plainCopy } from '../../guards/frozen-copy.ts'
import type { Capabilities, ControlHooks, HookIds, ModelMessage, Phase } from '../../guards/index.ts'
import { HostHooks, type ToolArguments, type ToolCall, toolCallOf } from '../../guards/index.ts'
import { type AttachOptions, runningPlugin } from '../attach.ts'
import {
  injectedTexts,
  isAllText,
  isText,
  listOf,
  replaceFields,
  textFor,
  wholeText,
  withText,
} from '../base/guard-values.ts'
import { LimitedMap } from '../base/limited-map.ts'
import { type PluginInput, screenReporter } from './types.ts'

export type { AttachOptions } from '../attach.ts'

export type { Client, PluginInput } from './types.ts'

const HOST = 'opencode'
const SESSIONS_LIMIT = 200

/**
 * Decisions that opencode accepts from hooks. A plugin cannot ask the user: `ask` becomes a block, with a notice. A rewrite of an
 * answer changes only the text. Failed tools are not passed to plugins.
 */
export const ABLE: Capabilities = {
  beforeTurn: ['rewrite', 'inject'],
  beforeModel: ['rewrite', 'inject'],
  afterModel: ['rewrite'],
  beforeTool: ['block', 'rewrite'],
  afterTool: ['block', 'rewrite', 'inject'],
}

/** A hook function called by opencode. */
export type Listener = (input: unknown, output?: unknown) => Promise<void>

/** The hooks of a plugin, by name. */
export type GuardedHooks = Readonly<Record<string, Listener>>

/** A plugin function. */
export type GuardPlugin = (input?: PluginInput) => Promise<GuardedHooks>

/**
 * Returns a plugin that runs guards in opencode. It works beside hookspan's own plugin, in any load order. The plugin's file must
 * export nothing else: opencode calls every export.
 *
 * @example
 * // ~/.config/opencode/plugins/guards.js
 * import { attachHooks } from 'hookspan/hooks/opencode'
 * import { hooks } from '/home/me/guards/hooks.js'
 * export const Guards = attachHooks(hooks)
 */
export function attachHooks(hooks: ControlHooks, options: AttachOptions = {}): GuardPlugin {
  const own = { ...options, host: HOST, hooks, capabilities: ABLE, plugin: () => runningPlugin(HOST) }
  let asked: HostHooks | undefined
  return input => {
    // Created once, so that unsupported decisions are reported once: opencode runs an instance of each plugin for each directory.
    asked ??= new HostHooks({ report: screenReporter(input?.client), ...own })
    return Promise.resolve(new OpencodeHooks(asked, textOf(peek(input, 'directory'))).listeners())
  }
}

class OpencodeHooks {
  readonly #hooks: HostHooks
  readonly #directory: string | undefined
  /** System prompt text, by session. It is the same for all requests of the turn, so that the provider's cache stays valid. */
  readonly #turnTexts = new LimitedMap<string, readonly string[]>(SESSIONS_LIMIT)
  readonly #requestTexts = new LimitedMap<string, readonly string[]>(SESSIONS_LIMIT)

  constructor(hooks: HostHooks, directory: string | undefined) {
    this.#hooks = hooks
    this.#directory = directory
  }

  /** All handlers modify objects in place: opencode itself would not see a replaced object, only other plugins. */
  listeners(): GuardedHooks {
    const found: Record<string, Listener> = {}
    const on = (phase: Phase, name: string, act: Listener): void => {
      if (!this.#hooks.handles(phase)) return
      found[name] = (input, output) => {
        const blocked = (reason: string): void => {
          if (phase === 'afterTool') setResult(output as Holder, reason)
        }
        return this.#hooks.guard<void>(phase, () => act.call(this, input, output), blocked)
      }
    }
    on('beforeTurn', 'chat.message', this.#beforeTurn)
    on('beforeModel', 'experimental.chat.messages.transform', this.#beforeModel)
    on('afterModel', 'experimental.text.complete', this.#afterModel)
    on('afterTool', 'tool.execute.after', this.#afterTool)
    if (this.#hooks.handles('beforeTool'))
      found['tool.execute.before'] = (input, output) => this.#beforeTool(input, output)
    if (this.#hooks.handles('beforeTurn') || this.#hooks.handles('beforeModel'))
      found['experimental.chat.system.transform'] = (input, output) => Promise.resolve(this.#addSystem(input, output))
    found['event'] = input => {
      const event = peek(input, 'event')
      if (peek(event, 'type') === 'session.idle') this.#endTurn(idsOf(peek(event, 'properties')))
      return Promise.resolve()
    }
    return found
  }

  async #beforeTurn(input: unknown, output: unknown): Promise<void> {
    const ids = idsOf(input)
    const parts = peek(output, 'parts')
    this.#endTurn(ids)
    const typed = typedParts(parts)
    const prompt = typed.map(part => String(part['text'])).join('\n')
    const { isRewritten, value, injected } = await this.#hooks.run('beforeTurn', ids, { prompt })
    const user = injectedTexts('user', injected)
    const isTyped = typedParts(parts).length > 0
    if (isTyped && (isRewritten || user.length > 0)) replacePrompt(parts, [value, ...user].join('\n\n'))
    this.#turnTexts.set(ids.sessionId ?? '', [...injectedTexts('system', injected), ...(isTyped ? [] : user)])
  }

  async #beforeModel(_input: unknown, output: unknown): Promise<void> {
    const messages = peek(output, 'messages')
    const ids = { sessionId: idOf(peek(peek(listOf(messages)[0], 'info'), 'sessionID')) }
    const places = textPlaces(messages)
    const seen = places.map(place => ({ role: place.role, text: textAt(place) }))
    const outcome = await this.#hooks.run('beforeModel', ids, { model: undefined, messages: seen })
    places.forEach((place, at) => {
      const text = outcome.value[at]?.text
      if (text !== undefined && text !== textAt(place)) place.holder[place.key] = text
    })
    const user = injectedTexts('user', outcome.injected)
    const last = places.findLast(({ role }) => role === 'user')
    if (last !== undefined && user.length > 0) last.holder[last.key] = [textAt(last), ...user].join('\n\n')
    const system = [...injectedTexts('system', outcome.injected), ...(last === undefined ? user : [])]
    this.#requestTexts.set(ids.sessionId ?? '', system)
  }

  #addSystem(input: unknown, output: unknown): void {
    const session = idOf(peek(input, 'sessionID'))
    const system = peek(output, 'system')
    // Internal requests of opencode have no session.
    if (session === undefined || !Array.isArray(system)) return
    system.push(...(this.#turnTexts.get(session) ?? []), ...(this.#requestTexts.get(session) ?? []))
    this.#requestTexts.delete(session)
  }

  async #afterModel(input: unknown, output: unknown): Promise<void> {
    const text = String(peek(output, 'text') ?? '')
    const seen = { model: undefined, text, toolCalls: [], attempt: 0 }
    const { isRewritten, value } = await this.#hooks.run('afterModel', idsOf(input), seen)
    if (isRewritten) Object.assign(output as object, { text: value })
  }

  /** Throws only to block: the model receives the error as the result. All other errors are caught. */
  async #beforeTool(input: unknown, output: unknown): Promise<void> {
    const judge = async (): Promise<string | undefined> => {
      const args = peek(output, 'args') as Record<string, unknown>
      const tool = this.#toolOf(input, args)
      const outcome = await this.#hooks.run('beforeTool', { ...idsOf(input), toolCallId: tool.id }, { tool })
      if (outcome.decision === 'block') return outcome.reason ?? ''
      if (outcome.isRewritten) replaceFields(args, outcome.value)
      return undefined
    }
    const reason = await this.#hooks.guard<string | undefined>('beforeTool', judge, said => said)
    if (reason !== undefined) throw new Error(reason)
  }

  async #afterTool(input: unknown, output: unknown): Promise<void> {
    const tool = this.#toolOf(input, peek(input, 'args'))
    const seen = { tool, result: toolResultOf(output), isError: false, attempt: 0 }
    const outcome = await this.#hooks.run('afterTool', { ...idsOf(input), toolCallId: tool.id }, seen)
    const held = output as Holder
    if (outcome.decision === 'block') return setResult(held, outcome.reason ?? '')
    if (outcome.isRewritten) setResult(held, outcome.value)
    for (const { text } of outcome.injected) appendToResult(held, text)
  }

  #toolOf(input: unknown, args: unknown): ToolCall {
    const [name, id] = [String(peek(input, 'tool')), textOf(peek(input, 'callID'))]
    return toolCallOf({ name, arguments: (args ?? {}) as ToolArguments, id, cwd: this.#directory })
  }

  #endTurn(ids: HookIds): void {
    this.#hooks.endTurn(ids)
    this.#turnTexts.delete(ids.sessionId ?? '')
    this.#requestTexts.delete(ids.sessionId ?? '')
  }
}

/** Without a turn id, the trace uses the session's open turn: not every hook of opencode has a common turn id. */
function idsOf(input: unknown): HookIds {
  return { sessionId: idOf(peek(input, 'sessionID')) }
}

type Holder = Record<string, unknown>

interface TextPlace {
  readonly role: ModelMessage['role']
  readonly holder: Holder
  readonly key: string
}

function textAt({ holder, key }: TextPlace): string {
  return String(holder[key])
}

/** The text typed by the user. opencode marks added text, such as contents of files, as synthetic. */
function typedParts(parts: unknown): Holder[] {
  return listOf(parts).filter((part): part is Holder => isText(part) && peek(part, 'synthetic') !== true)
}

function replacePrompt(parts: unknown, text: string): void {
  const [first, ...others] = typedParts(parts)
  if (first === undefined || !Array.isArray(parts)) return
  first['text'] = text
  for (const other of others) parts.splice(parts.indexOf(other), 1)
}

function textPlaces(messages: unknown): TextPlace[] {
  return listOf(messages).flatMap(message => {
    const role = peek(peek(message, 'info'), 'role') === 'assistant' ? 'assistant' : 'user'
    return listOf(peek(message, 'parts')).flatMap((part): TextPlace[] => {
      if (isText(part)) return [{ role, holder: part as Holder, key: 'text' }]
      const state = peek(part, 'state')
      const key = typeof peek(state, 'output') === 'string' ? 'output' : 'error'
      return typeof peek(state, key) === 'string' ? [{ role: 'tool', holder: state as Holder, key }] : []
    })
  })
}

/** Returns a tool's result: `output` of opencode's own tools, `content` of tools of MCP servers. */
function toolResultOf(output: unknown): unknown {
  const content = peek(output, 'content')
  if (!isArray(content)) return peek(output, 'output')
  return isAllText(content) ? wholeText(content) : content
}

function setResult(output: Holder, value: unknown): void {
  const text = textFor(value)
  if (!isArray(output['content'])) output['output'] = text
  else output['content'] = isArray(value) ? plainCopy(value) : withText(output['content'], text)
}

function appendToResult(output: Holder, text: string): void {
  if (isArray(output['content'])) output['content'] = [...output['content'], { type: 'text', text }]
  else output['output'] = `${output['output'] ?? ''}\n\n${text}`
}
