import { HOOK_NAMES } from '../contract/index.js';
import { createPlugin } from './create-plugin.js';
/** Hosts load a plugin more than once: a context that has its plugin keeps it, and no hook is counted twice. */
const registered = new WeakMap();
function subscriber(context) {
    if (typeof context.registerHook === 'function')
        return context.registerHook.bind(context);
    return typeof context.register_hook === 'function' ? context.register_hook.bind(context) : undefined;
}
/**
 * Registers the plugin with a host that offers `registerHook(name, handler)` or `register_hook(name, handler)`. Each hook
 * on its own: one that the host does not know (it throws) is left out and the rest is registered.
 *
 * Idempotent per host context. Never throws; a context that offers neither is one line on stderr.
 *
 * @example export const register = ctx => hookspan.register(ctx, { host: 'my-agent' })
 */
export function register(context, options = {}) {
    const isContext = (typeof context === 'object' && context !== null) || typeof context === 'function';
    const known = isContext ? registered.get(context) : undefined;
    if (known !== undefined)
        return known;
    const plugin = createPlugin(options);
    const subscribe = isContext ? subscriber(context) : undefined;
    if (subscribe === undefined) {
        process.stderr.write('hookspan: register: the host context has no registerHook or register_hook; nothing is recorded\n');
        return plugin;
    }
    registered.set(context, plugin);
    for (const hook of HOOK_NAMES) {
        try {
            subscribe(hook, plugin.handlers[hook]);
        }
        catch { }
    }
    return plugin;
}
