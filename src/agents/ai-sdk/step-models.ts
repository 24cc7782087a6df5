import { peek, textOf } from '../../contract/foreign.ts'
import { failClosedReason } from '../../guards/chain.ts'
import { ignoreErrors, toStandardError } from '../../guards/hook.ts'
import type { HookInfo, Phase } from '../../guards/index.ts'
import type { GuardedCall } from './guarded-call.ts'
import { guardedModel, type HostModel, isModel } from './guarded-model.ts'

/** Where hooks are asked through the model. */
const OF_MODELS: readonly Phase[] = ['beforeModel', 'afterModel', 'afterTurn']
const MAX_SHOWN = 60

/**
 * The models of steps, with the hooks in them. A name that the call itself gives comes here as the model that the SDK has found;
 * one that `prepareStep` gives is found behind us, and nobody can be put around that model.
 */
export class StepModels {
  readonly #asked: readonly HookInfo[]
  readonly #report: (line: string) => void
  #isSaid = false

  constructor(hooks: readonly HookInfo[], report: (line: string) => void = toStandardError) {
    this.#asked = hooks.filter(({ phases }) => phases.some(phase => OF_MODELS.includes(phase)))
    this.#report = report
  }

  guarded(call: GuardedCall, given: unknown): unknown {
    const model = typeof given === 'string' ? ofProgramsProvider(given) : given
    if (isModel(model)) return guardedModel(call, model)
    this.#cannotAsk(call, given)
    return call.refusal === undefined ? given : guardedModel(call, nobody(given))
  }

  /** Hooks that cannot be asked have failed: one that blocks then does so here, too. */
  #cannotAsk(call: GuardedCall, given: unknown): void {
    if (call.refusal !== undefined || this.#asked.length === 0) return
    const closed = this.#asked.find(({ onFailure }) => onFailure === 'block')
    if (closed !== undefined) call.refusal = failClosedReason(closed.name)
    if (this.#isSaid) return
    this.#isSaid = true
    const phases = OF_MODELS.filter(phase => this.#asked.some(hook => hook.phases.includes(phase))).join(', ')
    const counted = closed === undefined ? 'pass' : 'block'
    ignoreErrors(() =>
      this.#report(
        `hookspan: ai-sdk: prepareStep gives ${shown(given)}: hooks cannot be asked in ${phases} of it, which counts as ${counted}; give the model itself, or set globalThis.AI_SDK_DEFAULT_PROVIDER`,
      ),
    )
  }
}

/** As the SDK does it, where the program has said which provider names are of. What it uses without is the SDK's alone. */
function ofProgramsProvider(name: string): unknown {
  const provider: unknown = peek(globalThis, 'AI_SDK_DEFAULT_PROVIDER')
  try {
    return (provider as { languageModel(name: string): unknown } | undefined)?.languageModel(name)
  } catch {
    // The SDK asks again, and says what is wrong.
    return undefined
  }
}

/** In the place of a model that is not to be asked. */
function nobody(given: unknown): HostModel {
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

function shown(given: unknown): string {
  return typeof given === 'string'
    ? `the model ${JSON.stringify(given.slice(0, MAX_SHOWN))} by its name`
    : 'what is no model'
}
