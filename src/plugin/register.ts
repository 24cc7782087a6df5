import { ignoreErrors } from '../contract/foreign.ts'
import { HOOK_NAMES, type HookHandler, type HostContext } from '../contract/index.ts'
import { createPluginIn, ownEnvironment, pluginNotStarted, type TracingPlugin } from './create-plugin.ts'
import type { Plugin, PluginOptions } from './plugin.ts'

/** Hosts load a plugin more than once. A context keeps its plugin, so that no hook is counted twice. */
const registered = new WeakMap<object, { plugin: TracingPlugin }>()

type Subscribe = (name: string, handler: HookHandler) => unknown

function subscriber(context: HostContext): Subscribe | undefined {
  return ignoreErrors(() => {
    if (typeof context.registerHook === 'function') return context.registerHook.bind(context)
    return typeof context.register_hook === 'function' ? context.register_hook.bind(context) : undefined
  })
}

/** Subscriptions are permanent, because hosts cannot unsubscribe. They call the context's current plugin. */
function subscribeAll(subscribe: Subscribe, registration: { readonly plugin: TracingPlugin }): void {
  const { report } = registration.plugin
  let isAnyTaken = false
  for (const hook of HOOK_NAMES) {
    const onRefused = (): void => report.debug(`register: the host does not take ${hook}`)
    // A host that does not know a hook throws, or rejects later, which would end its process. It still gets the other hooks.
    try {
      const answer = subscribe(hook, payload => registration.plugin.emitUntyped(hook, payload))
      if (answer instanceof Promise) answer.catch(onRefused)
      isAnyTaken = true
    } catch {
      onRefused()
    }
  }
  if (!isAnyTaken) report.warn('register: the host takes none of the hooks; only what is emitted is recorded')
}

/**
 * Registers the plugin with a host that offers `registerHook(name, handler)` or `register_hook(name, handler)`. Hooks are
 * subscribed one by one: if the host does not know one (it throws), the rest is still registered.
 *
 * Idempotent per host context. After a `shutdown`, the context gets a new plugin, which receives its hooks from then on. Never
 * throws. If the context offers neither method, no files or connections are opened: the plugin is off, and one line says why.
 *
 * @example export const register = ctx => hookspan.register(ctx, { host: 'my-agent' })
 */
export function register(context: HostContext, options: PluginOptions = {}): Plugin {
  const isContext = (typeof context === 'object' && context !== null) || typeof context === 'function'
  const known = isContext ? registered.get(context) : undefined
  if (known !== undefined) {
    if (known.plugin.isShutDown) known.plugin = createPluginIn(options, ownEnvironment())
    return known.plugin
  }
  const subscribe = isContext ? subscriber(context) : undefined
  if (subscribe === undefined) {
    const reason = 'register: the host context has no registerHook or register_hook; nothing is recorded'
    return pluginNotStarted(options, reason)
  }
  const registration = { plugin: createPluginIn(options, ownEnvironment()) }
  registered.set(context, registration)
  subscribeAll(subscribe, registration)
  return registration.plugin
}
