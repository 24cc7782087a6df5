import { isArray, peek } from '../../contract/foreign.ts'
import type { CanUseTool, HookCallback, HookMatcher, QueryOptions, Tell } from './types.ts'

/**
 * The hooks with a tracing callback. Each is a round trip between two processes. A `WorktreeCreate` hook would have to create the
 * worktree, and `MessageDisplay` fires for every piece of text, so both are excluded.
 */
const LISTENED = [
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

/** Returns the argument of `query()` with tracing hooks after the user's own. The user's objects are not modified. */
export function tracedParameters(parameters: unknown, tell: Tell): unknown {
  if (typeof parameters !== 'object' || parameters === null) return parameters
  const { options } = parameters as { options?: QueryOptions }
  return changed(parameters, { options: tracedOptions(options ?? {}, tell) })
}

function tracedOptions(options: QueryOptions, tell: Tell): QueryOptions {
  const { hooks, canUseTool } = options
  const added: { hooks: object; canUseTool?: unknown } = { hooks: tracedHooks(hooks, tell) }
  // Added only if the application has one: otherwise the SDK would stop deciding by its rules and call the wrapper.
  if (typeof canUseTool === 'function') added.canUseTool = tracedCanUseTool(canUseTool as CanUseTool, tell)
  return changed(options, added)
}

function tracedHooks(hooks: QueryOptions['hooks'], tell: Tell): object {
  const merged: Record<string, unknown> = {}
  for (const event of LISTENED) {
    const own = peek(hooks, event)
    if (own === undefined || own === null) merged[event] = [listener(event, tell)]
    else if (isArray(own)) merged[event] = [...own, listener(event, tell)]
  }
  return changed(hooks ?? {}, merged)
}

function listener(event: string, tell: Tell): HookMatcher {
  const callback: HookCallback = (input, toolUseId) => {
    tell(`hook.${event}`, input, toolUseId)
    return Promise.resolve({})
  }
  return { hooks: [callback] }
}

function tracedCanUseTool(canUseTool: CanUseTool, tell: Tell): CanUseTool {
  return function (this: unknown, ...parameters): unknown {
    const [name, input, details] = parameters
    const toolUseID = peek(details, 'toolUseID')
    tell('canUseTool', {
      n: name,
      i: input,
      toolUseID,
      agentID: peek(details, 'agentID'),
      requestId: peek(details, 'requestId'),
      title: peek(details, 'title'),
      description: peek(details, 'description'),
    })
    const answered = (r: unknown): void => tell('canUseTool.end', { toolUseID, r })
    const failed = (): void => tell('canUseTool.end', { toolUseID })
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

/** Copies an object with some properties replaced and its prototype kept. */
export function changed<Value extends object>(value: Value, properties: object): Value {
  return Object.assign(Object.create(Object.getPrototypeOf(value)), value, properties) as Value
}
