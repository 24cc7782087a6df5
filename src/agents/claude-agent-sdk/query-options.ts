import { isArray, peek } from '../../contract/foreign.ts'
import { pickFields } from '../base/fields.ts'

type HookCallback = (
  input: unknown,
  toolUseId: string | undefined,
  options: unknown,
) => Promise<Readonly<Record<string, never>>>

type CanUseTool = (toolName: string, input: unknown, details: unknown) => unknown

interface QueryOptions {
  readonly hooks?: Readonly<Record<string, unknown>>
  readonly canUseTool?: unknown
}

export type EmitEvent = (event: string, data: unknown, toolUseId?: string) => void

/**
 * The hooks with a tracing callback. Each is a round trip between two processes. A `WorktreeCreate` hook would have to create the
 * worktree, and `MessageDisplay` fires for every piece of text, so both are excluded.
 */
const TRACED_HOOKS = [
  'SessionStart',
  'UserPromptSubmit',
  'PreToolUse',
  'PostToolUse',
  'PostToolUseFailure',
  'PostToolBatch',
  'PermissionRequest',
  'PermissionDenied',
  'SubagentStart',
  'SubagentStop',
  'Stop',
  'StopFailure',
  'PreCompact',
  'PostCompact',
] as const

const CALL_DETAILS = ['toolUseID', 'agentID', 'requestId', 'title', 'description']

/** Returns the argument of `query()` with tracing hooks after the user's own. The user's objects are not modified. */
export function tracedParameters(parameters: unknown, emit: EmitEvent): unknown {
  if (typeof parameters !== 'object' || parameters === null) return parameters
  const { options } = parameters as { options?: QueryOptions }
  return changed(parameters, { options: tracedOptions(options ?? {}, emit) })
}

function tracedOptions(options: QueryOptions, emit: EmitEvent): QueryOptions {
  const { hooks, canUseTool } = options
  const added: { hooks: object; canUseTool?: unknown } = { hooks: tracedHooks(hooks, emit) }
  // Added only if the application has one: otherwise the SDK would stop deciding by its rules and call the wrapper.
  if (typeof canUseTool === 'function') added.canUseTool = tracedCanUseTool(canUseTool as CanUseTool, emit)
  return changed(options, added)
}

function tracedHooks(hooks: QueryOptions['hooks'], emit: EmitEvent): object {
  const merged: Record<string, unknown> = {}
  for (const event of TRACED_HOOKS) {
    const own = peek(hooks, event)
    if (own === undefined || own === null) merged[event] = [tracingHook(event, emit)]
    else if (isArray(own)) merged[event] = [...own, tracingHook(event, emit)]
  }
  return changed(hooks ?? {}, merged)
}

function tracingHook(event: string, emit: EmitEvent): object {
  const callback: HookCallback = (input, toolUseId) => {
    emit(`hook.${event}`, input, toolUseId)
    return Promise.resolve({})
  }
  return { hooks: [callback] }
}

function tracedCanUseTool(canUseTool: CanUseTool, emit: EmitEvent): CanUseTool {
  return function (this: unknown, ...parameters): unknown {
    const [name, input, details] = parameters
    const toolUseID = peek(details, 'toolUseID')
    emit('canUseTool', { n: name, i: input, ...pickFields(details, CALL_DETAILS) })
    const answered = (r: unknown): void => emit('canUseTool.end', { toolUseID, r })
    const failed = (): void => emit('canUseTool.end', { toolUseID })
    let answer: unknown
    try {
      answer = Reflect.apply(canUseTool, this, parameters)
    } catch (error) {
      failed()
      throw error
    }
    // The original promise is returned: the response is neither delayed nor changed.
    if (answer instanceof Promise) answer.then(answered, failed)
    else answered(answer)
    return answer
  }
}

export function changed<Value extends object>(value: Value, properties: object): Value {
  return Object.assign(Object.create(Object.getPrototypeOf(value)), value, properties) as Value
}
