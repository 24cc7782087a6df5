import { type HostContext } from '../contract/index.ts';
import type { Plugin, PluginOptions } from './plugin.ts';
/**
 * Registers the plugin with a host that offers `registerHook(name, handler)` or `register_hook(name, handler)`. Each hook
 * on its own: one that the host does not know (it throws) is left out and the rest is registered.
 *
 * Idempotent per host context. Never throws; a context that offers neither is one line on stderr.
 *
 * @example export const register = ctx => hookspan.register(ctx, { host: 'my-agent' })
 */
export declare function register(context: HostContext, options?: PluginOptions): Plugin;
