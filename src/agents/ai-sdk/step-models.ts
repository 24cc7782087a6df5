import { peek, textOf } from '../../contract/foreign.ts'
import { couldNotJudge } from '../../guards/chain.ts'
import { toStandardError } from '../../guards/hook.ts'
import type { HookInfo, Phase } from '../../guards/index.ts'
import { quietly } from '../../guards/quietly.ts'
import type { GuardedCall } from './guarded-call.ts'
import { guardedModel, type HostModel, isModel } from './guarded-model.ts'

/** The phases that run in the model. */
const MODEL_PHASES: readonly Phase[] = ['beforeModel', 'afterModel', 'afterTurn']
const MAX_SHOWN = 60

/**
 * Wraps the models of steps. The SDK has already resolved the call's own model. A name returned by `prepareStep` is
 * resolved later, beyond our reach.
 */
export class StepModels {
  readonly #modelHooks: readonly HookInfo[]
  readonly #report: (line: string) => void
  #isReported = false

  constructor(hooks: readonly HookInfo[], report: (line: string) => void = toStandardError) {
    this.#modelHooks = hooks.filter(({ phases }) => phases.some(phase => MODEL_PHASES.includes(phase)))
    this.#report = report
  }

  guardModel(call: GuardedCall, given: unknown): unknown {
    const model = typeof given === 'string' ? fromDefaultProvider(given) : given
    if (isModel(model)) return guardedModel(call, model)
    this.#handleUnguardable(call, given)
    return call.refusal === undefined ? given : guardedModel(call, refusingModel(given))
  }

  /** Hooks that cannot run count as failed: one with `onFailure: 'block'` blocks here too. */
  #handleUnguardable(call: GuardedCall, given: unknown): void {
    if (call.refusal !== undefined || this.#modelHooks.length === 0) return
    const closed = this.#modelHooks.find(({ onFailure }) => onFailure === 'block')
    if (closed !== undefined) call.refusal = couldNotJudge(closed.name)
    if (this.#isReported) return
    this.#isReported = true
    const phases = MODEL_PHASES.filter(phase => this.#modelHooks.some(hook => hook.phases.includes(phase))).join(', ')
    const counted = closed === undefined ? 'pass' : 'block'
    quietly(() =>
      this.#report(
        `hookspan: ai-sdk: prepareStep gives ${describeModel(given)}: hooks cannot be asked in ${phases} of it, which counts as ${counted}; give the model itself, or set globalThis.AI_SDK_DEFAULT_PROVIDER`,
      ),
    )
  }
}

/**
 * Resolves a model name as the SDK does if `AI_SDK_DEFAULT_PROVIDER` is set. The SDK's built-in default is not
 * accessible.
 */
function fromDefaultProvider(name: string): unknown {
  const provider: unknown = peek(globalThis, 'AI_SDK_DEFAULT_PROVIDER')
  try {
    return (provider as { languageModel(name: string): unknown } | undefined)?.languageModel(name)
  } catch {
    // The SDK resolves it again and reports the error.
    return undefined
  }
}

/** Stands in for a model that must not be asked. */
function refusingModel(given: unknown): HostModel {
  const never = (): Promise<never> => Promise.reject(new Error('hookspan: this model answers for hooks alone'))
  return {
    specificationVersion: 'v4',
    provider: 'hookspan',
    modelId: textOf(given) ?? 'unknown',
    supportedUrls: {},
    doGenerate: never,
    doStream: never,
  }
}

function describeModel(given: unknown): string {
  return typeof given === 'string'
    ? `the model ${JSON.stringify(given.slice(0, MAX_SHOWN))} by its name`
    : 'what is no model'
}
