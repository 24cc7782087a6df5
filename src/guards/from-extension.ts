import { textOf } from '../contract/foreign.ts'
import { plainCopy } from './frozen-copy.ts'
import type { AnyHook, Hook, HookContext } from './hook.ts'
import type { BeforeModel, BeforeTool, BeforeTurn } from './phases.ts'
import { type AnyVerdict, block, type Decision, inject, pass, rewrite } from './verdict.ts'

/** The answer of an extension. Undefined or null means `pass`. */
export interface ExtensionResult<Action extends string, Value = unknown> {
  /** The action to take. */
  readonly action: Action
  /** The rewritten value, the injected text, or the reason of a block for the model. */
  readonly value?: Value | undefined
  /** Metadata for later hooks. */
  readonly metadata?: Readonly<Record<string, unknown>> | null | undefined
}

/** The arguments common to all three functions. */
export interface Circumstances {
  /** The agent's own id of the session. */
  readonly session_id: string | undefined
  /** The agent's name. */
  readonly platform: string
  /** State of this turn, shared by all hooks. */
  readonly turn_state: Record<string, unknown>
  /** Metadata of earlier hooks. */
  readonly metadata: Readonly<Record<string, unknown>>
}

/** The return value of an extension function. */
export type Answer<Action extends string> =
  | ExtensionResult<Action>
  | null
  | undefined
  // biome-ignore lint/suspicious/noConfusingVoidType: a function that returns nothing passes
  | void
/** An answer or a promise of one. */
export type Answers<Action extends string> = Answer<Action> | Promise<Answer<Action>>

/** An extension with the three functions proposed for Hermes. Python keyword arguments become one object. */
export interface Extension {
  /** Runs before the user's prompt is processed. */
  transform_user_input?(input: Circumstances & { readonly user_message: string }): Answers<'pass' | 'rewrite' | 'block'>
  /** Runs before each request to the model. Injected text is part of this request only. */
  before_llm_call?(
    input: Circumstances & {
      readonly messages: readonly { readonly role: string; readonly content: string }[]
      readonly system_prompt: string
    },
  ): Answers<'pass' | 'inject_system' | 'inject_user' | 'block'>
  /** Runs before a tool call. A rewrite replaces all arguments. */
  intercept_tool_call?(
    input: Circumstances & {
      readonly tool_name: string
      readonly tool_args: Record<string, unknown>
      readonly task_id: string | undefined
    },
  ): Answers<'pass' | 'block' | 'rewrite'>
}

/** Properties of the hook that an extension does not define. */
export interface FromExtensionOptions extends Pick<Hook, 'name' | 'priority' | 'onFailure'> {
  /**
   * The decisions that the functions may make. Default: all of them. The hook then runs among those that rewrite; with
   * `['block']` it runs after them and judges their result.
   */
  readonly decisions?: readonly ('block' | 'rewrite' | 'inject')[] | undefined
}

/** Converts an extension to a hook. An action that the function does not support counts as a failure of the hook. */
export function fromExtension(extension: Extension, options: FromExtensionOptions): AnyHook {
  const allowed: readonly Decision[] = options.decisions ?? ['block', 'rewrite', 'inject']
  const rows = Object.entries(FUNCTIONS).filter(([, { name }]) => extension[name] !== undefined)
  const phases = rows.map(([phase, { name, actions, input }]) => [
    phase,
    async (event: never, ctx: HookContext) => {
      const { sessionId, host, state, metadata } = ctx
      const common: Circumstances = { session_id: sessionId, platform: host, turn_state: state, metadata }
      const run = extension[name] as ((input: object) => Answers<string>) | undefined
      return verdictOf(name, actions, await run?.call(extension, { ...common, ...input(event, ctx) }))
    },
  ])
  const decisions = Object.entries(FUNCTIONS).map(([phase, { actions }]) => {
    const all = actions.map(action => (action.startsWith('inject') ? 'inject' : action) as Decision)
    return [phase, [...new Set(all)].filter(decision => allowed.includes(decision))]
  })
  return { ...options, decisions: Object.fromEntries(decisions), ...Object.fromEntries(phases) } as AnyHook
}

interface ExtensionFunction {
  readonly name: keyof Extension
  readonly actions: readonly string[]
  readonly input: (event: never, ctx: HookContext) => object
}

const FUNCTIONS: Readonly<Record<'beforeTurn' | 'beforeModel' | 'beforeTool', ExtensionFunction>> = {
  beforeTurn: {
    name: 'transform_user_input',
    actions: ['block', 'rewrite'],
    input: ({ prompt }: BeforeTurn) => ({ user_message: prompt }),
  },
  beforeModel: {
    name: 'before_llm_call',
    actions: ['block', 'inject_system', 'inject_user'],
    input: ({ messages }: BeforeModel) => ({
      messages: messages.map(({ role, text }) => ({ role, content: text })),
      system_prompt: messages.flatMap(({ role, text }) => (role === 'system' ? [text] : [])).join('\n\n'),
    }),
  },
  beforeTool: {
    name: 'intercept_tool_call',
    actions: ['block', 'rewrite'],
    input: ({ tool }: BeforeTool, { turnId }) => ({
      tool_name: tool.name,
      tool_args: plainCopy(tool.arguments),
      task_id: turnId,
    }),
  },
}

function verdictOf(place: string, actions: readonly string[], answer: Answer<string>): AnyVerdict | undefined {
  if (answer === undefined || answer === null) return undefined
  const { action, value } = answer
  const input = { metadata: answer.metadata ?? undefined }
  if (action === 'pass') return pass(input)
  if (!actions.includes(action)) throw new TypeError(`${place} answered with an action that it does not have`)
  if (action === 'block') return block(textOf(value) ?? '', input)
  if (action === 'rewrite') return rewrite(value, input)
  return inject(value as string, action === 'inject_system' ? 'system' : 'user', input)
}
