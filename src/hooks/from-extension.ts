import { textOf } from '../contract/foreign.ts'
import { plainCopy } from './frozen-copy.ts'
import type { AnyHook, HookContext } from './hook.ts'
import type { BeforeModel, BeforeTool, BeforeTurn } from './phases.ts'
import { type AnyVerdict, block, type Decision, inject, pass, rewrite } from './verdict.ts'

/** What an extension answers. Nothing: `pass`. */
export interface ExtensionResult<Action extends string, Value = unknown> {
  /** What is to be done. */
  readonly action: Action
  /** What is rewritten, what is injected, or for a block what the model is told. */
  readonly value?: Value | undefined
  /** For the hooks behind. */
  readonly metadata?: Readonly<Record<string, unknown>> | null | undefined
}

/** What all three are told. */
export interface Circumstances {
  /** The agent's own id of the session. */
  readonly session_id: string | undefined
  /** The agent. */
  readonly platform: string
  /** Of this turn: made with it, gone with it. */
  readonly turn_state: Record<string, unknown>
  /** What the hooks before have handed on. */
  readonly metadata: Readonly<Record<string, unknown>>
}

/** What a place gives back. */
export type Answer<Action extends string> =
  | ExtensionResult<Action>
  | null
  | undefined
  // biome-ignore lint/suspicious/noConfusingVoidType: a function that returns nothing passes
  | void
/** What a place may answer. */
export type Answers<Action extends string> = Answer<Action> | Promise<Answer<Action>>

/** An extension, by the names that a request for Hermes gave to its three places; what Python says by keyword is one object. */
export interface Extension {
  /** Before anything is made of what the person has said. */
  transform_user_input?(said: Circumstances & { readonly user_message: string }): Answers<'pass' | 'rewrite' | 'block'>
  /** Before each request to the model. What is injected is in this request alone. */
  before_llm_call?(
    said: Circumstances & {
      readonly messages: readonly { readonly role: string; readonly content: string }[]
      readonly system_prompt: string
    },
  ): Answers<'pass' | 'inject_system' | 'inject_user' | 'block'>
  /** Before a tool runs. A rewrite is the arguments, all of them. */
  intercept_tool_call?(
    said: Circumstances & {
      readonly tool_name: string
      readonly tool_args: Record<string, unknown>
      readonly task_id: string | undefined
    },
  ): Answers<'pass' | 'block' | 'rewrite'>
}

/** What the extension does not say of itself. */
export interface FromExtensionOptions {
  /** Of the hook. */
  readonly name: string
  /** Lower comes first. Default 200. */
  readonly priority?: number | undefined
  /** What a failure of it means. Default `pass`. */
  readonly onFailure?: 'pass' | 'block' | undefined
  /**
   * Default: all that its functions can decide. It is then asked with those that change something; one that says `['block']` judges
   * what comes out of them.
   */
  readonly decides?: readonly ('block' | 'rewrite' | 'inject')[] | undefined
}

/** A hook out of an extension. An action that its place does not have counts as a failure of the hook. */
export function fromExtension(extension: Extension, options: FromExtensionOptions): AnyHook {
  const { transform_user_input, before_llm_call, intercept_tool_call } = extension
  const allowed: readonly Decision[] = options.decides ?? ['block', 'rewrite', 'inject']
  const only = (...decisions: Decision[]): Decision[] => decisions.filter(each => allowed.includes(each))
  const hook = {
    ...options,
    decides: {
      beforeTurn: only('block', 'rewrite'),
      beforeModel: only('block', 'inject'),
      beforeTool: only('block', 'rewrite'),
    },
    ...(transform_user_input !== undefined && {
      beforeTurn: async ({ prompt }: BeforeTurn, ctx: HookContext) =>
        verdictOf(
          'transform_user_input',
          ['rewrite', 'block'],
          await extension.transform_user_input?.({ ...circumstances(ctx), user_message: prompt }),
        ),
    }),
    ...(before_llm_call !== undefined && {
      beforeModel: async ({ messages }: BeforeModel, ctx: HookContext) => {
        const said = {
          ...circumstances(ctx),
          messages: messages.map(({ role, text }) => ({ role, content: text })),
          system_prompt: messages.flatMap(({ role, text }) => (role === 'system' ? [text] : [])).join('\n\n'),
        }
        const actions = ['inject_system', 'inject_user', 'block']
        return verdictOf('before_llm_call', actions, await extension.before_llm_call?.(said))
      },
    }),
    ...(intercept_tool_call !== undefined && {
      beforeTool: async ({ tool }: BeforeTool, ctx: HookContext) => {
        const said = {
          ...circumstances(ctx),
          tool_name: tool.name,
          tool_args: plainCopy(tool.arguments),
          task_id: ctx.turnId,
        }
        return verdictOf('intercept_tool_call', ['rewrite', 'block'], await extension.intercept_tool_call?.(said))
      },
    }),
  }
  return hook as AnyHook
}

function circumstances({ sessionId, host, state, metadata }: HookContext): Circumstances {
  return { session_id: sessionId, platform: host, turn_state: state, metadata }
}

function verdictOf(place: string, actions: readonly string[], answer: Answer<string>): AnyVerdict | undefined {
  if (answer === undefined || answer === null) return undefined
  const { action, value } = answer
  const said = { metadata: answer.metadata ?? undefined }
  if (action === 'pass') return pass(said)
  if (!actions.includes(action)) throw new TypeError(`${place} answered with an action that it does not have`)
  switch (action) {
    case 'block':
      return block(textOf(value) ?? '', said)
    case 'rewrite':
      return rewrite(value, said)
    default:
      return inject(value as string, action === 'inject_system' ? 'system' : 'user', said)
  }
}
