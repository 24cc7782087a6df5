import { HOOK_NAMES, type HookHandler, type HookName, type HostContext } from '../contract/index.ts'
import { createPlugin } from './create-plugin.ts'
import type { Plugin, PluginOptions } from './plugin.ts'

/** Hosts load a plugin more than once: a context that has its plugin keeps it, and no hook is counted twice. */
const registered = new WeakMap<object, Plugin>()

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
function trySubscribe(subscribe: Subscribe, hook: HookName, plugin: Plugin): boolean {
  try {
    const answer = subscribe(hook, payload => plugin.emitUntyped(hook, payload))
    // Or it refuses later: a promise that nobody listens to would end the host's process.
    if (answer instanceof Promise) answer.catch(() => undefined)
    return true
  } catch {
    return false
  }
}

/**
 * Registers the plugin with a host that offers `registerHook(name, handler)` or `register_hook(name, handler)`. Each hook
 * on its own: one that the host does not know (it throws) is left out and the rest is registered.
 *
 * Idempotent per host context. Never throws; a context that offers neither is one line on stderr.
 *
 * @example export const register = ctx => hookspan.register(ctx, { host: 'my-agent' })
 */
export function register(context: HostContext, options: PluginOptions = {}): Plugin {
  const isContext = (typeof context === 'object' && context !== null) || typeof context === 'function'
  const known = isContext ? registered.get(context) : undefined
  if (known !== undefined) return known
  const plugin = createPlugin(options)
  const subscribe = isContext ? subscriber(context) : undefined
  if (subscribe === undefined) {
    process.stderr.write(
      'hookspan: register: the host context has no registerHook or register_hook; nothing is recorded\n',
    )
    return plugin
  }
  registered.set(context, plugin)
  for (const hook of HOOK_NAMES) trySubscribe(subscribe, hook, plugin)
  return plugin
}
