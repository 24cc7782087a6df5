import { HOOK_NAMES, type HookHandler, type HookName, type HostContext } from '../contract/index.ts'
import { createPlugin, notStarted } from './create-plugin.ts'
import { lifeOf } from './life.ts'
import type { Plugin, PluginOptions } from './plugin.ts'

/** Hosts load a plugin more than once: a context that has its plugin keeps it, and no hook is counted twice. */
const registered = new WeakMap<object, Registration>()

/** One host context, and the plugin that its hooks go to. */
interface Registration {
  plugin: Plugin
}

type Subscribe = (name: string, handler: HookHandler) => unknown

/** How the host wants to be asked; undefined when it offers neither way, or throws when it is looked at. */
function subscriber(context: HostContext): Subscribe | undefined {
  try {
    if (typeof context.registerHook === 'function') return context.registerHook.bind(context)
    return typeof context.register_hook === 'function' ? context.register_hook.bind(context) : undefined
  } catch {
    return undefined
  }
}

/** A host that does not know the hook throws: it will not fire there, and the others must not be lost with it. */
function trySubscribe(subscribe: Subscribe, hook: HookName, handler: HookHandler, onRefused: () => void): boolean {
  try {
    const answer = subscribe(hook, handler)
    // Or it refuses later: a promise that nobody listens to would end the host's process.
    if (answer instanceof Promise) answer.catch(onRefused)
    return true
  } catch {
    onRefused()
    return false
  }
}

/** What is subscribed stays so, because hosts have no way back: it reaches whichever plugin is the context's own now. */
function subscribeAll(subscribe: Subscribe, registration: Registration): void {
  const report = lifeOf(registration.plugin)?.report
  const taken = HOOK_NAMES.filter(hook =>
    trySubscribe(
      subscribe,
      hook,
      payload => registration.plugin.emitUntyped(hook, payload),
      () => report?.debug(`register: the host does not take ${hook}`),
    ),
  )
  if (taken.length === 0) report?.warn('register: the host takes none of the hooks; only what is emitted is recorded')
}

/**
 * Registers the plugin with a host that offers `registerHook(name, handler)` or `register_hook(name, handler)`. Each hook
 * on its own: one that the host does not know (it throws) is left out and the rest is registered.
 *
 * Idempotent per host context; after a `shutdown` the context gets a new plugin, which the hooks reach from then on. Never
 * throws. For a context that offers neither nothing is opened: the plugin is switched off, and one line says why.
 *
 * @example export const register = ctx => hookspan.register(ctx, { host: 'my-agent' })
 */
export function register(context: HostContext, options: PluginOptions = {}): Plugin {
  const isContext = (typeof context === 'object' && context !== null) || typeof context === 'function'
  const known = isContext ? registered.get(context) : undefined
  if (known !== undefined) {
    if (lifeOf(known.plugin)?.isOver) known.plugin = createPlugin(options)
    return known.plugin
  }
  const subscribe = isContext ? subscriber(context) : undefined
  if (subscribe === undefined) {
    return notStarted(options, 'register: the host context has no registerHook or register_hook; nothing is recorded')
  }
  const registration = { plugin: createPlugin(options) }
  registered.set(context, registration)
  subscribeAll(subscribe, registration)
  return registration.plugin
}
