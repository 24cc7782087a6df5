import { isArray, peek, pickFields, textOf } from '../../contract/foreign.ts'

type CanUseTool = (toolName: string, input: unknown, details: unknown) => unknown

interface QueryOptions {
  readonly hooks?: Readonly<Record<string, unknown>>
  readonly canUseTool?: unknown
}

export type EmitEvent = (event: string, data: unknown, toolUseId?: string) => void

const CALL_DETAILS = ['toolUseID', 'agentID', 'requestId', 'title', 'description']

/**
 * Returns the argument of `query()` with tracing hooks after the user's own. The user's objects are not modified.
 *
 * @param events the names of the hooks
 */
export function tracedParameters(parameters: unknown, events: readonly string[], emit: EmitEvent): unknown {
  if (typeof parameters !== 'object' || parameters === null) return parameters
  const options = (parameters as { options?: QueryOptions }).options ?? {}
  const added: { hooks: object; canUseTool?: unknown } = { hooks: tracedHooks(options.hooks, events, emit) }
  // Added only if the application has one: otherwise the SDK would stop deciding by its rules and call the wrapper.
  if (typeof options.canUseTool === 'function')
    added.canUseTool = tracedCanUseTool(options.canUseTool as CanUseTool, emit)
  return changed(parameters, { options: changed(options, added) })
}

function tracedHooks(hooks: QueryOptions['hooks'], events: readonly string[], emit: EmitEvent): object {
  const merged: Record<string, unknown> = {}
  for (const event of events) {
    const own = peek(hooks, event) ?? []
    const callback = (input: unknown, toolUseId: string | undefined): Promise<object> => {
      emit(`hook.${event}`, input, toolUseId)
      return Promise.resolve({})
    }
    if (isArray(own)) merged[event] = [...own, { hooks: [callback] }]
  }
  return changed(hooks ?? {}, merged)
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

type Method = (...parameters: unknown[]) => unknown

/**
 * Wraps a running query so that each message is observed as the application reads it. All methods and properties are the query's
 * own. They are called on the query itself, because it has private fields.
 */
export class QueryObserver {
  readonly #emit: EmitEvent
  readonly #isAborted: () => boolean
  /** Proxies by target: the query iterates over an internal object, which a loop may request more than once. */
  readonly #observed = new WeakMap<object, object>()
  #hasEnded = false

  constructor(emit: EmitEvent, isAborted: () => boolean) {
    this.#emit = emit
    this.#isAborted = isAborted
  }

  observed<Target extends object>(target: Target): Target {
    const known = this.#observed.get(target)
    if (known !== undefined) return known as Target
    const methods = new Map<PropertyKey, { readonly own: unknown; readonly bound: Method }>()
    const proxy = new Proxy(target, {
      get: (_, key) => {
        const own = Reflect.get(target, key, target) as unknown
        if (typeof own !== 'function' || key === 'constructor' || isFixed(target, key)) return own
        const method = methods.get(key)
        if (method?.own === own) return method.bound
        const bound = this.#bind(target, key, own as Method)
        methods.set(key, { own, bound })
        return bound
      },
      set: (_, key, value) => Reflect.set(target, key, value, target),
    })
    this.#observed.set(target, proxy)
    return proxy
  }

  #bind(target: object, key: PropertyKey, method: Method): Method {
    const call: Method = (...parameters) => Reflect.apply(method, target, parameters) as unknown
    if (key === 'next' || key === 'throw') return (...parameters) => this.#observe(call(...parameters))
    if (key === Symbol.asyncIterator) return (...parameters) => this.observed(call(...parameters) as object)
    if (key !== 'return' && key !== 'close' && key !== Symbol.asyncDispose) return call
    return (...parameters) => {
      this.#end('iterator.return')
      return call(...parameters)
    }
  }

  /** Returns the original promise, so the message is neither delayed nor changed, and errors stay with the caller. */
  #observe(step: unknown): unknown {
    const stepped = (result: unknown): void => {
      if (peek(result, 'done') === true) this.#end('iterator.end')
      else this.#message(peek(result, 'value'))
    }
    const failed = (error: unknown): void =>
      this.#end('iterator.error', { name: textOf(peek(error, 'name')), aborted: this.#isAborted() })
    if (step instanceof Promise) step.then(stepped, failed)
    return step
  }

  /** Pieces of a streamed answer are skipped: they are numerous, and the complete answer follows. */
  #message(message: unknown): void {
    const type = textOf(peek(message, 'type'))
    const streamed = type === 'stream_event' ? textOf(peek(peek(message, 'event'), 'type')) : undefined
    if (type === undefined || streamed?.startsWith('content_block') === true) return
    const subtype = textOf(peek(message, 'subtype'))
    this.#emit(subtype === undefined ? `msg.${type}` : `msg.${type}.${subtype}`, message)
  }

  #end(event: string, data: unknown = {}): void {
    if (this.#hasEnded) return
    this.#hasEnded = true
    this.#emit(event, data)
  }
}

/** A proxy must return the original value of such a property. */
function isFixed(target: object, key: PropertyKey): boolean {
  const property = Reflect.getOwnPropertyDescriptor(target, key)
  return property !== undefined && property.configurable === false && property.writable === false
}
