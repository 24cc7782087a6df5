import { peek, textOf } from '../../contract/foreign.ts'
import type { EmitEvent } from './query-options.ts'

type Method = (...parameters: unknown[]) => unknown

/**
 * Wraps a running query so that each message is observed as the application reads it. All methods and properties are the query's
 * own. They are called on the query itself, because it has private fields.
 *
 * @param isAborted returns true if the application has aborted the query
 */
export function observedQuery<Query extends object>(query: Query, emit: EmitEvent, isAborted: () => boolean): Query {
  return new Observer(emit, isAborted).observed(query)
}

class Observer {
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
    if (key === Symbol.asyncIterator) return (...parameters) => this.#iterator(call(...parameters))
    if (key !== 'return' && key !== 'close' && key !== Symbol.asyncDispose) return call
    return (...parameters) => {
      this.#end('iterator.return')
      return call(...parameters)
    }
  }

  #iterator(iterator: unknown): unknown {
    return typeof iterator === 'object' && iterator !== null ? this.observed(iterator) : iterator
  }

  /** Returns the original promise, so the message is neither delayed nor changed, and errors stay with the caller. */
  #observe(step: unknown): unknown {
    if (step instanceof Promise) step.then(this.#stepped, this.#failed)
    return step
  }

  readonly #stepped = (step: unknown): void => {
    if (peek(step, 'done') === true) this.#end('iterator.end')
    else this.#message(peek(step, 'value'))
  }

  readonly #failed = (error: unknown): void => {
    this.#end('iterator.error', { name: textOf(peek(error, 'name')), aborted: this.#isAborted() })
  }

  #message(message: unknown): void {
    const type = textOf(peek(message, 'type'))
    if (type === undefined || isPiece(type, message)) return
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

/** Pieces of a streamed answer are skipped: they are numerous, and the complete answer follows. */
function isPiece(type: string, message: unknown): boolean {
  return type === 'stream_event' && (textOf(peek(peek(message, 'event'), 'type'))?.startsWith('content_block') ?? false)
}
