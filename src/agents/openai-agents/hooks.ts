/**
 * `hookspan/hooks/openai-agents`: guards in the OpenAI Agents SDK for JavaScript. Read from `@openai/agents` 0.20.0
 * (`agents-core`: run, agent, tool, guardrail, runner), which is not a dependency.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { elementsOf, idOf, isObject, peek, textOf } from '../../contract/foreign.ts'
import { ignoreErrors, toStandardError } from '../../guards/hook.ts'
import { type Capabilities, type ControlHooks, type HookIds, HostHooks } from '../../guards/index.ts'
import { type AttachOptions, toolHookTrace } from '../attach.ts'
import { listOf } from '../base/guard-values.ts'
import { guardedModel, guardedProvider } from './guarded-model.ts'
import { GuardedTools } from './guarded-tools.ts'
import { currentRun } from './live-sdk.ts'
import { lastUserText } from './model-content.ts'

export type { AttachOptions } from '../attach.ts'

const HOST = 'openai-agents'
const HANDOFFS_LIMIT = 1000
const NAME = 'hookspan'

/** Decisions that the OpenAI Agents SDK accepts from hooks. */
export const ABLE: Capabilities = {
  beforeTurn: ['block'],
  afterTurn: ['block'],
  beforeModel: ['block', 'rewrite', 'inject'],
  afterModel: ['block', 'rewrite', 'retry'],
  beforeTool: ['block', 'rewrite', 'ask'],
  afterTool: ['block', 'rewrite', 'retry'],
}

/** Guards for runners and agents. */
export interface OpenAiAgentsHooks {
  /**
   * Adds the hooks to all runs of a runner: its agents, and those that they hand over to. Returns the same runner. An
   * agent used as a tool runs by itself, and needs `guardAgent`.
   */
  guardRunner<Runner extends object>(runner: Runner): Runner
  /** Adds the hooks to the tools of an agent, and of those that it hands over to. Returns the same agent. */
  guardAgent<Agent extends object>(agent: Agent): Agent
}

type Method = (this: unknown, ...args: unknown[]) => unknown
type Plain = Record<string, unknown>

interface RunScope {
  readonly turns: Map<string, HookIds>
}

/**
 * Attaches hooks to the OpenAI Agents SDK.
 *
 * @example
 * const hooks = attachHooks(createHooks([noRm]))
 * const runner = hooks.guardRunner(new Runner())
 */
export function attachHooks(hooks: ControlHooks, options: AttachOptions = {}): OpenAiAgentsHooks {
  const guard = new Guard(
    new HostHooks({ ...options, host: HOST, hooks, capabilities: ABLE, plugin: () => toolHookTrace(HOST) }),
    options.report ?? toStandardError,
  )
  return {
    guardRunner: runner => {
      guard.guardRunner(runner as Plain)
      return runner
    },
    guardAgent: agent => {
      guard.guardAgent(agent)
      return agent
    },
  }
}

class Guard {
  readonly hooks: HostHooks
  readonly tools: GuardedTools
  readonly #done = new WeakSet<object>()
  readonly #starting = new WeakSet<object>()
  readonly #names = new Set<string>()
  readonly #scope = new AsyncLocalStorage<RunScope>()

  constructor(hooks: HostHooks, report: (line: string) => void) {
    this.hooks = hooks
    this.tools = new GuardedTools(hooks, line => void ignoreErrors(() => report(`hookspan: ${HOST}: ${line}`)))
  }

  /** Hooks skip an agent whose tools are not guarded: their outcome for a call could not be applied. */
  covers(agentName: string | undefined): boolean {
    this.#noteTurn()
    return agentName === undefined || this.#names.has(agentName)
  }

  guardRunner(runner: Plain): void {
    if (this.#isDone(runner)) return
    const config = runner['config'] as Plain
    const { model, modelProvider } = config
    if (isObject(modelProvider)) config['modelProvider'] = guardedProvider(this, modelProvider)
    if (isObject(model)) config['model'] = guardedModel(this, model)
    const run = runner['run'] as Method
    const guarded: Method = (agent, input, options) => {
      for (const each of [agent, peek(input, '_currentAgent')]) if (isObject(each)) this.guardAgent(each)
      if (isObject(agent)) this.#guardTurn(agent as Plain)
      return this.#runInScope(() => run.call(runner, agent, input, options))
    }
    Object.defineProperty(runner, 'run', { value: guarded, writable: true, configurable: true })
  }

  guardAgent(agent: object): void {
    if (this.#isDone(agent)) return
    const own = agent as Plain
    const name = textOf(own['name'])
    if (name !== undefined) this.#names.add(name)
    if (isObject(own['model'])) own['model'] = guardedModel(this, own['model'])
    // The tools of MCP servers are known only when the agent is about to run.
    const getAllTools = own['getAllTools'] as Method
    const guarded: Method = async (...args) => {
      const tools = await getAllTools.apply(agent, args)
      for (const tool of tools as readonly unknown[]) this.tools.guardTool(tool)
      return tools
    }
    Object.defineProperty(agent, 'getAllTools', { value: guarded, writable: true, configurable: true })
    if (this.hooks.handles('afterTurn'))
      addGuardrail(own, 'outputGuardrails', { name: NAME, execute: this.#checkAnswer })
    for (const handoff of elementsOf(own['handoffs'], HANDOFFS_LIMIT)) {
      const target = peek(handoff, 'agent') ?? handoff
      if (isObject(target)) this.guardAgent(target)
    }
  }

  /** A turn begins with the agent that is run, not with one that it hands over to. */
  #guardTurn(agent: Plain): void {
    if (!this.hooks.handles('beforeTurn') || this.#starting.has(agent)) return
    this.#starting.add(agent)
    // Not in parallel: the request would already be sent.
    addGuardrail(agent, 'inputGuardrails', { name: NAME, runInParallel: false, execute: this.#checkPrompt })
  }

  readonly #checkPrompt = async (asked: unknown): Promise<object> => {
    const outcome = await this.hooks.run('beforeTurn', this.#noteTurn(), { prompt: lastUserText(peek(asked, 'input')) })
    return guardrailResult(outcome)
  }

  readonly #checkAnswer = async (asked: unknown): Promise<object> => {
    const said = peek(asked, 'agentOutput')
    const answer = typeof said === 'string' ? said : (JSON.stringify(said) ?? '')
    return guardrailResult(await this.hooks.run('afterTurn', this.#noteTurn(), { answer, attempt: 0 }))
  }

  #noteTurn(): HookIds {
    const { ids } = currentRun()
    this.#scope.getStore()?.turns.set(idOf(ids.turnId) ?? '', ids)
    return ids
  }

  #runInScope(run: () => unknown): unknown {
    const scope: RunScope = { turns: new Map() }
    const running = this.#scope.run(scope, run)
    const ended = (): void => {
      for (const ids of scope.turns.values()) this.hooks.endTurn(ids)
    }
    if (!(running instanceof Promise)) return running
    running.then(result => {
      const completed = peek(result, 'completed')
      if (completed instanceof Promise) completed.then(ended, ended)
      else ended()
    }, ended)
    return running
  }

  #isDone(object: object): boolean {
    if (this.#done.has(object)) return true
    this.#done.add(object)
    return false
  }
}

/** Converts to the result of an SDK guardrail; the reason is in the error that ends the run. */
function guardrailResult({
  decision,
  by,
  reason,
}: {
  decision: string
  by: string | undefined
  reason: string | undefined
}): object {
  const isBlocked = decision === 'block'
  return { tripwireTriggered: isBlocked, outputInfo: isBlocked ? { hook: by, reason } : {} }
}

function addGuardrail(holder: Plain, key: string, guardrail: object): void {
  holder[key] = [...listOf(holder[key]), guardrail]
}
