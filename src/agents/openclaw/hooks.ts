/**
 * `hookspan/hooks/openclaw`: guards in OpenClaw.
 *
 * Read from the documentation and the declarations of `openclaw@2026.9.6` (docs/plugins/hooks). The host is not imported.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { idOf, peek, pickFields, textOf } from '../../contract/foreign.ts'
import { plainCopy } from '../../guards/frozen-copy.ts'
import { toStandardError } from '../../guards/hook.ts'
import type { Capabilities, ControlHooks, HookIds, HostHooksOptions } from '../../guards/index.ts'
import { HostHooks, type Outcome, type ToolArguments, type ToolCall, toolCallOf } from '../../guards/index.ts'
import { runningPlugin } from '../attach.ts'
import { injectedBy, listOf, namedArguments, signalIn, textFor } from '../base/guard-values.ts'
import { LimitedMap } from '../base/limited-map.ts'
import { LIFELESS_MODES, mayReadConversation, type OpenClawApi, onAgentEvents } from './types.ts'

const HOST = 'openclaw'
/** Below the host's timeout of 15 s, after which it decides by itself. */
const LIMIT_MILLIS = 10_000
/** The host's display limits of an approval, characters. */
const TITLE_LIMIT = 80
const DESCRIPTION_LIMIT = 512

/**
 * Decisions that OpenClaw accepts from hooks. A rewritten result is only persisted: the current run continues with the original.
 * A turn is retried only if none of its tools can have changed anything.
 */
export const ABLE: Capabilities = {
  beforeTurn: ['block', 'inject'],
  afterTurn: ['retry'],
  beforeTool: ['block', 'rewrite', 'ask'],
  afterTool: ['rewrite'],
}

const RESULTS =
  'hook {hook} changes results in afterTool only where they are kept, which the next turn sees, and only if it answers at once'

/** The receiver of log lines for the user. */
export type OpenClawHooksOptions = Pick<HostHooksOptions, 'report'>

/** The part of the plugin API that guards use. */
export interface OpenClawControlApi extends Omit<OpenClawApi, 'on'> {
  on(hook: string, handler: (event: unknown, context: unknown) => unknown): unknown
}

/**
 * Attaches guards to OpenClaw. Call it in `register` of your own plugin.
 *
 * @example
 * export default {
 *   id: 'my-guards',
 *   name: 'My guards',
 *   register(api) {
 *     attachHooks(api, createHooks([noRm]))
 *   },
 * }
 */
export function attachHooks(api: OpenClawControlApi, hooks: ControlHooks, options: OpenClawHooksOptions = {}): void {
  if (LIFELESS_MODES.has(api.registrationMode)) return
  const { report = toStandardError } = options
  const plugin = () => runningPlugin(HOST)
  const host = new HostHooks({ report, host: HOST, hooks, capabilities: ABLE, limitMillis: LIMIT_MILLIS, plugin })
  new Handlers(host, report).listen(api)
  for (const hook of hooks.hooks)
    if (hook.phases.includes('afterTool')) report(`hookspan: ${HOST}: ${RESULTS.replace('{hook}', hook.name)}`)
}

/**
 * The state of a run, which the host may build, begin and end several times. `begun`: the outcome of `beforeTurn`, which runs
 * once even if the prompt is built several times.
 */
interface Run {
  begun?: Outcome<'beforeTurn'> | Promise<Outcome<'beforeTurn'>>
  revisions: number
}

interface Call {
  readonly ids: HookIds
  readonly tool: ToolCall
}

/** One handler for each hook of the host. No handler throws: the host would then block or continue by its own rules. */
class Handlers {
  readonly #hooks: HostHooks
  readonly #report: (line: string) => void
  readonly #runs = new LimitedMap<string, Run>(1000)
  /** Calls by session and call id: models of two sessions may use the same id. */
  readonly #calls = new LimitedMap<string, Call>(10_000)

  constructor(hooks: HostHooks, report: (line: string) => void) {
    this.#hooks = hooks
    this.#report = report
  }

  listen(api: OpenClawControlApi): void {
    const hooks = this.#hooks
    if (hooks.handles('beforeTurn') || hooks.handles('afterTurn')) this.#listenToConversation(api)
    if (hooks.handles('beforeTool') || hooks.handles('afterTool'))
      api.on('before_tool_call', (event, context) => this.#beforeTool(event, context))
    if (hooks.handles('afterTool')) api.on('tool_result_persist', (event, context) => this.#afterTool(event, context))
    onAgentEvents(api, event => {
      const phase = peek(peek(event, 'data'), 'phase')
      if (peek(event, 'stream') === 'lifecycle' && (phase === 'end' || phase === 'error'))
        hooks.endTurn(idsOf(event, {}))
    })
  }

  #listenToConversation(api: OpenClawControlApi): void {
    const { id = '' } = api
    if (!mayReadConversation(api, id)) {
      const key = `plugins.entries.${id}.hooks.allowConversationAccess`
      this.#report(`hookspan: ${HOST}: hooks are never asked in beforeTurn and afterTurn: set ${key} to true for that`)
      return
    }
    if (this.#hooks.handles('beforeTurn')) {
      api.on('before_prompt_build', (event, context) => this.#injectTexts(event, context))
      api.on('before_agent_run', (event, context) => this.#blockTurn(event, context))
    }
    if (this.#hooks.handles('afterTurn'))
      api.on('before_agent_finalize', (event, context) => this.#afterTurn(event, context))
  }

  async #injectTexts(event: unknown, context: unknown): Promise<object | undefined> {
    const { injected, decision } = await this.#beforeTurn(event, context)
    if (decision === 'block' || injected.length === 0) return undefined
    const texts = { appendSystemContext: injectedBy('system', injected), appendContext: injectedBy('user', injected) }
    return pickFields(texts, Object.keys(texts))
  }

  async #blockTurn(event: unknown, context: unknown): Promise<object | undefined> {
    const { decision, reason, detail } = await this.#beforeTurn(event, context)
    return decision === 'block' ? { outcome: 'block', reason: detail ?? reason, message: reason } : undefined
  }

  #beforeTurn(event: unknown, context: unknown): Outcome<'beforeTurn'> | Promise<Outcome<'beforeTurn'>> {
    const ids = idsOf(event, context)
    const run = this.#run(ids)
    const prompt = textOf(peek(event, 'currentUserMessage')) ?? textOf(peek(event, 'prompt')) ?? ''
    run.begun ??= this.#hooks.run('beforeTurn', ids, { prompt })
    return run.begun
  }

  async #afterTurn(event: unknown, context: unknown): Promise<object | undefined> {
    const ids = idsOf(event, context)
    const run = this.#run(ids)
    const answer = textOf(peek(event, 'lastAssistantMessage')) ?? ''
    const outcome = await this.#hooks.run('afterTurn', ids, { answer, attempt: run.revisions })
    if (outcome.decision !== 'retry') return undefined
    run.revisions++
    if (outcome.delayMillis) await sleep(Math.min(outcome.delayMillis, LIMIT_MILLIS / 2))
    const reason = outcome.reason ?? 'Go on.'
    const idempotencyKey = `${HOST} ${ids.turnId} ${run.revisions}`
    return { action: 'revise', reason, retry: { instruction: reason, idempotencyKey, maxAttempts: 1 } }
  }

  async #beforeTool(event: unknown, context: unknown): Promise<object | undefined> {
    const { ids, tool } = callOf(event, context, namedArguments(peek(event, 'params')))
    const { id, name } = tool
    const noteCall = (args: ToolArguments): void => {
      // Kept only if a hook handles results; otherwise the entry would never be removed.
      if (id !== undefined && this.#hooks.handles('afterTool'))
        this.#calls.set(keyOf(id, context), { ids, tool: toolCallOf({ name, arguments: args, id }) })
    }
    noteCall(tool.arguments)
    if (!this.#hooks.handles('beforeTool')) return undefined
    const outcome = await this.#hooks.run('beforeTool', ids, { tool }, signalIn(context, 'abortSignal'))
    const { decision, by, reason } = outcome
    if (outcome.isRewritten) noteCall(outcome.value)
    if (decision === 'block') return { block: true, blockReason: reason }
    const params = outcome.isRewritten ? { params: plainCopy(outcome.value) } : undefined
    if (decision !== 'ask') return params
    const title = `${by} asks: ${name}`.slice(0, TITLE_LIMIT)
    const description = (reason ?? '').slice(0, DESCRIPTION_LIMIT)
    // "Allow always" is not offered: it would approve whatever the hook asks about next.
    const allowedDecisions = ['allow-once', 'deny']
    return { ...params, requireApproval: { title, description, severity: 'warning', allowedDecisions } }
  }

  /** Must return synchronously: the host ignores a promise. */
  #afterTool(event: unknown, context: unknown): object | undefined {
    const message = peek(event, 'message')
    const unknown = callOf(event, context, {})
    const key = keyOf(unknown.tool.id ?? '', context)
    const { ids, tool } = this.#calls.get(key) ?? unknown
    this.#calls.delete(key)
    const isError = peek(message, 'isError') === true
    const outcome = this.#hooks.run('afterTool', ids, { tool, result: textIn(message), isError, attempt: 0 })
    if (outcome instanceof Promise) {
      this.#report(`hookspan: ${HOST}: a hook has not answered at once in afterTool: the result goes on as it is`)
      return undefined
    }
    return outcome.isRewritten ? { message: withText(message, textFor(outcome.value)) } : undefined
  }

  #run({ turnId }: HookIds): Run {
    return turnId === undefined ? { revisions: 0 } : this.#runs.recall(turnId, () => ({ revisions: 0 }))
  }
}

/** Uses the session key, the only session name available when a result is persisted. */
function keyOf(id: string, context: unknown): string {
  return `${idOf(peek(context, 'sessionKey')) ?? ''}\n${id}`
}

function idsOf(event: unknown, context: unknown): HookIds {
  const id = (key: string): string | undefined => idOf(peek(event, key)) ?? idOf(peek(context, key))
  return { sessionId: id('sessionId') ?? id('sessionKey'), turnId: id('runId') }
}

function callOf(event: unknown, context: unknown, args: ToolArguments): Call {
  const id = idOf(peek(event, 'toolCallId')) ?? idOf(peek(context, 'toolCallId'))
  const name = textOf(peek(event, 'toolName')) ?? textOf(peek(context, 'toolName')) ?? ''
  return { ids: { ...idsOf(event, context), toolCallId: id }, tool: toolCallOf({ name, arguments: args, id }) }
}

function textIn(message: unknown): string {
  const content = peek(message, 'content')
  if (typeof content === 'string') return content
  const texts = listOf(content).flatMap(part => textOf(peek(part, 'text')) ?? [])
  return texts.join('\n')
}

function withText(message: unknown, text: string): object {
  const content = peek(message, 'content')
  const others = listOf(content).filter(part => peek(part, 'type') !== 'text')
  return { ...(message as object), content: [{ type: 'text', text }, ...others] }
}
